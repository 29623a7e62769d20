"""Whether this process uses GPUs, which and how many there are, and what begins to use them."""

from __future__ import annotations

import importlib
import threading
from types import ModuleType
from typing import Any

from numgrad_kernels.store import Kernel

from . import needs
from .cpu.pointwise import pointwise_kernels
from .rows import set_driver

__all__ = ["begin_cuda", "cuda_in_use", "cuda_text", "gpu_count", "gpu_driver", "gpu_driver_version", "gpu_ptx", "ptx"]

_beginning = threading.RLock()
_begun: ModuleType | None = None


def cuda_in_use() -> bool:
    """Whether this process has begun to use GPUs."""
    return _begun is not None


def gpu_count() -> int:
    """The number of GPUs that can be computed on; 0 where anything that this needs is missing."""
    return needs.found() if _begun is None else _begun.runtime.driver.device_count()


def gpu_driver() -> str:
    """What stands for GPUs in this process, which uses them: "driver", "simulated" or "dry" (see ``cuda/dry.py``)."""
    return begin_cuda().runtime.driver.__name__.rpartition(".")[2]


def gpu_driver_version() -> str:
    """The version of CUDA that NVIDIA's driver is for, or the name of what is used instead."""
    return begin_cuda().runtime.driver.driver_version()


def gpu_ptx(kernel: Any, device: int | None = None) -> str:
    """The PTX of a kernel for GPUs, for the one of this number, or for Hopper."""
    if device is None:
        return kernel.ptx()
    return kernel.ptx(begin_cuda().runtime.driver.device_properties(device).capability)


def begin_cuda(dry: bool = False) -> ModuleType:
    """The package ``devices.cuda``, in use from now on.

    If ``dry``, no GPU is needed and none is used: kernels are made, but nothing is run (see ``cuda/dry.py``).

    Raises:
        ImportError: numba-cuda is not installed, or NumPy is too new for it.
        RuntimeError: there is no driver, or no GPU.
    """
    global _begun
    if _begun is None:
        with _beginning:
            if _begun is None:
                if not dry:
                    needs.check()
                from . import cuda  # only now: few programs use GPUs

                driver = "dry" if dry else "simulated" if needs.is_simulated() else "driver"
                cuda.runtime.begin(importlib.import_module(f"{cuda.__name__}.{driver}"))
                set_driver(cuda.runtime.driver, cuda.memory)
                _begun = cuda
    return _begun


if needs.is_simulated():
    needs.found()  # loads the simulator, so that it runs whatever kernels a program writes


def cuda_text(kernel: Kernel) -> str:
    """The Python text of the kernel that computes on a GPU, over rows of elements, what this one does on the CPU.

    Raises:
        NotImplementedError: there is no such kernel.
    """
    from numgrad_kernels.cuda.pointwise import row_text  # only here: few programs look at it

    if kernel not in pointwise_kernels:
        raise NotImplementedError(
            f"{kernel.name} is written by hand for the CPU: only pointwise kernels are made from one text for both; "
            "call the operation on tensors on 'cuda' to see what a GPU runs instead"
        )
    return row_text(pointwise_kernels[kernel][0])


def ptx(kernel: Kernel) -> str:
    """The assembly of NVIDIA's GPUs of that kernel; no GPU is needed to make it.

    Raises:
        ImportError: the package numba-cuda is not installed.
        NotImplementedError: there is no such kernel, or Numba's simulator is on, which compiles nothing.
    """
    text = cuda_text(kernel)
    from numgrad_kernels.cuda.adapter import compile_ptx  # which may not be installed
    from numgrad_kernels.cuda.pointwise import argument_types

    return compile_ptx(kernel.name, text, argument_types(pointwise_kernels[kernel][0], 1))
