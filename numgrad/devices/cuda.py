"""What a kernel of the CPU becomes on an NVIDIA GPU."""

from __future__ import annotations

from numgrad_kernels.pointwise import argument_types
from numgrad_kernels.store import Kernel

from .cpu.launching import pointwise_kernels

__all__ = ["ptx"]


def ptx(kernel: Kernel) -> str:
    """The assembly of NVIDIA's GPUs of the kernel that computes the same there; no GPU is needed to make it.

    Raises:
        ImportError: the package numba-cuda is not installed.
        NotImplementedError: there is no such kernel for GPUs.
    """
    if kernel not in pointwise_kernels:
        raise NotImplementedError(
            f"{kernel.name} is written by hand for the CPU and has no form for GPUs yet: only pointwise kernels have"
        )
    from numgrad_kernels.cuda import pointwise
    from numgrad_kernels.cuda import ptx as compiling

    program, rank, contiguous = pointwise_kernels[kernel]
    return compiling.ptx(pointwise.kernel_text(program, rank), argument_types(program, rank, contiguous))
