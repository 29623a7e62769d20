"""Pointwise operations on whole numbers, remainders and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numgrad_kernels import scalar

from .._tensor import Tensor
from .._types import bool_, float32, float64
from .comparison import eq
from .elementwise import pointwise
from .table import public

_BITS_OF_FLOATS = {
    kind: f"bitwise operations are not implemented for {kind}, only for bool and integer tensors"
    for kind in (float32, float64)
}

_FLOOR_OF_BOOL = {bool_: "\"div_floor_cpu\" not implemented for 'Bool'"}
_REMAINDER_OF_BOOL = {bool_: "\"remainder_cpu\" not implemented for 'Bool'"}
_SHIFTS_OF_BOOL = {**_BITS_OF_FLOATS, bool_: "shifts are not implemented for torch.bool, only for integer tensors"}



def _check_divisor(operands: Sequence[Any]) -> None:
    """Raise if an integer would be divided by zero."""
    divisor = operands[1]
    if _any_zero(divisor) if isinstance(divisor, Tensor) else divisor == 0:
        shapes = [list(v._shape) for v in operands if isinstance(v, Tensor)]
        raise RuntimeError(f"ZeroDivisionError: an integer is divided by zero (shapes {', '.join(map(str, shapes))})")


def _any_zero(tensor: Tensor) -> bool:
    return tensor.numel() > 0 and bool(eq(tensor, 0).max())


@pointwise("DivBackward1", refused=_FLOOR_OF_BOOL, check_integers=_check_divisor)
def floor_divide(input, other):
    """The quotient rounded towards minus infinity."""
    return input // other


@floor_divide.gradient("input", "other")
def _(grad):
    return grad * 0


@pointwise("RemainderBackward0", refused=_REMAINDER_OF_BOOL, check_integers=_check_divisor)
def remainder(input, other):
    """What is left of a division, with the sign of the divisor, as Python's ``%``."""
    return scalar.remainder(input, other)


@remainder.gradient("input")
def _(grad):
    return grad


@remainder.gradient("other")
def _(grad, input, other):
    return -grad * floor_divide(input, other)


@pointwise("BitwiseAndBackward0", refused=_BITS_OF_FLOATS, nondifferentiable=["input", "other"])
def bitwise_and(input, other):
    """The bits set in both; of bools, logical and."""
    return input & other


@pointwise("BitwiseOrBackward0", refused=_BITS_OF_FLOATS, nondifferentiable=["input", "other"])
def bitwise_or(input, other):
    """The bits set in either; of bools, logical or."""
    return input | other


@pointwise("BitwiseXorBackward0", refused=_BITS_OF_FLOATS, nondifferentiable=["input", "other"])
def bitwise_xor(input, other):
    """The bits set in one but not both; of bools, exclusive or."""
    return input ^ other


@pointwise("BitwiseLeftShiftBackward0", refused=_SHIFTS_OF_BOOL, nondifferentiable=["input", "other"])
def bitwise_left_shift(input, other):
    """The bits moved to the left by ``other`` places; 0 if there are not so many, or fewer than none."""
    return scalar.where((other < 0) | (other > 63), 0, input << other)


@pointwise("BitwiseRightShiftBackward0", refused=_SHIFTS_OF_BOOL, nondifferentiable=["input", "other"])
def bitwise_right_shift(input, other):
    """The bits moved to the right by ``other`` places, the sign kept; only the sign if there are not so many."""
    return input >> scalar.where((other < 0) | (other > 63), 63, other)


@pointwise("LogicalNotBackward0", result="bool")
def logical_not(input):
    """Whether the number is zero."""
    return input == 0


@pointwise("BitwiseNotBackward0", refused=_BITS_OF_FLOATS, nondifferentiable=["input"], export=False)
def invert_bits(input):
    """The bits that are not set, of integers."""
    return ~input


def bitwise_not(input: Tensor) -> Tensor:
    """The bits that are not set; of bools, logical not."""
    return logical_not(input) if input.dtype is bool_ else invert_bits(input)


public(bitwise_not)
