"""Real agents: three clinics as three processes that talk over mutual TLS, started and read from Python.

There is no transport in Python on purpose: an agent charges its ledger and writes its journal before a byte leaves, and
lives for days. That is the program `dzoa agent`, and Python only starts it. `dzoa launch` starts all agents on this
machine: the trial before the real thing. A transport of your own is written in Rust: `examples/rust/own_transport`.
"""

import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

CLINICS, PATIENTS = ["a", "b", "c"], 1000

# Public, and the same file for all agents. Port 0: `launch` finds free ones. No seed: the noise is the system's.
NETWORK = """
name = "clinics"
[problem]
loss = "logistic"
regularizer = "l2"
eta = 0.01
intercept = false
[network]
agents = [
  { name = "a", address = "127.0.0.1:0" },
  { name = "b", address = "127.0.0.1:0" },
  { name = "c", address = "127.0.0.1:0" },
]
edges = [["a", "b"], ["b", "c"]]
[algorithm]
name = "admm"
rho = 0.03
rounds = 40
[privacy]
mechanism = "output"
total_epsilon = 4.0
delta = 1e-5
[schema]
rows_to_unit_ball = true
columns = [
  { name = "dose", kind = "numeric", bound = 1.0 },
  { name = "age", kind = "numeric", bound = 1.0 },
]
target = { name = "ill", positive = { above = 0 } }
"""


def cell(row, column):
    """Made-up patients, the same in every language."""
    return np.sin((row + 1) * (1.3 + column))


def write_rows(path, k):
    """The rows of one clinic: in a real study only the clinic has this file."""
    row = np.arange(k * PATIENTS, (k + 1) * PATIENTS)
    dose, age = cell(row, 0), cell(row, 1)
    ill = (dose - age + 0.5 * cell(row, 20) > 0).astype(int)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("dose", "age", "ill"), *zip(dose, age, ill)])


with tempfile.TemporaryDirectory() as folder:
    home = Path(folder)
    (home / "network.toml").write_text(NETWORK)
    command = ["dzoa", "launch", "--network", home / "network.toml", "--out", home / "run", "--json"]
    for k, name in enumerate(CLINICS):
        write_rows(home / f"{name}.csv", k)
        command += ["--data", f"{name}={home / f'{name}.csv'}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    summary = json.loads(done.stdout)
    for name, model in zip(summary["agent_names"], summary["coefficients"]):
        print(f"agent {name}: {', '.join(f'{weight:.2f}' for weight in model)}")
    print(f"status: {summary['status']} after {summary['rounds']} rounds")
    for name, own in zip(summary["agent_names"], summary["privacy"]):
        print(f"privacy of {name}: {own['claim']}, epsilon {own['epsilon_exact']:.3f}, delta {own['delta']}")
