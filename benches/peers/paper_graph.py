"""The paper's graph over five MPI processes, for the scripts beside this one."""

import sys

from mpi4py import MPI

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]


def five():
    """The communicator, this process's rank, and its neighbours."""
    world = MPI.COMM_WORLD
    rank = world.Get_rank()
    if world.Get_size() != 5:
        sys.exit("this needs five processes: mpirun -np 5")
    neighbours = sorted({b for a, b in EDGES if a == rank} | {a for a, b in EDGES if b == rank})
    return world, rank, neighbours
