"""What a pointwise kernel of the CPU becomes on an NVIDIA GPU: to look at, without one."""

from __future__ import annotations

from numgrad_kernels.store import Kernel

from .cpu.pointwise import pointwise_kernels

__all__ = ["cuda_text", "ptx"]


def cuda_text(kernel: Kernel) -> str:
    """The Python text of the kernel that computes on a GPU, over rows of elements, what this one does on the CPU.

    Raises:
        NotImplementedError: there is no such kernel.
    """
    from numgrad_kernels.cuda.pointwise import row_text  # only here: few programs look at it

    if kernel not in pointwise_kernels:
        raise NotImplementedError(
            f"{kernel.name} is written by hand for the CPU: only pointwise kernels are made from one text for both; "
            "call the operation on tensors on 'cuda' to see what a GPU runs in its place"
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
