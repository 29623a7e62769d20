"""Two processes train as one does."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.mpi]


def parameters_of(ranks):
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    command = [shutil.which("mpiexec", path=path), "-n", str(ranks), sys.executable]
    done = subprocess.run(
        [*command, Path(__file__).with_name("data_parallel_program.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_two_processes_train_as_one_does():
    np.testing.assert_allclose(parameters_of(2), parameters_of(1), rtol=1e-6, atol=1e-7)
