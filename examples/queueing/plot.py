"""Draws docs/queueing.svg from a run of run.toml: what the sites found, on days nobody has seen.

    dzoa run examples/queueing/run.toml --out runs/queueing
    python examples/queueing/plot.py runs/queueing docs/queueing.svg
"""

import csv
import json
import pathlib
import random
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from queue_site import SITES, arrivals, cost

FRESH_DAYS = 100


def days(site, seed):
    return arrivals(site, FRESH_DAYS, random.Random(f"{site} fresh {seed}"))


def main():
    run, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    model = json.loads((run / "model.json").read_text())
    shared = [entry["value"] for entry in model["coefficients"]]
    summary = json.loads((run / "summary.json").read_text())
    points = {}
    lines = (run / "trace.csv").read_text().splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if row["objective"]:
            asked, _ = points.get(int(row["round"]), (0, 0.0))
            points[int(row["round"])] = (asked + int(row["evaluations"]), float(row["objective"]))
    asked, values = zip(*(points[key] for key in sorted(points)))

    # One long simulation per site, the same days for every policy. Somebody who had all four simulators in one place
    # could tune on them: the reference. Other days then judge.
    tuning = {site: days(site, "tuning") for site in SITES}
    judged = {site: days(site, "judge") for site in SITES}
    pooled = minimize(lambda b: sum(cost(b, work) for work in tuning.values()), np.zeros(3), method="Nelder-Mead").x
    policies = {"as it was (all knobs 0)": np.zeros(3), "shared policy (dzoa)": shared, "tuned in one place": pooled}
    costs = {name: [cost(policy, judged[site]) for site in SITES] for name, policy in policies.items()}
    for name, policy in policies.items():
        print(f"{name:24} {np.round(policy, 3)}  cost {sum(costs[name]):.4f}  {np.round(costs[name], 3)}")
    print(f"values asked of the simulators: {summary['oracle_calls']}")

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "dzoa"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    left.plot(asked, values, ".", color="#9db8d9", label="one noisy look at the sum of all sites")
    smooth = [np.mean(values[max(0, i - 4) : i + 5]) for i in range(len(values))]
    left.plot(asked, smooth, color="#1f5aa6", label="running mean of nine looks")
    left.set_xlabel("simulated policies, all sites")
    left.set_ylabel("cost per hour, all sites")
    left.legend(frameon=False)
    place, width = np.arange(len(SITES)), 0.27
    colours = ("#b8b8b8", "#1f5aa6", "#c05a1a")
    for i, (name, colour) in enumerate(zip(policies, colours)):
        right.bar(place + (i - 1) * width, costs[name], width, label=f"{name}: {sum(costs[name]):.2f}", color=colour)
    right.set_xticks(place, SITES)
    right.set_ylabel(f"cost per hour, {FRESH_DAYS} fresh days")
    right.set_ylim(0, 1.35 * max(max(values) for values in costs.values()))
    right.legend(frameon=False)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
