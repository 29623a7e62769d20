"""Two processes that exchange tensors on a GPU."""

import pytest
from launching import launch

pytestmark = [pytest.mark.gpu, pytest.mark.mpi]


def test_tensors_travel_through_the_host_and_by_nccl():
    run = launch(2, "gpu.py")
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("2 ranks have checked the gpu\n")
