"""Measures the tables of docs/black-box.md: `minimize` beside others, and the overhead of a batched call.

    cargo xtask black-box
"""

import argparse
import logging
import pathlib
import time
import warnings

import cma
import nevergrad
import numpy as np
import pybobyqa
import scipy.optimize

import dzoa

DIMENSION, AGENTS = 10, 5
BUDGETS = (100, 500, 2_000)
#: Rules were tuned on draws from 100 on.
SEEDS = range(11)
NEAR = 1e-6
NOISE = 0.1
NEVERGRAD = ("NGOpt", "CMA", "Powell", "Cobyla", "RBFGS", "TwoPointsDE")

INDEX = np.arange(DIMENSION) / (DIMENSION - 1)
DIAGONALS = {
    "sphere": np.ones(DIMENSION),
    "ellipsoid 1e6": 1e6**INDEX,
    "cigar": np.r_[1.0, np.full(DIMENSION - 1, 1e6)],
    "discus": np.r_[1e6, np.ones(DIMENSION - 1)],
    "noisy sphere": np.ones(DIMENSION),
}


def rosenbrock(z):
    z = z + 1
    return np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2)


def log_sum_exp(z):
    both = np.r_[z, -z]
    return both.max() + np.log(np.sum(np.exp(both - both.max())))


def huber(z):
    size = np.abs(z)
    return np.sum(np.where(size < 1, 0.5 * size**2, size - 0.5))


FUNCTIONS = {name: lambda z, d=diagonal: d @ (z * z) for name, diagonal in DIAGONALS.items()} | {
    "Rosenbrock": rosenbrock,
    "different powers": lambda z: np.sum(np.abs(z) ** (2 + 4 * INDEX)),
    "log-sum-exp": log_sum_exp,
    "Huber": huber,
    "corners (L1)": lambda z: np.sum(np.abs(z)),
}


class Spent(Exception):
    """All values were asked for."""


class Split:
    """A function, five times with its own translation and rotation. Watches how low the sum was."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.function = name, FUNCTIONS[name]
        rng = np.random.default_rng([seed, 77])
        self.parts = []
        for _ in range(AGENTS):
            translation = rng.standard_normal(DIMENSION)
            q, r = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))
            self.parts.append((translation, q * np.sign(np.diag(r))))
        noisy = name.startswith("noisy")
        self.noises = [np.random.default_rng([seed, 5, k]) for k in range(AGENTS)] if noisy else None
        self.lows: list[float] = []

    def exact(self, x) -> float:
        return float(sum(self.function(rotation @ (x - translation)) for translation, rotation in self.parts))

    def watch(self, x) -> None:
        self.lows.append(min(self.exact(x), self.lows[-1] if self.lows else np.inf))

    def agent(self, k: int):
        translation, rotation = self.parts[k]

        def value(x):
            if k == 0:
                self.watch(x)
            exact = self.function(rotation @ (x - translation))
            return exact + NOISE * self.noises[k].standard_normal() if self.noises else exact

        return value

    def total(self, budget: int):
        agents = [self.agent(k) for k in range(AGENTS)]

        def value(x):
            if len(self.lows) >= budget:
                raise Spent
            return float(sum(agent(np.asarray(x, dtype=float)) for agent in agents))

        return value

    def minimum(self) -> float:
        if self.name in DIAGONALS:
            diagonal = np.diag(DIAGONALS[self.name])
            matrix = sum(r.T @ diagonal @ r for _, r in self.parts)
            right = sum(r.T @ diagonal @ r @ t for t, r in self.parts)
            return self.exact(np.linalg.solve(matrix, right))
        if self.name.startswith("corners"):
            return self._linear_program()
        starts = [np.zeros(DIMENSION), *(t for t, _ in self.parts), *np.random.default_rng(3).standard_normal((4, DIMENSION))]
        best = np.inf
        for start in starts:
            for method in ("Powell", "BFGS"):
                first = scipy.optimize.minimize(self.exact, start, method=method, tol=1e-14)
                polished = scipy.optimize.minimize(self.exact, first.x, method="BFGS", tol=1e-12)
                best = min(best, first.fun, polished.fun)
        return float(best)

    def _linear_program(self) -> float:
        """Least sum of u with u at least every |r(x - t)|."""
        rows = np.vstack([r for _, r in self.parts])
        right = np.concatenate([r @ t for t, r in self.parts])
        unit, count = np.eye(len(rows)), len(rows)
        found = scipy.optimize.linprog(
            np.r_[np.zeros(DIMENSION), np.ones(count)],
            A_ub=np.block([[rows, -unit], [-rows, -unit]]),
            b_ub=np.r_[right, -right],
            bounds=[(None, None)] * DIMENSION + [(0, None)] * count,
        )
        assert found.status == 0
        return self.exact(found.x[:DIMENSION])


def ours(name: str, budget: int, seed: int) -> tuple[float, list[float]]:
    """The sum at what is reported, and how low it was after every value."""
    split = Split(name, seed)
    agents = [split.agent(k) for k in range(AGENTS)]
    found = dzoa.minimize(agents, "complete", dim=DIMENSION, max_evaluations=budget, seed=seed)
    return split.exact(found.x), split.lows


def with_nevergrad(optimiser: str):
    def run(total, budget: int, seed: int) -> None:
        parameter = nevergrad.p.Array(shape=(DIMENSION,))
        parameter.random_state.seed(seed)
        nevergrad.optimizers.registry[optimiser](parametrization=parameter, budget=budget).minimize(total)

    return run


def with_pycma(total, budget: int, seed: int) -> None:
    options = {"maxfevals": budget, "verbose": -9, "seed": seed + 1, "tolfun": 0, "tolx": 0, "tolfunhist": 0}
    cma.fmin2(total, np.zeros(DIMENSION), 1.0, options)


def with_bobyqa(total, budget: int, seed: int) -> None:
    np.random.seed(seed)
    pybobyqa.solve(total, np.zeros(DIMENSION), maxfun=budget, rhobeg=1.0, rhoend=1e-9)


PEERS = {"pycma": with_pycma, "Py-BOBYQA": with_bobyqa} | {f"nevergrad {o}": with_nevergrad(o) for o in NEVERGRAD}


def theirs(name: str, peer: str, budget: int, seed: int) -> list[float]:
    split = Split(name, seed)
    try:
        PEERS[peer](split.total(budget), budget, seed)
    except Spent:
        pass
    return split.lows


def shown(number: float) -> str:
    return "0" if abs(number) < 1e-12 else f"{max(number, 0.0):.0e}"


def values_until(lows: list[float], least: float) -> float:
    near = np.asarray(lows) - least < NEAR
    return float(np.argmax(near) + 1) if near.any() else np.inf


def peer_table() -> list[str]:
    budgets = " | ".join(f"{budget} values" for budget in BUDGETS)
    lines = [
        f"| function | who | {budgets} | to 1e-6 |",
        "| --- | --- |" + " --- |" * (len(BUDGETS) + 1),
    ]
    for name in FUNCTIONS:
        # Below this the minimum itself is not known: values are rounded.
        least = {seed: Split(name, seed).minimum() for seed in SEEDS}
        reported = {b: np.median([ours(name, b, s)[0] - least[s] for s in SEEDS]) for b in BUDGETS}
        longest = [values_until(ours(name, BUDGETS[-1], s)[1], least[s]) for s in SEEDS]
        rows = [("`minimize`", [reported[b] for b in BUDGETS], float(np.median(longest)))]
        for peer in PEERS:
            lows = {seed: theirs(name, peer, BUDGETS[-1], seed) for seed in SEEDS}
            after = [np.median([lows[s][min(b, len(lows[s])) - 1] - least[s] for s in SEEDS]) for b in BUDGETS]
            rows.append((peer, after, float(np.median([values_until(lows[s], least[s]) for s in SEEDS]))))
        for who, after, until in rows:
            until_shown = "" if np.isinf(until) else f"{until:.0f}"
            line = f"| {name} | {who} | {' | '.join(shown(a) for a in after)} | {until_shown} |"
            print(line, flush=True)
            lines.append(line)
    return lines


def overhead_table() -> list[str]:
    lines = [
        "| points a call | variables | microseconds a call beside the callable's own | normals drawn for it |",
        "| --- | --- | --- | --- |",
    ]
    for count, dim in ((20, 10), (60, 10), (60, 100), (200, 1000)):
        answer, steps, own = np.zeros(count), 2000, []

        def instant(points, answer=answer, own=own):
            started = time.perf_counter()
            own.append(time.perf_counter() - started)
            return answer

        best = float("inf")
        for _ in range(9):
            own.clear()
            started = time.perf_counter()
            dzoa.minimize(
                [instant], dim=dim, batched=True, rounds=1, inner_steps=steps, directions=count // 2, step=1e-3, rho=1.0, record_every=0, seed=1, orthogonal=False
            )
            best = min(best, (time.perf_counter() - started - sum(own)) / steps)
        lines.append(f"| {count} | {dim} | {best * 1e6:.1f} | {count * dim} |")
    return lines


def replace(text: str, name: str, lines: list[str]) -> str:
    """Puts a table between its two marks."""
    start, end = f"<!-- {name}: measured -->\n", f"<!-- end of {name} -->"
    head, _, rest = text.partition(start)
    _, found, tail = rest.partition(end)
    assert found, f"the document has no mark `{name}`"
    return head + start + "\n".join(lines) + "\n" + end + tail


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser()
    parser.add_argument("document", type=pathlib.Path)
    document = parser.parse_args().document
    for name, table in (("overhead", overhead_table), ("nevergrad", peer_table)):
        lines = table()
        # Read late: somebody may write while this measures.
        document.write_text(replace(document.read_text(), name, lines))


if __name__ == "__main__":
    main()
