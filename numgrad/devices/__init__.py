"""The only importer of kernels: allocates memory, chooses the kernel, launches it.

What an operation needs of a device is one function here; there is one device, so they are that device's.
"""

from numgrad_kernels.libm import libmvec_found
from numgrad_kernels.pointwise import Operand, Program
from numgrad_kernels.store import cache_directory

from . import cpu
from .cpu import (
    Row,
    add_rows,
    as_number,
    empty,
    extreme_axis,
    filled,
    flat_launcher,
    matmul,
    number_type,
    pick_rows,
    put_axis,
    put_rows,
    random_kernel,
    run_pointwise,
    share_elements,
    softmax_backward_rows,
    softmax_rows,
    sum_axis,
    take_axis,
    zeros,
)

__all__ = [
    "Operand", "Program", "Row", "add_rows", "as_number", "cache_directory", "cpu", "empty", "extreme_axis",
    "filled", "flat_launcher", "libmvec_found", "matmul", "number_type", "pick_rows", "put_axis", "put_rows",
    "random_kernel", "run_pointwise", "share_elements", "softmax_backward_rows", "softmax_rows", "sum_axis",
    "take_axis", "zeros",
]
