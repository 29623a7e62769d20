"""``DistributedDataParallel`` in several processes: see ``data_parallel_program`` for the checks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("data_parallel_program.py")


@pytest.mark.mpi
def test_programs_of_several_processes():
    launcher = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    variables = {**os.environ, "NUMBA_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [launcher, "-n", "3", sys.executable, PROGRAM], env=variables, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *["checked by 2"] * 2, *["checked by 3"] * 3]
