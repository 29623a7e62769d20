"""float16 and bfloat16, in which numbers are stored but not computed: a part of ``scalar``, which exports them.

Kernels take buffers of such numbers as buffers of their bits, uint16.  They widen what they read to float32, which is
exact, and narrow what they write, rounding to the nearest number and, of two equally near, to the even one.  NaN
becomes the one positive quiet NaN.  So all processors, and GPUs, give the same bits.

NumPy has no bfloat16.  Arrays of it have the dtype of two bytes without a meaning, with which NumPy cannot compute: a
conversion that is missing raises an error instead of giving a wrong number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from .declarations import generated
from .instructions import Value, bits, from_bits, on_gpu, select, target_assembly

__all__ = ["from_bfloat16", "from_float16", "to_bfloat16", "to_float16"]

FLOAT16, BFLOAT16 = np.dtype(np.float16), np.dtype("V2")

#: The function that widens numbers of each dtype.
WIDENING = {FLOAT16: "from_float16", BFLOAT16: "from_bfloat16"}

#: The function that narrows numbers to each dtype.
NARROWING = {FLOAT16: "to_float16", BFLOAT16: "to_bfloat16"}

_FLOAT32, _BITS = np.dtype(np.float32), np.dtype(np.uint16)


def computed(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which kernels compute for numbers stored in a dtype: float32 for float16 and bfloat16."""
    return _FLOAT32 if dtype in WIDENING else dtype


def passed(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the buffers that kernels take for a dtype: uint16 for float16 and bfloat16."""
    return _BITS if dtype in WIDENING else dtype


def from_bfloat16(x: Any) -> Any:
    """The bfloat16 with these bits as float32: its bits are the upper half."""
    return np.uint32(int(x) << 16).view(np.float32)


def to_bfloat16(x: Any) -> Any:
    """The bits of a number rounded to bfloat16."""
    number = np.float32(x)
    word = int(number.view(np.uint32))
    return np.uint16(word + 0x7FFF + (word >> 16 & 1) >> 16 if number == number else 0x7FC0)


def from_float16(x: Any) -> Any:
    """The float16 with these bits as float32."""
    return np.float32(np.uint16(x).view(np.float16))


def to_float16(x: Any) -> Any:
    """The bits of a number rounded to float16."""
    with np.errstate(all="ignore"):
        number = np.float32(x)
        return np.float16(number).view(np.uint16) if number == number else np.uint16(0x7E00)


def _resized(x: Value, instruction: str, element: ir.Type) -> Value:
    return Value(x.builder, getattr(x.builder, instruction)(x.value, x.of_same_length(element)))


def _widened(x: Value) -> Value:
    return _resized(x, "zext", ir.IntType(32))


def _narrowed(x: Value) -> Value:
    return _resized(x, "trunc", ir.IntType(16))


def _of_bfloat16(x: Value) -> Value:
    return from_bits(_widened(x) << 16)


def _as_bfloat16(x: Value) -> Value:
    word = bits(x)
    to_even = word + (((word >> 16) & 1) + 0x7FFF)
    return _narrowed(select(x == x, to_even >> 16, 0x7FC0))


@functools.cache
def _converts() -> bool:
    """Return True if the target has instructions that convert float16; LLVM calls functions otherwise."""
    body = "%w = fpext half %x to float %n = fptrunc float %y to half %d = fpext half %n to float"
    assembly = target_assembly(
        f"define float @f(half %x, float %y) {{ {body} %s = fadd float %w, %d ret float %s }}"
    )
    return not any(name in assembly for name in ("hfsf2", "sfhf2", "h2f", "f2h"))


def _of_float16(x: Value) -> Value:
    if on_gpu(x) or _converts():
        half = Value(x.builder, x.builder.bitcast(x.value, x.of_same_length(ir.HalfType())))
        return _resized(half, "fpext", ir.FloatType())
    word = _widened(x)
    magnitude, sign = (word & 0x7FFF) << 13, (word & 0x8000) << 16
    # With the exponent in its place, the number is too small by a factor of 2**112, also if it is subnormal.
    finite = bits(from_bits(magnitude) * 2.0**112)
    return from_bits(sign | select(magnitude < 0x0F800000, finite, magnitude | 0x7F800000))


def _as_float16(x: Value) -> Value:
    if on_gpu(x) or _converts():
        half = _resized(x, "fptrunc", ir.HalfType())
        number = Value(x.builder, x.builder.bitcast(half.value, x.of_same_length(ir.IntType(16))))
        return select(x == x, number, 0x7E00)
    word = bits(x)
    magnitude, sign = word & 0x7FFFFFFF, (word >> 16) & 0x8000
    normal = (magnitude + (((magnitude >> 13) & 1) + (0xFFF - (112 << 23)))) >> 13
    subnormal = bits(from_bits(magnitude) + 0.5) - 0x3F000000  # the sum is rounded to multiples of 2**-24
    number = select(magnitude < 0x38800000, subnormal, select(magnitude < 0x477FF000, normal, 0x7C00))
    return _narrowed(select(x == x, sign | number, 0x7E00))


def _compile_as(public: Callable[..., Any], function: Callable[..., Value], signature: Any) -> None:
    """Declare the instructions for calls of a conversion."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return function(Value(builder, arguments[0])).value

    @generated(public)
    def _(typing_context, x):
        return signature, generate


_compile_as(from_bfloat16, _of_bfloat16, types.float32(types.uint16))
_compile_as(to_bfloat16, _as_bfloat16, types.uint16(types.float32))
_compile_as(from_float16, _of_float16, types.float32(types.uint16))
_compile_as(to_float16, _as_float16, types.uint16(types.float32))
