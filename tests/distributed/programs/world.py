"""The ranks that run a program: those that were launched, or the first of them, see ``together.py``."""

from mpi4py import MPI

ranks = MPI.COMM_WORLD
