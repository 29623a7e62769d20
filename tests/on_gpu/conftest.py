"""Tests that need a GPU, or Numba's simulator of one: every test here has the mark ``gpu``.

Without a GPU they run as ``NUMBA_ENABLE_CUDASIM=1 python -m pytest -m gpu tests/on_gpu``.
"""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):  # a comparison of strings: there are tens of thousands of tests
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def cuda():
    """The package ``numgrad.devices.cuda``, in use."""
    from numgrad import devices

    return devices.begin_cuda()


@pytest.fixture
def users_launches(cuda):
    """Launches of users' own kernels by Numba."""
    if cuda.runtime.is_emulated():
        pytest.skip("Numba launches kernels on a card or in its simulator")


@pytest.fixture(scope="session")
def size(cuda):
    """``size(small, real)``: a size for the simulator, and one for a real GPU."""
    is_real = cuda.runtime.driver.__name__.endswith(".driver")
    return lambda small, real: real if is_real else small
