"""Programs in ``programs/``, in several processes that MPI's launcher starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import numgrad

pytestmark = pytest.mark.mpi

PROGRAMS = Path(__file__).with_name("programs")


def launch(processes, program, *arguments):
    """Run a program with ``python -m numgrad launch``."""
    packages = [str(Path(numgrad.__file__).parents[1]), str(Path(numgrad.__file__).parents[1] / "kernels")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    command = [sys.executable, "-m", "numgrad", "launch", "--processes", str(processes), str(PROGRAMS / program)]
    return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(("program", "processes"), [("example", 2), ("collectives", 3), ("adjoints", 4)])
def test_programs(program, processes):
    """All ranks check what they exchange."""
    run = launch(processes, f"{program}.py")
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith(f"{processes} ranks have checked the {program}\n")


@pytest.mark.parametrize(
    ("end", "status", "message"),
    [
        ("error", 1, "Rank 1 has failed, which ends all others:\nTraceback"),
        ("kill", 9, ""),
        ("return", 1, "number 1 of group 0) waits in vain: rank 1 has ended its program"),
    ],
)
def test_the_end_of_one_rank_ends_all(end, status, message):
    run = launch(2, "ends.py", end)
    assert run.returncode == status
    assert message in run.stderr
    if end == "error":
        assert "ValueError: this rank has no data" in run.stderr
