"""Functions of other libraries, which a kernel receives by address.

An address is an ordinary argument: machine code kept on disk between processes must not contain any.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .declarations import generated

#: Constants of BLAS's C interface for row-major order and for a factor that is not transposed.  The next number is the
#: constant for column-major order, or for a transposed factor.
_ROW_MAJOR, _AS_IT_IS = 101, 111

#: The greatest number of parameters of a Fortran routine.
POINTERS = 16

_WHOLE = types.int64
_MATRIX = _WHOLE, _WHOLE, _WHOLE


def gemm(
    address, m, n, k, x, x_start, x_step, x_transposed, y, y_start, y_step, y_transposed, add, out, out_start, out_step
):
    """``out = add * out + x @ y`` by BLAS's ``cblas_?gemm`` with 64-bit integers, which is at ``address``.

    The (m, k), (k, n) and (m, n) matrices are stored in rows of elements, real or complex, from the element ``start``
    with ``step`` elements between the beginnings of their rows.  ``transposed`` is 1 for a transposed matrix.
    """
    left = _matrix(x, x_start, x_step, m, k, x_transposed)
    right = _matrix(y, y_start, y_step, k, n, y_transposed)
    result = _matrix(out, out_start, out_step, m, n, 0)
    result[:] = (add * result if add else 0) + left @ right


def _matrix(buffer: np.ndarray, start: int, step: int, rows: int, columns: int, transposed: int) -> np.ndarray:
    item = buffer.itemsize
    strides = (item, step * item) if transposed else (step * item, item)
    return np.ndarray((rows, columns), buffer.dtype, buffer, start * item, strides)


def gemv(address, m, k, x, x_start, x_step, x_transposed, y, y_start, y_step, out):
    """``out = x @ y`` by BLAS's ``cblas_?gemv`` at ``address``: an (m, k) matrix, as for ``gemm``, times a vector."""
    out[:] = _matrix(x, x_start, x_step, m, k, x_transposed) @ _matrix(y, y_start, y_step, k, 1, 0)[:, 0]


def dot(address, k, x, x_start, x_step, y, y_start, y_step):
    """The sum of products of two vectors with elements ``step`` apart, by BLAS's ``cblas_?dot`` at ``address``."""
    return _matrix(x, x_start, x_step, k, 1, 0)[:, 0] @ _matrix(y, y_start, y_step, k, 1, 0)[:, 0]


def address_in(buffer, start):
    """The address of the element ``start`` of a buffer."""
    return buffer.ctypes.data + start * buffer.itemsize


def constant_in(buffer, start):
    """The address of the element ``start`` of a buffer that the routine only reads."""
    return address_in(buffer, start)


def call_fortran(address, pointers):
    """Call the Fortran routine at ``address`` with the first POINTERS numbers in ``pointers``, which are addresses.

    Fortran passes all arguments by address.  By the calling conventions of C, a routine with fewer parameters ignores
    further arguments, so calls of all routines are alike.
    """
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * POINTERS)(address)(*[int(pointer) for pointer in pointers[:POINTERS]])


class _Caller:
    """Emitter of calls of the function at an address."""

    def __init__(self, context: Any, builder: Any, signature: Any, address: Any):
        self.context = context
        self.builder = builder
        self.types_given = signature.args
        self.address = address

    def first(self, number: int, buffer: Any, start: Any) -> Any:
        """Emit the address of the element ``start`` of a buffer, the argument of this number."""
        array = self.context.make_array(self.types_given[number])(self.context, self.builder, buffer)
        return self.builder.gep(array.data, [start])

    def flag(self, value: int, transposed: Any = None) -> Any:
        """Return the flag of this value, or the next one if it is ``transposed``."""
        constant = ir.Constant(ir.IntType(32), value)
        if transposed is None:
            return constant
        return self.builder.add(self.builder.trunc(transposed, constant.type), constant)

    def factor(self, dtype: Any, value: Any) -> Any:
        """Return the form in which BLAS takes a number: by value, or by address if it is complex."""
        if not isinstance(dtype, types.Complex):
            return value
        number = self.builder.insert_value(ir.Constant(self.context.get_value_type(dtype), [0, 0]), value, 0)
        address = cgutils.alloca_once(self.builder, number.type)
        self.builder.store(number, address)
        return address

    def __call__(self, result: Any, *passed: Any) -> Any:
        function_type = ir.FunctionType(result, [value.type for value in passed])
        return self.builder.call(self.builder.inttoptr(self.address, function_type.as_pointer()), passed)


@generated(gemm)
def _call_gemm(
    typing_context: Any, address: Any, m: Any, n: Any, k: Any, x: Any, x_start: Any, x_step: Any, x_transposed: Any,
    y: Any, y_start: Any, y_step: Any, y_transposed: Any, add: Any, out: Any, out_start: Any, out_step: Any,
) -> Any:  # fmt: skip
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, m, n, k, x, x_start, x_step, x_transposed, y, y_start, y_step, y_transposed, add, *result = arguments
        call = _Caller(context, builder, signature, address)
        number = context.get_value_type(getattr(out.dtype, "underlying_float", out.dtype))
        alpha, beta = [call.factor(out.dtype, value) for value in (ir.Constant(number, 1), builder.sitofp(add, number))]
        call(
            ir.VoidType(), call.flag(_ROW_MAJOR), call.flag(_AS_IT_IS, x_transposed),
            call.flag(_AS_IT_IS, y_transposed), m, n, k, alpha, call.first(4, x, x_start), x_step,
            call.first(8, y, y_start), y_step, beta, call.first(13, result[0], result[1]), result[2],
        )
        return context.get_dummy_value()

    return types.void(_WHOLE, *_MATRIX, x, *_MATRIX, y, *_MATRIX, _WHOLE, out, _WHOLE, _WHOLE), generate


@generated(gemv)
def _call_gemv(
    typing_context: Any, address: Any, m: Any, k: Any, x: Any, x_start: Any, x_step: Any, x_transposed: Any, y: Any,
    y_start: Any, y_step: Any, out: Any,
) -> Any:  # fmt: skip
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, m, k, x, x_start, x_step, x_transposed, y, y_start, y_step, result = arguments
        call = _Caller(context, builder, signature, address)
        number = context.get_value_type(out.dtype)
        unit_step = ir.Constant(ir.IntType(64), 1)
        call(
            ir.VoidType(), call.flag(_ROW_MAJOR, x_transposed), call.flag(_AS_IT_IS), m, k, ir.Constant(number, 1),
            call.first(3, x, x_start), x_step, call.first(7, y, y_start), y_step, ir.Constant(number, 0),
            call.first(10, result, ir.Constant(unit_step.type, 0)), unit_step,
        )
        return context.get_dummy_value()

    return types.void(_WHOLE, _WHOLE, _WHOLE, x, *_MATRIX, y, _WHOLE, _WHOLE, out), generate


@generated(dot)
def _call_dot(
    typing_context: Any, address: Any, k: Any, x: Any, x_start: Any, x_step: Any, y: Any, y_start: Any, y_step: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, k, x, x_start, x_step, y, y_start, y_step = arguments
        call = _Caller(context, builder, signature, address)
        number = context.get_value_type(signature.return_type)
        return call(number, k, call.first(2, x, x_start), x_step, call.first(5, y, y_start), y_step)

    return x.dtype(_WHOLE, _WHOLE, x, _WHOLE, _WHOLE, y, _WHOLE, _WHOLE), generate


@generated(address_in)
@generated(constant_in)
def _address(typing_context: Any, buffer: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = _Caller(context, builder, signature, None).first(0, *arguments)
        return builder.ptrtoint(first, ir.IntType(64))

    return _WHOLE(buffer, _WHOLE), generate


@generated(call_fortran)
def _call_fortran(typing_context: Any, address: Any, pointers: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call = _Caller(context, builder, signature, arguments[0])
        data = context.make_array(pointers)(context, builder, arguments[1]).data
        places = [builder.gep(data, [ir.Constant(ir.IntType(64), number)]) for number in range(POINTERS)]
        call(ir.VoidType(), *map(builder.load, places))
        return context.get_dummy_value()

    return types.void(_WHOLE, pointers), generate
