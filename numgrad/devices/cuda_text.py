"""What a kernel of the CPU becomes on an NVIDIA GPU."""

from __future__ import annotations

from numgrad_kernels.pointwise import argument_types
from numgrad_kernels.store import Kernel

from .cpu.launching import pointwise_kernels

__all__ = ["cuda_text", "ptx"]


def cuda_text(kernel: Kernel) -> str:
    """The Python text of the kernel that computes on a GPU what this one does on the CPU.

    Raises:
        NotImplementedError: there is no such kernel.
    """
    from numgrad_kernels.cuda.pointwise import kernel_text

    if kernel not in pointwise_kernels:
        raise NotImplementedError(
            f"{kernel.name} is written by hand for the CPU and has no form for GPUs yet: only pointwise kernels have"
        )
    program, rank, _ = pointwise_kernels[kernel]
    return kernel_text(program, rank)


def ptx(kernel: Kernel) -> str:
    """The assembly of NVIDIA's GPUs of that kernel; no GPU is needed to make it.

    Raises:
        ImportError: the package numba-cuda is not installed.
        NotImplementedError: there is no such kernel, or Numba's simulator is on, which compiles nothing.
    """
    from numgrad_kernels.cuda import ptx as compiling

    text = cuda_text(kernel)
    return compiling.ptx(text, argument_types(*pointwise_kernels[kernel]))
