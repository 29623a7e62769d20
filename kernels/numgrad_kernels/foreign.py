"""Functions of other libraries, which a kernel is given by their address.

An address is an argument like any other: machine code that is kept on disk between processes must know none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from .overloads import generated

__all__ = ["gemm"]

#: What BLAS's C interface calls the order of the elements, and a factor as it is or transposed.
_ROW_MAJOR, _AS_IT_IS = 101, 111


def gemm(address, m, n, k, x, x_start, x_step, x_turned, y, y_start, y_step, y_turned, add, out, out_start, out_step):
    """``out = add * out + x @ y`` by BLAS's ``cblas_?gemm`` with 64-bit integers, which is at ``address``.

    The (m, k), (k, n) and (m, n) matrices lie in rows of elements, float32 or float64, from the element ``start``
    with ``step`` elements between the beginnings of their rows; one that is ``turned`` lies there transposed.
    """
    left = _matrix(x, x_start, x_step, m, k, x_turned)
    right = _matrix(y, y_start, y_step, k, n, y_turned)
    result = _matrix(out, out_start, out_step, m, n, 0)
    result[:] = (add * result if add else 0) + left @ right


def _matrix(row: np.ndarray, start: int, step: int, rows: int, columns: int, turned: int) -> np.ndarray:
    item = row.itemsize
    strides = (item, step * item) if turned else (step * item, item)
    return np.ndarray((rows, columns), row.dtype, row, start * item, strides)


@generated(gemm)
def _call_gemm(
    typing_context: Any, address: Any, m: Any, n: Any, k: Any, x: Any, x_start: Any, x_step: Any, x_turned: Any,
    y: Any, y_start: Any, y_step: Any, y_turned: Any, add: Any, out: Any, out_start: Any, out_step: Any,
) -> Any:  # fmt: skip
    whole = types.int64
    matrix = whole, whole, whole

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, m, n, k, x, x_start, x_step, x_turned, y, y_start, y_step, y_turned, add, *result = arguments
        number = context.get_value_type(out.dtype)
        size, flag = ir.IntType(64), ir.IntType(32)

        def first(kind: Any, row: Any, start: Any) -> Any:
            """The address of the matrix's first element."""
            from numba.np.arrayobj import make_array  # slow to import, and needed only to compile

            return builder.gep(make_array(kind)(context, builder, row).data, [start])

        def order(turned: Any) -> Any:
            return builder.add(builder.trunc(turned, flag), ir.Constant(flag, _AS_IT_IS))

        passed = [
            ir.Constant(flag, _ROW_MAJOR), order(x_turned), order(y_turned), m, n, k, ir.Constant(number, 1),
            first(signature.args[4], x, x_start), x_step, first(signature.args[8], y, y_start), y_step,
            builder.sitofp(add, number), first(signature.args[13], result[0], result[1]), result[2],
        ]
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in passed])
        assert passed[3].type == size
        builder.call(builder.inttoptr(address, kind.as_pointer()), passed)
        return context.get_dummy_value()

    return types.void(whole, whole, whole, whole, x, *matrix, y, *matrix, whole, out, whole, whole), generate
