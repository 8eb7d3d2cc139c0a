"""The JSON Schema of configs accepts what the program accepts: every example, and what it drafts."""

import copy
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(os.environ.get("DZOA_PROGRAM", ROOT / "target/release/dzoa"))
CONFIGS = sorted([*ROOT.glob("examples/**/*.toml"), ROOT / "crates/cli/src/paper.toml"])


def dzoa(*words, **options):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, **options).stdout


@pytest.fixture(scope="module")
def schema():
    schema = json.loads(dzoa("schema", "json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json.loads((ROOT / "docs/dzoa.schema.json").read_text())
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_is_valid(schema, path):
    schema.validate(tomllib.loads(path.read_text()))


def test_what_init_drafts_is_valid(schema, tmp_path):
    dzoa("init", "study", cwd=tmp_path)
    schema.validate(tomllib.loads((tmp_path / "study/run.toml").read_text()))
    dzoa("init", "drafted", "--from", "study/north.csv", "study/south.csv", cwd=tmp_path)
    schema.validate(tomllib.loads((tmp_path / "drafted/run.toml").read_text()))


@pytest.mark.parametrize(
    "path, value",
    [
        (["problem", "eta"], -1),
        (["problem", "etta"], 0.1),
        (["problem", "loss"], "logistik"),
        (["run", "seed"], 1.5),
        (["privacy", "delta"], 2),
        (["data", "synthetic"], 3),
        (["unknown"], {}),
    ],
)
def test_what_the_program_refuses_is_not(schema, path, value):
    config = tomllib.loads((ROOT / "crates/cli/src/paper.toml").read_text())
    assert schema.is_valid(config)
    changed = copy.deepcopy(config)
    table = changed
    for name in path[:-1]:
        table = table.setdefault(name, {})
    table[path[-1]] = value
    assert not schema.is_valid(changed)
