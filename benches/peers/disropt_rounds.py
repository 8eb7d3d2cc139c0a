"""Rounds a second of disropt over MPI: five nodes on the paper's graph, one exchange of a vector of 10 a round,
and nothing computed.

    mpirun --oversubscribe -np 5 python benches/peers/disropt_rounds.py
"""

import time

import numpy as np
from disropt.agents import Agent
from mpi4py import MPI
from paper_graph import five

FEATURES = 10
ROUNDS = 1000
REPETITIONS = 5


def main():
    world, rank, neighbours = five()
    agent = Agent(in_neighbors=neighbours, out_neighbors=neighbours)
    best = 0.0
    for _ in range(REPETITIONS):
        vector = np.full((FEATURES, 1), float(rank))
        world.Barrier()
        begun = time.perf_counter()
        for round in range(ROUNDS):
            vector[0] = round
            heard = agent.neighbors_exchange(vector)
            assert len(heard) == len(neighbours)
        slowest = world.allreduce(time.perf_counter() - begun, op=MPI.MAX)
        best = max(best, ROUNDS / slowest)
    if rank == 0:
        print(f"{best:.1f}")


main()
