"""dzoa beside decent-bench's ADMM and nevergrad's CMA, on the same data, as JSON on standard output.

    python benches/others/measure.py --dzoa target/release/dzoa

needs Python 3.13 or newer with benches/others/requirements.txt. Every side runs on one core. What is missing is
left out, with the reason.
"""

from __future__ import annotations

import argparse
import collections
import csv
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import networkx as nx
import numpy as np
from sklearn.datasets import load_breast_cancer


def write(folder, rows, labels, config):
    """A data file and a config about it."""
    columns = [f"x{p}" for p in range(rows.shape[1])]
    with open(folder / "rows.csv", "w") as file:
        file.write(",".join([*columns, "y"]) + "\n")
        for row, label in zip(rows, labels):
            file.write(",".join(repr(float(value)) for value in row) + f",{int(label)}\n")
    schema = ", ".join(f'{{ name = "{name}", kind = "numeric", bound = 1.0 }}' for name in columns)
    (folder / "run.toml").write_text(
        config
        + f"""
[privacy]
mechanism = "none"
[run]
seed = 1
threads = 1
[schema]
rows_to_unit_ball = true
columns = [{schema}]
target = {{ name = "y", positive = {{ equals = "1" }} }}
"""
    )


#: How often what is timed is run; the least time counts, on every side.
TIMES = 3


def timed(program, folder, out, *sets):
    """Runs the program a few times; its summary with the least seconds, and the gaps."""
    runs = [dzoa(program, folder, f"{out}-{number}", *sets) for number in range(TIMES)]
    return min(runs, key=lambda run: run[0]["seconds"])


def dzoa(program, folder, out, *sets):
    """Runs the program; its summary, and the largest gap of any agent in every round."""
    arguments = [word for assignment in sets for word in ("--set", assignment)]
    subprocess.run([program, "run", folder / "run.toml", "--out", folder / out, *arguments], check=True, capture_output=True)
    gaps = collections.defaultdict(float)
    with open(folder / out / "trace.csv") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            gaps[int(row["round"])] = max(gaps[int(row["round"])], float(row["objective_gap"]))
    return json.loads((folder / out / "summary.json").read_text()), gaps


# --- 100 agents, L1 logistic, 100 rounds: decent-bench's ADMM ----------------------------------------------------

AGENTS, ROWS, FEATURES, ETA, ROUNDS = 100, 20, 10, 1.0, 100
PENALTIES = (0.003, 0.01, 0.03, 0.1)
#: How near dzoa's exact solver comes to a minimiser: its default, and less.
TOLERANCES = (1e-10, 1e-3)


def hundred_agents(program, folder):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((AGENTS * ROWS, FEATURES))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    truth = np.array([4.0, -3.0, 2.0] + [0.0] * (FEATURES - 3))
    labels = rng.random(len(rows)) < 1 / (1 + np.exp(-rows @ truth))
    graph = nx.connected_watts_strogatz_graph(AGENTS, 4, 0.2, seed=1)
    edges = ", ".join(f'["{a + 1}", "{b + 1}"]' for a, b in graph.edges)
    write(
        folder,
        rows,
        labels,
        f"""name = "hundred"
[problem]
loss = "logistic"
regularizer = "l1"
eta = {ETA}
intercept = false
[data]
file = "rows.csv"
partition = "contiguous"
agents = {AGENTS}
[network]
edges = [{edges}]
[algorithm]
name = "admm"
rho = 1.0
rounds = {ROUNDS}
""",
    )
    signs = np.where(labels, 1.0, -1.0)

    def objective(b):
        return np.logaddexp(0, -signs * (rows @ b)).sum() / ROWS + ETA * np.abs(b).sum()

    def worst(coefficients):
        """The largest objective of any agent's coefficients."""
        return max(float(objective(np.asarray(b))) for b in coefficients)

    ours = []
    for number, (rho, tolerance) in enumerate(itertools.product(PENALTIES, TOLERANCES)):
        sets = (f"algorithm.rho={rho}", f"algorithm.options.tolerance={tolerance}")
        summary, _ = timed(program, folder, f"ours-{number}", *sets)
        found = {"penalty": rho, "tolerance": tolerance, "seconds": summary["seconds"]}
        ours.append({**found, "objective": worst(summary["coefficients"])})
    return {"dzoa": ours, "decent-bench": decent_bench(rows, labels, graph, worst)}


def decent_bench(rows, labels, graph, worst):
    try:
        from decent_array import interoperability as iop
        from decent_bench.agents import Agent
        from decent_bench.algorithms.p2p import ADMM
        from decent_bench.costs import LogisticRegressionCost
        from decent_bench.networks import P2PNetwork
    except ImportError as error:
        return f"not installed: {error}"

    iop.set_backend("numpy")

    class SparseLogistic(LogisticRegressionCost):
        """Its own logistic cost plus an l1 penalty, with the proximal operator that it lacks: accelerated proximal
        gradient, at most as many steps and the same tolerance as decent-bench's own solver for smooth costs."""

        def prepare(self, part):
            self._get_batch_data("all")
            self.rows, self.signs = rows[part], np.where(labels[part], 1.0, -1.0)
            self.weight = ETA / AGENTS
            self.smoothness = 0.25 * np.linalg.norm(self.rows, 2) ** 2 / len(self.rows)
            return self

        def proximal(self, x, penalty, **_):
            centre = iop.to_numpy(x)
            step = 1 / (self.smoothness + 1 / penalty)
            point = ahead = centre
            momentum = 1.0
            for _ in range(100):
                slopes = -self.signs / (1 + np.exp(self.signs * (self.rows @ ahead)))
                gradient = self.rows.T @ slopes / len(self.rows) + (ahead - centre) / penalty
                moved = ahead - step * gradient
                moved = np.sign(moved) * np.maximum(np.abs(moved) - step * self.weight, 0)
                following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
                ahead = moved + (momentum - 1) / following * (moved - point)
                change = np.linalg.norm(moved - point)
                point, momentum = moved, following
                if change < 1e-10:
                    break
            return iop.from_numpy(point)

    def run(penalty):
        agents = []
        for k in range(AGENTS):
            part = slice(k * ROWS, (k + 1) * ROWS)
            samples = [(iop.from_numpy(x), iop.from_numpy(np.array([float(y)]))) for x, y in zip(rows[part], labels[part])]
            agents.append(Agent(SparseLogistic(samples).prepare(part), state_snapshot_period=ROUNDS))
        network = P2PNetwork(graph, agents)
        started = time.perf_counter()
        ADMM(penalty=penalty).run(network, ROUNDS)
        return time.perf_counter() - started, [iop.to_numpy(agent.x) for agent in agents]

    found = []
    for penalty in PENALTIES:
        runs = [run(penalty) for _ in range(TIMES)]
        found.append({"penalty": penalty, "seconds": min(seconds for seconds, _ in runs), "objective": worst(runs[0][1])})
    return found


# --- breast cancer, logistic: values until the objective is 1e-3 above its optimum ------------------------------

STRENGTH, GAP, MOST_ROUNDS = 0.05, 1e-3, 400
RHOS = (0.003, 0.005, 0.01, 0.03, 0.1)
#: With the options: steps, directions, and what else. 60 directions are a frame of the 30 coordinates and its mirror image.
FEW = [(3, 60, ""), (5, 60, ""), (100, 30, ", tolerance = 0.1")]


def breast_cancer(program, folder):
    rows, labels = load_breast_cancer(return_X_y=True)
    low, high = rows.min(axis=0), rows.max(axis=0)
    # In the unit ball, as everywhere here.
    rows = (2 * (rows - low) / (high - low) - 1) / np.sqrt(rows.shape[1])
    write(
        folder,
        rows,
        labels,
        f"""name = "cancer"
[problem]
loss = "logistic"
regularizer = "l2"
eta = {STRENGTH}
intercept = false
[data]
file = "rows.csv"
partition = "contiguous"
agents = 5
[network]
topology = "paper"
[algorithm]
name = "d-zoa"
rho = 1.0
rounds = {MOST_ROUNDS}
""",
    )

    def until_near(name, *sets):
        _, gaps = dzoa(program, folder, f"{name}-all", *sets)
        first = next((m for m in sorted(gaps) if gaps[m] <= GAP), None)
        if first is None:
            return None
        summary, gaps = timed(program, folder, name, *sets, f"algorithm.rounds={first}")
        return {"sets": sets, "rounds": first, "calls": summary["oracle_calls"], "seconds": summary["seconds"], "gap": gaps[first]}

    def best(runs):
        return min((run for run in runs if run), key=lambda run: run["calls"], default=None)

    cold = best(until_near(f"cold-{rho}", f"algorithm.rho={rho}", "algorithm.warm_start=false") for rho in RHOS)
    warm = best(until_near(f"warm-{rho}", f"algorithm.rho={rho}") for rho in RHOS)
    few = best(
        until_near(
            f"few-{number}-{rho}",
            f"algorithm.rho={rho}",
            f"algorithm.inner_steps={steps}",
            f"algorithm.directions={directions}",
            f"algorithm.options={{ antithetic = true, orthogonal = true{more} }}",
        )
        for rho in RHOS
        for number, (steps, directions, more) in enumerate(FEW)
    )
    return {"cold": cold, "warm": warm, "options": few, "nevergrad": nevergrad(rows, labels)}


def nevergrad(rows, labels):
    try:
        import nevergrad as ng
    except ImportError as error:
        return f"not installed: {error}"
    from scipy.optimize import minimize

    signs = np.where(labels == 1, 1.0, -1.0)
    parts = np.array_split(np.arange(len(rows)), 5)
    weights = np.concatenate([np.full(len(part), 1 / len(part)) for part in parts])
    margins = signs[:, None] * rows

    def value(b):
        return float(weights @ np.logaddexp(0, -(margins @ b)) + 0.5 * STRENGTH * b @ b)

    def gradient(b):
        return -margins.T @ (weights / (1 + np.exp(margins @ b))) + STRENGTH * b

    zero = np.zeros(rows.shape[1])
    optimum = minimize(value, zero, jac=gradient, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}).fun

    def run(seed):
        parameter = ng.p.Array(init=zero)
        parameter.random_state.seed(seed)
        optimizer = ng.optimizers.CMA(parametrization=parameter, budget=200_000)
        started = time.perf_counter()
        for call in range(1, 200_001):
            candidate = optimizer.ask()
            found = value(candidate.value)
            optimizer.tell(candidate, found)
            if found <= optimum + GAP:
                break
        return {"calls": call, "seconds": time.perf_counter() - started, "gap": found - optimum}

    runs = [min((run(seed) for _ in range(TIMES)), key=lambda run: run["seconds"]) for seed in range(3)]
    return sorted(runs, key=lambda run: run["seconds"])[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dzoa", type=pathlib.Path, required=True)
    program = parser.parse_args().dzoa.resolve()
    results = {"python": sys.version.split()[0]}
    for name, measure in (("hundred", hundred_agents), ("cancer", breast_cancer)):
        with tempfile.TemporaryDirectory() as folder:
            results[name] = measure(program, pathlib.Path(folder))
    print(json.dumps(results))


main()
