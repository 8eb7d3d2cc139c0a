"""Digests of what seeded runs give, to hold a change of structure to the bits before it.

    python3 tests/bits/bits.py --dzoa target/release/dzoa record digests.json     # before
    python3 tests/bits/bits.py --dzoa target/release/dzoa compare digests.json    # after

With `--python`, an interpreter that has the package `dzoa`, estimators and `minimize` are held as well. The digests are
those of one machine: another instruction set or C library may round differently, so none are committed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOWL = ROOT / "examples/black-box/bowl.py"

SMALL = {"agents": 4, "samples": 40, "features": 3}
LARGE = {"agents": 4, "samples": 400, "features": 4, "normalize_columns": False}


def inline(value):
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


def config(problem, algorithm, privacy, data=LARGE, network=None, run=None):
    tables = {
        "problem": {"eta": 0.05, **problem},
        "data": {"synthetic": data},
        "network": network or {"topology": "ring"},
        "algorithm": algorithm,
        "privacy": privacy,
        "run": {"seed": 7, **(run or {})},
    }
    return "".join(f"{key} = {inline(table)}\n" for key, table in tables.items())


def runs():
    """Name and config of every seeded run."""
    logistic = {"loss": "logistic"}
    nominal = {"mechanism": "intrinsic", "epsilon": 0.15, "delta": 1e-3}
    exact = {"total_epsilon": 4.0, "delta": 1e-5}
    output, scalar, none = ({**exact, "mechanism": "output"}, {**exact, "mechanism": "scalar"}, {"mechanism": "none"})
    auto = {"rho": "auto", "rounds": "auto"}
    yield "paper-2", None
    for loss in ["squared", "absolute", "huber", "pinball", "logistic", "hinge"]:
        yield f"d-zoa-none-{loss}", config({"loss": loss}, {"rho": 0.3, "rounds": 12}, none, SMALL)
        yield f"admm-{loss}", config({"loss": loss}, {"name": "admm", "rho": 0.3, "rounds": 12}, none, SMALL)
    for regularizer, extra in [("l2", {}), ("elastic-net", {"l1_ratio": 0.3}), ("group-l1", {"groups": [[0, 1], [2]]}), ("none", {})]:
        problem = {"loss": "logistic", "regularizer": regularizer, **extra}
        yield f"d-zoa-none-{regularizer}", config(problem, {"rho": 0.3, "rounds": 10}, none, SMALL)
    yield "intrinsic-logistic", config(logistic, {"rho": 2.0, "rounds": 15}, {**nominal, "c": [0.5, 0.4, 0.5, 0.6]}, SMALL)
    yield "intrinsic-sum-intercept", config({"loss": "huber", "scale": "sum", "intercept": True}, {"rho": 2.0, "rounds": 10}, {**nominal, "optimum_norm_squared": "replicate"}, SMALL)
    yield "output-d-zoa", config(logistic, {"rho": 0.05, "rounds": 20}, output)
    yield "output-d-zoa-auto", config(logistic, auto, output)
    yield "output-admm-growth", config(logistic, {"name": "admm", "rho": 0.05, "rounds": 20}, {**output, "schedule": {"growth": 1.03}, "rows_per_person": 2})
    yield "output-tolerance", config({"loss": "hinge"}, {"name": "admm", "rho": 0.3, "rounds": 6}, {**output, "tolerance": 1e-3})
    yield "scalar-auto", config(logistic, auto, scalar)
    yield "scalar-given", config({"loss": "squared"}, {"rho": 0.05, "rounds": 20, "inner_steps": 3, "directions": 10, "inner_average": True}, {**scalar, "clip": 1.5})
    yield "d-zoa-tolerance", config(logistic, {"rho": 0.3, "rounds": 8, "options": {"tolerance": 1e-2}}, none, SMALL)
    yield "d-zoa-options", config(logistic, {"rho": 0.3, "rounds": 8, "options": {"antithetic": True, "orthogonal": True}, "step": [0.1, 0.2, 0.1, 0.2], "lipschitz": 2.0, "average": "last-half"}, none, SMALL)
    yield "partial-trials", config(logistic, {"rho": 0.3, "rounds": 8, "mode": "partial", "average": "network", "warm_start": False}, none, SMALL, {"topology": "erdos-renyi", "p": 0.6, "self_loop": False}, {"trials": 3, "threads": 2})
    yield "stop-early", config({"loss": "squared"}, {"name": "admm", "rho": 0.3, "rounds": 400}, none, SMALL, run={"stop_tolerance": 1e-6})
    yield "pvp", config({**logistic, "regularizer": "l2"}, {"name": "pvp", "rho": 1.0, "rounds": 6}, {**output, "total_epsilon": 40.0})
    yield "m-admm", config({**logistic, "regularizer": "l2"}, {"name": "m-admm", "rho": 3.0, "rounds": 5}, {**output, "total_epsilon": 40.0})
    yield "r-admm", config({**logistic, "regularizer": "l2"}, {"name": "r-admm", "rho": 3.0, "rounds": 6}, {**output, "total_epsilon": 40.0})
    for name in ["dp-admm", "dvp", "p-admm", "ps-admm", "projected-gradient", "objective-perturbation", "dp-gd"]:
        problem = {**logistic, "regularizer": "l2"}
        algorithm = {"name": name, "rho": 0.5, "rounds": 12}
        yield name, config(problem, algorithm, output)
        yield f"{name}-none", config(problem, algorithm, none)
    yield "dp-admm-nominal", config({"loss": "squared"}, {"name": "dp-admm", "rho": 0.5, "rounds": 12}, nominal, SMALL)
    programs = [{"name": n, "command": ["python3", str(BOWL), c]} for n, c in [("a", "-1"), ("b", "0.5"), ("c", "2")]]
    for name, algorithm in [("external", {"rounds": 12, "rho": 0.3, "step": 0.3}), ("external-auto", {"rounds": 12, "average": "network"})]:
        tables = {"problem": {"loss": "external", "features": 2}, "data": {"agents": programs}, "network": {"topology": "path"}, "algorithm": algorithm, "privacy": none, "run": {"seed": 3}}
        yield name, "".join(f"{key} = {inline(table)}\n" for key, table in tables.items())


def others(folder):
    """Further commands, and the files of theirs that are held."""
    text = config({"loss": "logistic"}, {"rho": 0.1, "rounds": 3}, {"mechanism": "output", "total_epsilon": 1.0, "delta": 1e-5}, {"agents": 3, "samples": 40, "features": 3, "normalize_columns": False})
    (folder / "audit.toml").write_text(text)
    scalar = text.replace('"output"', '"scalar"').replace("rounds = 3", "rounds = 2")
    (folder / "scalar.toml").write_text(scalar)
    yield "audit", ["audit", "audit.toml", "--trials", "40"], ["audit.json", "audit.svg"]
    yield "audit-scalar", ["audit", "scalar.toml", "--trials", "40"], ["audit.json"]
    yield "audit-dp-gd", ["audit", "audit.toml", "--trials", "40", "--set", "algorithm.name=dp-gd"], ["audit.json"]
    yield "audit-intrinsic", ["audit", "--trials", "40"], ["audit.json"]
    compared = "d-zoa:output,d-zoa:scalar,admm:output,admm,dp-gd,dp-admm,objective-perturbation"
    yield "compare", ["compare", "audit.toml", "--algorithms", compared, "--epsilon", "1", "--epsilon", "4", "--trials", "2", "--tuning-trials", "1"], ["tuning.csv"]
    for figure in ["fig1", "noise", "rate"]:
        yield f"reproduce-{figure}", ["reproduce", figure, "--trials", "1"], [f"{figure}.csv", f"{figure}.md", f"{figure}.svg"]


PYTHON = """
import json, sys
import numpy as np
import dzoa
rng = np.random.default_rng(5)
x = rng.uniform(-1, 1, (240, 4)); w = np.array([2.0, -1.0, 0.0, 0.5])
y = x @ w + 0.1 * rng.normal(size=240); c = (y > 0).astype(int)
found = {}
def keep(name, model):
    found[name] = [np.asarray(model.coef_).tolist(), np.asarray(model.intercept_).tolist()]
for total in (None, 5.0):
    known = dict(agents=4, random_state=3, total_epsilon=total)
    if total: known.update(bounds=(-1.0, 1.0))
    names = dict(classes=[0, 1]) if total else {}
    keep(f"logistic {total}", dzoa.LogisticRegression(**known, **names).fit(x, c))
    keep(f"d-zoa {total}", dzoa.LogisticRegression(algorithm="d-zoa", max_iter=20, **known, **names).fit(x, c))
    if total: known.update(target_bounds=(-4.0, 4.0))
    keep(f"lasso {total}", dzoa.Lasso(**known).fit(x, y))
keep("svm", dzoa.LinearSVC(agents=3, random_state=1, max_iter=30).fit(x, c))
keep("huber", dzoa.HuberRegressor(agents=3, random_state=1, max_iter=30).fit(x, y))
def bowl(centre): return lambda b: float(np.sum((np.asarray(b) - centre) ** 2))
def rows(centre): return lambda b: np.abs(np.asarray(b)[0] - centre - np.arange(20) / 20)
f = [bowl(centre) for centre in (-1.0, 0.5, 2.0)]
for name, given in [("free", dict(rounds=10)), ("given", dict(rounds=10, rho=0.3, step=0.2, orthogonal=False)),
                    ("l1", dict(rounds=10, regularizer="l1", eta=0.1)),
                    ("intrinsic", dict(rounds=10, mechanism="intrinsic", epsilon=0.1, delta=1e-3, samples=[20, 20, 20]))]:
    found["minimize " + name] = dzoa.minimize(f, dim=2, seed=4, **given).x.tolist()
found["minimize scalar"] = dzoa.minimize([rows(v) for v in (0.0, 1.0)], dim=1, per_sample=True, mechanism="scalar",
                                         total_epsilon=8.0, delta=1e-5, seed=4).x.tolist()
print(json.dumps(found, sort_keys=True))
"""


def digest(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()[:24]


def run(program, arguments, folder):
    done = subprocess.run([str(program), *arguments], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr.decode()}")
    return done


def measure(program, python):
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for label, text in runs():
            command = ["run", "--out", label]
            if text is None:
                command += ["--set", "run.trials=2", "--set", "algorithm.rounds=20"]
            else:
                (folder / f"{label}.toml").write_text(text)
                command.insert(1, f"{label}.toml")
            run(program, command, folder)
            summary = json.loads((folder / label / "summary.json").read_text())
            for volatile in ["seconds", "config"]:
                summary.pop(volatile)
            found[label] = {
                "trace.csv": digest((folder / label / "trace.csv").read_bytes()),
                "coefficients": digest(json.dumps(summary["coefficients"])),
                "summary": digest(json.dumps(summary, sort_keys=True)),
                "model": digest((folder / label / "model.json").read_bytes()),
            }
        for label, arguments, files in others(folder):
            run(program, [*arguments, "--out", label], folder)
            found[label] = {file: digest((folder / label / file).read_bytes()) for file in files}
    if python:
        done = subprocess.run([python, "-c", PYTHON], capture_output=True, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        for label, values in json.loads(done.stdout).items():
            found[f"python: {label}"] = {"values": digest(json.dumps(values))}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dzoa", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--python")
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=pathlib.Path)
    given = parser.parse_args()
    found = measure(given.dzoa, given.python)
    if given.what == "record":
        given.file.write_text(json.dumps(found, indent=1) + "\n")
        return print(f"{len(found)} runs recorded in {given.file}")
    known = json.loads(given.file.read_text())
    if not given.python:
        known = {label: held for label, held in known.items() if not label.startswith("python: ")}
    changed = [
        f"{label}: {what}"
        for label in sorted(known.keys() | found.keys())
        for what in sorted({**known.get(label, {}), **found.get(label, {})})
        if known.get(label, {}).get(what) != found.get(label, {}).get(what)
    ]
    print("\n".join(changed) if changed else f"{len(found)} runs: the same bits")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
