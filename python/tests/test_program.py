"""``python -m dzoa`` is the program, and its version is the package's."""

import os
import pathlib
import subprocess
import sys

import dzoa
import pytest
from dzoa.__main__ import program

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(os.environ.get("DZOA_PROGRAM", ROOT / "target/release/dzoa"))


def module(*words, path):
    command = [sys.executable, "-m", "dzoa", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})


def test_python_goes_on_as_the_program():
    answer = module("--version", path=str(PROGRAM.parent))
    assert (answer.returncode, answer.stdout) == (0, f"dzoa {dzoa.__version__}\n")
    assert module("run", "--unknown", path=str(PROGRAM.parent)).returncode == 2


def test_without_the_program_there_is_a_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_, **__: str(tmp_path))
    with pytest.raises(SystemExit, match="hint: wheels hold it"):
        program()
