"""Rounds a second of Flower's simulation: five clients, a vector of 10 there and back a round, and nothing
computed. The server averages the vectors, as its smallest strategy does.

    python benches/peers/flower_rounds.py
"""

import logging
import os
import time

os.environ.setdefault("RAY_DEDUP_LOGS", "0")
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
from flwr.client import ClientApp, NumPyClient
from flwr.common import ndarrays_to_parameters
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation

CLIENTS = 5
FEATURES = 10
ROUNDS = 30
#: Rounds before the clock starts: the first ones start the workers.
WARM = 5

logging.getLogger("flwr").setLevel(logging.ERROR)


class Echo(NumPyClient):
    def fit(self, parameters, config):
        return parameters, 1, {}


class Clocked(FedAvg):
    """FedAvg that notes when rounds end."""

    def __init__(self):
        start = ndarrays_to_parameters([np.zeros(FEATURES)])
        super().__init__(
            fraction_fit=1.0,
            fraction_evaluate=0.0,
            min_fit_clients=CLIENTS,
            min_available_clients=CLIENTS,
            initial_parameters=start,
        )
        self.ends = []

    def aggregate_fit(self, server_round, results, failures):
        assert len(results) == CLIENTS and not failures
        mean = super().aggregate_fit(server_round, results, failures)
        self.ends.append(time.perf_counter())
        return mean


strategy = Clocked()


def server(context):
    return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=WARM + ROUNDS))


run_simulation(
    server_app=ServerApp(server_fn=server),
    client_app=ClientApp(client_fn=lambda context: Echo().to_client()),
    num_supernodes=CLIENTS,
    backend_config={"client_resources": {"num_cpus": 0.4, "num_gpus": 0.0}, "init_args": {"num_cpus": 2}},
)
print(f"{ROUNDS / (strategy.ends[-1] - strategy.ends[WARM - 1]):.1f}")
