"""PyTorch's newer names for GPUs, without a GPU; ``tests/on_gpu/test_cuda_module.py`` tests them with one."""

import os
import subprocess
import sys

import pytest

import numgrad
from numgrad import accelerator, cuda


def test_names():
    assert numgrad.accelerator is accelerator
    assert accelerator.synchronize is cuda.synchronize
    assert set(accelerator.__all__) <= set(dir(accelerator))
    with pytest.raises(AttributeError, match=r"numgrad\.accelerator does not have it yet"):
        accelerator.Graph  # noqa: B018


def test_without_a_gpu():
    program = "from numgrad import accelerator as a; print(a.is_available(), a.current_accelerator(), a.device_count())"
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=hidden, capture_output=True, text=True, check=True)
    assert done.stdout == "False None 0\n"
