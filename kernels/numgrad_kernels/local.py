"""A small array on the stack, for kernels that work block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

from .overloads import overloaded

__all__ = ["local_array"]


def local_array(size: int, dtype: Any) -> np.ndarray:
    """An uninitialised 1-D array of a literal ``size``; in compiled code it lives on the stack.

    It needs no allocation, and LLVM knows that it overlaps no other array: loops over it vectorise without
    run-time checks.  It must not leave the function.
    """
    return np.empty(size, dtype)


@intrinsic(prefer_literal=True)
def _stack_array(typing_context: Any, size: Any, dtype: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    element = dtype.dtype
    result = types.Array(element, 1, "C")
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import make_array, populate_array  # slow to import, and needed only to compile

        stored = context.get_data_type(element)
        data = cgutils.alloca_once(builder, stored, size=count)
        item = context.get_constant(types.intp, context.get_abi_sizeof(stored))
        array = make_array(result)(context, builder)
        extent = context.get_constant(types.intp, count)
        populate_array(array, data=data, shape=[extent], strides=[item], itemsize=item, meminfo=None)
        return array._getvalue()

    return result(size, dtype), generate


@overloaded(local_array)
def _local_array(size, dtype):  # Numba compares the two signatures: no annotations
    return lambda size, dtype: _stack_array(size, dtype)
