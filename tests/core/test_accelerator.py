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
    program = """if True:
        import numgrad
        from numgrad import accelerator
        print(accelerator.is_available(), accelerator.current_accelerator(), accelerator.device_count())
        try:
            numgrad.set_default_tensor_type("torch.cuda.DoubleTensor")
        except (ImportError, RuntimeError):
            print(numgrad.get_default_dtype(), numgrad.get_default_device())
    """
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=hidden, capture_output=True, text=True, check=True)
    assert done.stdout == "False None 0\ntorch.float32 cpu\n"
