"""Quadratic models from values, variables with bounds, and runs that are killed and go on."""

import collections
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dzoa


def bowl(centre):
    return lambda b: float(((b - centre) ** 2).sum())


def test_without_any_setting_a_quadratic_takes_as_many_values_as_it_has_numbers():
    rng = np.random.default_rng(5)
    parts = []
    for _ in range(3):
        q, _ = np.linalg.qr(rng.standard_normal((6, 6)))
        parts.append((q.T @ np.diag(10.0 ** np.arange(6)) @ q, rng.standard_normal(6)))
    found = dzoa.minimize([lambda b, h=h, c=c: (b - c) @ h @ (b - c) for h, c in parts], dim=6)
    best = np.linalg.solve(sum(h for h, _ in parts), sum(h @ c for h, c in parts))
    # 28 numbers, a few values to find that out, and one to either side of the end along every axis.
    assert found.status == "finished" and max(found.evaluations) <= 36 + 12
    assert found.trace_evaluations == [0, 0, 0]
    np.testing.assert_allclose(found.x, best, atol=1e-6)
    assert found.settings["algorithm"] == "joint-models" and not found.certainty["broken"]
    assert "quadratic models hold" in str(found)


def test_no_question_leaves_bounds_and_fixed_variables_stay():
    asked = []

    def cost(x):
        asked.append(x.copy())
        return (np.log10(x[0]) + 3) ** 2 + (x[1] - 7.3) ** 2 + (x[2] - 2) ** 2 + x[3]

    low, high = np.array([1e-6, 0.0, -1.0, 5.0]), np.array([1.0, 20.0, 1.5, 5.0])
    found = dzoa.minimize(
        [cost, cost],
        "path",
        bounds=list(zip(low, high)),
        x0=[0.5, 3, np.nan, 5.0],
        scale=["log", "linear", "linear", "linear"],
        integer=[False, True, False, False],
    )
    asked = np.array(asked)
    assert (asked >= low).all() and (asked <= high).all() and (asked[:, 1] % 1 == 0).all()
    np.testing.assert_allclose(found.x, [1e-3, 7, 1.5, 5], rtol=1e-4)
    np.testing.assert_array_equal(asked[0], [0.5, 3, 0.25, 5])
    np.testing.assert_array_equal(found.coefficients[0], found.x)


def test_noise_is_told_and_the_result_is_not_the_luckiest_value():
    rng = np.random.default_rng(2)
    noisy = [lambda b, c=c: bowl(c)(b) + 0.1 * rng.standard_normal() for c in (-1.0, 0.0, 2.5)]
    found = dzoa.minimize(noisy, dim=4, max_evaluations=800)
    # The noise of the sum is 0.1 sqrt(3).
    assert found.certainty["noise"] == pytest.approx(0.173, rel=0.3)
    np.testing.assert_allclose(found.x, 0.5, atol=0.05)
    assert "values differ" in str(found)


def test_too_few_values_are_said():
    found = dzoa.minimize([lambda b: float((b - 2 + b[::-1] ** 3) @ (b - 2))], dim=6, max_evaluations=20)
    assert found.status == "out-of-evaluations" and not found.success and found.evaluations == [20]


def test_a_time_limit_ends_between_rounds():
    found = dzoa.minimize([lambda b: time.sleep(0.01) or bowl(1)(b)], dim=3, time_limit=0.05)
    assert found.status == "stopped"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "dim: is missing"),
        ({"dim": 2, "x0": [0.0]}, "dim: is for 2 variables, but x0 is for 1"),
        ({"x0": [3.0], "bounds": [(0, 1)]}, "variable `x1`: `start` is 3, outside 0 to 1"),
        ({"bounds": [(2, 1)]}, "variable `x1`: `high` is 1, below `low`, which is 2"),
        ({"bounds": [(-1, 1)], "scale": "log"}, "needs more than 0"),
        ({"bounds": [(1, 1)]}, "all variables are fixed"),
        ({"dim": 2, "scale": "cube"}, "scale: unknown 'cube'"),
        ({"dim": 2, "algorithm": "bfgs"}, "algorithm: unknown `bfgs`"),
        ({"x0": [1.0], "regularizer": "l2", "eta": 1.0}, "a regularizer pulls variables to zero"),
    ],
)
def test_bad_variables_are_met_at_the_door(options, words):
    def never(b):
        raise AssertionError("was asked")

    with pytest.raises(ValueError, match=words.replace("`", ".")):
        dzoa.minimize([never], **options)


PROGRAM = """
import os, sys, time, numpy as np, dzoa
directory, log = sys.argv[1:]
log = open(log, "a", buffering=1)
def part(k):
    def cost(x):
        log.write(f"{k} {x.tobytes().hex()}\\n")
        time.sleep(0.002)
        return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0] + k / 4) ** 2 + (x[2] - k) ** 4)
    return cost
found = dzoa.minimize([part(0), part(1), part(2)], dim=3, journal=directory)
print(found.x.tobytes().hex(), found.fun.hex(), found.evaluations)
"""


def test_killed_at_any_question_a_run_goes_on_and_ends_alike(tmp_path):
    def run(name, seconds=None):
        program = [sys.executable, "-c", PROGRAM, tmp_path / name, tmp_path / f"{name}.log"]
        process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        try:
            out, _ = process.communicate(timeout=seconds)
            assert process.returncode == 0
            return out
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            return None

    begun = time.monotonic()
    whole = run("whole")
    usual = time.monotonic() - begun
    draws, kills, ended = random.Random(1), 0, None
    while ended is None and kills < 20:
        ended = run("killed", draws.uniform(0.3, 0.8) * usual)
        kills += ended is None
    assert (ended or run("killed")) == whole and kills > 0
    asked = collections.Counter((tmp_path / "killed.log").read_text().split("\n"))
    once = set((tmp_path / "whole.log").read_text().split("\n"))
    assert set(asked) == once
    # What was under way when it was killed had no answer yet: at most one point of each agent.
    assert sum(asked.values()) - len(once) <= 3 * kills
    # A third time needs nothing at all.
    assert run("killed") == whole
    assert collections.Counter((tmp_path / "killed.log").read_text().split("\n")) == asked
