"""Measures the tables of docs/black-box.md: `minimize` beside nevergrad, and the overhead of a batched call.

    cargo xtask black-box
"""

import argparse
import pathlib
import time
import warnings

import nevergrad
import numpy as np
from nevergrad.functions import ArtificialFunction

import dzoa

DIMENSION, AGENTS = 10, 5
FUNCTIONS = ("sphere", "ellipsoid")
BUDGETS = (1_000, 5_000)
SEEDS = range(3)
#: Nevergrad's general ones and those that suit smooth convex functions; the best of them is reported.
OPTIMISERS = ("NGOpt", "CMA", "OnePlusOne", "TwoPointsDE", "Powell", "Cobyla", "RBFGS")


class Split:
    """A test function of nevergrad, five times with its own translation and rotation: convex quadratics."""

    def __init__(self, name: str, seed: int) -> None:
        self.parts = [
            ArtificialFunction(name, block_dimension=DIMENSION, translation_factor=1.0, rotation=True)
            for _ in range(AGENTS)
        ]
        for k, part in enumerate(self.parts):
            part.parametrization.random_state.seed(100 * seed + k)
        self.calls = 0
        self.best = self._optimum()

    def agent(self, k: int):
        return lambda points: np.array([self.parts[k](x) for x in points])

    def total(self, x: np.ndarray) -> float:
        self.calls += 1
        return float(sum(self.agent(k)([np.asarray(x)])[0] for k in range(AGENTS)))

    def _optimum(self) -> float:
        """Of a quadratic: value, gradient and Hessian at zero from exact differences."""
        unit, zero = np.eye(DIMENSION), self.total(np.zeros(DIMENSION))
        plus = np.array([self.total(e) for e in unit])
        minus = np.array([self.total(-e) for e in unit])
        gradient, hessian = (plus - minus) / 2, np.zeros((DIMENSION, DIMENSION))
        for i in range(DIMENSION):
            for j in range(i + 1):
                both = self.total(unit[i] + unit[j])
                hessian[i, j] = hessian[j, i] = both - plus[i] - plus[j] + zero
        x = np.linalg.solve(hessian, -gradient)
        self.calls = 0
        value = float(zero + gradient @ x / 2)
        # It must be one: half the gradient's way gives three quarters of the gain.
        halfway = zero + 0.75 * (value - zero)
        assert abs(self.total(x / 2) - halfway) < 1e-6 * abs(zero - value), "not a quadratic"
        self.calls = 0
        return value


def ours(split: Split, budget: int, seed: int) -> tuple[float, int]:
    """The excess over the minimum, and the values asked of all agents."""
    steps, directions = 3, 10
    result = dzoa.minimize(
        [split.agent(k) for k in range(AGENTS)],
        "complete",
        dim=DIMENSION,
        batched=True,
        rounds=budget // (2 * steps * directions) + 1,
        inner_steps=steps,
        directions=directions,
        smoothing=1e-3,
        max_evaluations=budget,
        record_every=0,
        seed=seed,
    )
    return split.total(result.x) - split.best, result.nfev


def theirs(split: Split, optimiser: str, budget: int, seed: int) -> float:
    parameter = nevergrad.p.Array(shape=(DIMENSION,))
    parameter.random_state.seed(seed)
    found = nevergrad.optimizers.registry[optimiser](parametrization=parameter, budget=budget)
    return split.total(found.minimize(split.total).value) - split.best


def peer_table() -> list[str]:
    lines = [
        "| function | values an agent | `dzoa.minimize`: above the minimum | values asked of all agents | best of nevergrad | which | its values, all agents |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in FUNCTIONS:
        for budget in BUDGETS:
            found = [ours(Split(name, seed), budget, seed) for seed in SEEDS]
            peers = {}
            for optimiser in OPTIMISERS:
                try:
                    peers[optimiser] = np.median([theirs(Split(name, seed), optimiser, budget, seed) for seed in SEEDS])
                except Exception as error:  # an optimiser that is not in this version
                    print(f"{optimiser}: {error}")
            best = min(peers, key=peers.get)
            print(name, budget, np.median([excess for excess, _ in found]), {k: f"{v:.2e}" for k, v in peers.items()}, flush=True)
            lines.append(
                f"| {name} | {budget} | {np.median([excess for excess, _ in found]):.1e} | {found[0][1]} | "
                f"{max(peers[best], 0.0):.1e} | {best} | {AGENTS * budget} |"
            )
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
    parser = argparse.ArgumentParser()
    parser.add_argument("document", type=pathlib.Path)
    document = parser.parse_args().document
    for name, table in (("overhead", overhead_table), ("nevergrad", peer_table)):
        lines = table()
        # Read late: somebody may write while this measures.
        document.write_text(replace(document.read_text(), name, lines))


if __name__ == "__main__":
    main()
