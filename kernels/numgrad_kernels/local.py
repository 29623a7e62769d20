"""A small array on the stack, for kernels that work block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

__all__ = ["local_array"]


def local_array(size: int, dtype: Any) -> np.ndarray:
    """An uninitialised 1-D array of a literal ``size``; in compiled code it lives on the stack.

    It needs no allocation, and LLVM knows that it overlaps no other array: loops over it vectorise without
    run-time checks.  It must not leave the function.
    """
    return np.empty(size, dtype)


@intrinsic
def _stack_array(typing_context: Any, size: types.IntegerLiteral, dtype: types.DType) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    element = dtype.dtype
    result = types.Array(element, 1, "C")
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        stored = context.get_data_type(element)
        data = cgutils.alloca_once(builder, stored, size=count)
        item = context.get_abi_sizeof(stored)
        array = make_array(result)(context, builder)
        populate_array(
            array, data=data,
            shape=[context.get_constant(types.intp, count)],
            strides=[context.get_constant(types.intp, item)],
            itemsize=context.get_constant(types.intp, item),
            meminfo=None,
        )
        return array._getvalue()

    return result(size, dtype), generate


@overload(local_array, prefer_literal=True)
def _local_array(size, dtype):  # Numba compares the two signatures: no annotations
    def compiled(size, dtype):
        return _stack_array(size, dtype)

    return compiled
