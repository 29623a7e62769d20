"""All checks of several ranks, in processes that start only once: run by ``test_distributed.py`` with four ranks."""

import runpy
import time
from pathlib import Path

import world
from mpi4py import MPI

for program, size in ("example", 4), ("mistakes", 2), ("mistakes", 3), ("collectives", 3), ("adjoints", 4):
    takes_part = MPI.COMM_WORLD.Get_rank() < size
    world.ranks = MPI.COMM_WORLD.Split(takes_part)
    if takes_part:
        runpy.run_path(str(Path(__file__).with_name(f"{program}.py")))
    end = MPI.COMM_WORLD.Ibarrier()
    while not end.Test():  # leave the processors to those that take part
        time.sleep(0.01)
