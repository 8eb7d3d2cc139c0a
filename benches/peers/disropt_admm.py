"""Rounds a second of disropt's own consensus ADMM over MPI: five nodes on the paper's graph, each with 20 rows of
least squares in 10 variables, solved in every round.

    mpirun --oversubscribe -np 5 python benches/peers/disropt_admm.py
"""

import sys
import time

import numpy as np
from disropt.agents import Agent
from disropt.algorithms.admm import ADMM
from disropt.functions import QuadraticForm, Variable
from disropt.problems import Problem
from mpi4py import MPI
from paper_graph import five

FEATURES, ROWS = 10, 20
ROUNDS = 100
REPETITIONS = 3


def main():
    world, rank, neighbours = five()
    rng = np.random.default_rng(rank)
    rows = rng.standard_normal((ROWS, FEATURES))
    targets = rows @ np.ones(FEATURES) + 0.1 * rng.standard_normal(ROWS)
    # ||X b - y||^2 = b'X'X b - 2 y'X b + constant
    variable = Variable(FEATURES)
    objective = QuadraticForm(variable, rows.T @ rows, (-2 * rows.T @ targets).reshape(-1, 1))
    best, estimate = 0.0, None
    for _ in range(REPETITIONS):
        agent = Agent(in_neighbors=neighbours, out_neighbors=neighbours)
        agent.set_problem(Problem(objective))
        zeros = {k: np.zeros((FEATURES, 1)) for k in [*neighbours, rank]}
        admm = ADMM(agent, initial_lambda=zeros, initial_z=np.zeros((FEATURES, 1)))
        world.Barrier()
        begun = time.perf_counter()
        admm.run(iterations=ROUNDS, penalty=20.0)
        slowest = world.allreduce(time.perf_counter() - begun, op=MPI.MAX)
        best = max(best, ROUNDS / slowest)
        estimate = admm.x
    # It must have done the work.
    if np.abs(np.asarray(estimate).ravel() - 1).max() > 0.2:
        sys.exit(f"not the least-squares solution: {np.asarray(estimate).ravel()}")
    if rank == 0:
        print(f"{best:.1f}")


main()
