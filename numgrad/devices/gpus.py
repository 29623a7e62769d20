"""The use of GPUs by this process, and their number, driver and kernels."""

from __future__ import annotations

import importlib
import re
import threading
from types import ModuleType
from typing import Any

from numgrad_kernels.store import Kernel

from . import needs
from .buffers import set_driver
from .cpu.pointwise import pointwise_kernels

__all__ = [
    "begin_cuda", "checked_launch", "cuda_in_use", "cuda_text", "gpu_compilers", "gpu_count", "gpu_driver",
    "gpu_driver_version", "gpu_ptx", "ptx", "set_first_gpu",
]  # fmt: skip

_beginning = threading.RLock()
_begun: ModuleType | None = None

#: The number of the GPU that is current in threads which have not set it.
_first = 0


def cuda_in_use() -> bool:
    """Return True if this process has begun to use GPUs."""
    return _begun is not None


def set_first_gpu(number: int) -> None:
    """Choose the GPU that is current in threads which have not set it: this one, modulo the number of GPUs."""
    global _first
    with _beginning:
        _first = number
        if _begun is not None:
            _begun.runtime.set_first_device(number)


def gpu_count() -> int:
    """Return the number of usable GPUs; 0 if a requirement is missing."""
    return needs.count() if _begun is None else _begun.runtime.driver.device_count()


def gpu_driver() -> str:
    """Return the kind of driver in use: "driver", "simulated", "emulated" or "dry" (see ``cuda/dry.py``)."""
    return begin_cuda().runtime.driver.__name__.rpartition(".")[2]


def gpu_driver_version() -> str:
    """Return the version of CUDA of NVIDIA's driver, or the name of its replacement."""
    return begin_cuda().runtime.driver.driver_version()


def gpu_compilers() -> tuple[str, str]:
    """Return the versions of NVIDIA's compilers, and how they disagree with each other or with the driver in use."""
    if needs.is_simulated():
        return "none in Numba's simulator", ""
    from numgrad_kernels.cuda import toolkit  # only here: numba-cuda is optional

    versions = toolkit.versions()
    release = re.fullmatch(r"CUDA (\d+)\.(\d+)", gpu_driver_version()) if cuda_in_use() else None
    if release:
        versions["driver"] = int(release[1]), int(release[2])
    return toolkit.described(versions), toolkit.advice(versions)


def checked_launch(kernel: Any, *launch: Any) -> Any:
    """Run a user's kernel in the emulator and return the report (see ``numgrad_kernels/cuda/checked.py``).

    Raises:
        ImportError: numba-cuda or NVIDIA's compiler is not installed.
    """
    from numgrad_kernels.cuda import checked  # only here: numba-cuda is optional

    return checked.checked_launch(kernel, *launch)


def gpu_ptx(kernel: Any, device: int | None = None) -> str:
    """Return the PTX of a kernel for the GPU of this number, or for Hopper."""
    if device is None:
        return kernel.ptx()
    return kernel.ptx(begin_cuda().runtime.driver.device_properties(device).capability)


def begin_cuda(dry: bool = False) -> ModuleType:
    """Return the package ``devices.cuda``; the first call begins to use GPUs.

    If ``dry``, no GPU is needed or used: kernels are generated, but do not run (see ``cuda/dry.py``).

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
                from . import cuda  # only here: few programs use GPUs

                driver = (
                    "dry" if dry else "simulated" if needs.is_simulated() else "emulated" if needs.is_emulated()
                    else "driver"
                )
                cuda.runtime.begin(importlib.import_module(f"{cuda.__name__}.{driver}"))
                set_driver(cuda.runtime.driver, cuda.memory)
                if _first:
                    cuda.runtime.set_first_device(_first)
                _begun = cuda
    return _begun


if needs.is_simulated():
    needs.count()  # loads the simulator, so that it runs the kernels of the program, too


def cuda_text(kernel: Kernel) -> str:
    """Return the Python text of the kernel for GPUs, over buffers, that corresponds to a kernel of the CPU.

    Raises:
        NotImplementedError: there is no such kernel.
    """
    from numgrad_kernels.cuda.pointwise import flat_text  # only here: few programs need it

    if kernel not in pointwise_kernels:
        raise NotImplementedError(
            f"{kernel.name} is written by hand for the CPU: only pointwise kernels have one text for both devices; "
            "call the operation on tensors on 'cuda' to see the kernel of a GPU"
        )
    return flat_text(pointwise_kernels[kernel][0])


def ptx(kernel: Kernel) -> str:
    """Return the PTX of that kernel, the assembly of NVIDIA's GPUs; no GPU is needed.

    Raises:
        ImportError: the package numba-cuda is not installed.
        NotImplementedError: there is no such kernel, or Numba's simulator is on, which compiles nothing.
    """
    text = cuda_text(kernel)
    from numgrad_kernels.cuda import adapter, pointwise  # only here: numba-cuda is optional

    return adapter.compile_ptx(kernel.name, text, pointwise.argument_types(pointwise_kernels[kernel][0], 1))
