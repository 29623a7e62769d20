"""Programs of ``tests/distributed/programs`` in several processes, which MPI's launcher starts."""

import os
import subprocess
import sys
from pathlib import Path

import numgrad

PROGRAMS = Path(__file__).parent / "distributed" / "programs"


def launch(processes, program, *arguments):
    """Run a program with ``python -m numgrad launch``."""
    source = Path(numgrad.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(source / "kernels")])}
    command = [sys.executable, "-m", "numgrad", "launch", "--processes", str(processes), str(PROGRAMS / program)]
    return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=600)
