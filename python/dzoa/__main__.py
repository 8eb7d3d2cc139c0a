"""``python -m dzoa``: the program ``dzoa`` of the wheel that this package came with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def program() -> str:
    """The program: beside this Python, as pip puts it, or where ``pip install --target`` does."""
    name = "dzoa" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user")
    beside = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user)]
    folders = [Path(folder) for folder in beside] + [Path(__file__).parents[1] / "bin"]
    for folder in folders:
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("dzoa")
    if found is None:
        sys.exit(
            "error: the program `dzoa` is not here\n\nhint: wheels hold it; a build from source does not: "
            "`cargo install dzoa-cli` makes it"
        )
    return found


def main() -> None:
    """Goes on as that program."""
    arguments = [program(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(arguments[0], arguments)
    try:
        sys.exit(subprocess.run(arguments).returncode)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
