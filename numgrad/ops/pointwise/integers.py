"""Pointwise operations on integers: remainders, common divisors, bits, truth values."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.types import bool_
from ...tensors.tensor import Tensor
from ..table.callables import of_tensors, undifferentiated
from ..table.declaring import pointwise
from ..table.op import attach, public
from .comparison import eq

# -- division ---------------------------------------------------------------------------------------------------


def check_divisor(input: Any, divisor: Any) -> None:
    """Raise if an integer would be divided by zero."""
    if eq(divisor, 0).any() if isinstance(divisor, Tensor) else divisor == 0:
        shapes = [list(v._layout.shape) for v in (input, divisor) if isinstance(v, Tensor)]
        raise RuntimeError(f"ZeroDivisionError: an integer is divided by zero (shapes {', '.join(map(str, shapes))})")


@pointwise(
    "DivBackward2", aten="div",
    refused={bool_: "\"div_floor_cpu\" not implemented for 'Bool'"}, check_integers=check_divisor,
    export=False, constant=["input", "other"], takes_numbers=True,
)
def floor_quotient(input, other):
    """``input / other`` rounded towards minus infinity."""
    return scalar.floor_quotient(input, other)


def floor_divide(input: Any, other: Any) -> Tensor:
    """The quotient rounded towards minus infinity; unlike ``div(rounding_mode="floor")``, it has no derivative.

    Raises:
        RuntimeError: an integer would be divided by zero.

    Example:
        >>> import numgrad
        >>> numgrad.floor_divide(numgrad.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """
    return undifferentiated("floor_divide", floor_quotient(input, other))


floor_divide.inplace = floor_quotient.inplace  # type: ignore[attr-defined]
public(floor_divide, direct=True)
attach("floor_divide_", floor_quotient.inplace)


@pointwise("FromStartBackward0", dtypes="i", nondifferentiable=["index", "size"], export=False, inplace=False)
def from_start(index, size):
    """``index`` counted from the start of a dimension: an index below 0 counts from its end."""
    return scalar.where(index < 0, index + size, index)


@pointwise(
    "RemainderBackward1", dtypes="if", check_integers=check_divisor, numbers={"other": "RemainderBackward0"},
    export=False, passed=["input"],
)
def remainder_op(input, other):
    """The remainder of a division, with the sign of the divisor, as for Python's ``%``."""
    return scalar.remainder(input, other)


@remainder_op.gradient("other")
def _(grad, input, other):
    return -grad * floor_quotient(input, other)


def remainder(input: Any, other: Any) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``other``, as for Python's ``%``; either may be a number.

    The remainder of a number divided by a tensor has no derivative.

    Raises:
        RuntimeError: an integer would be divided by zero.

    Example:
        >>> import numgrad
        >>> numgrad.remainder(numgrad.tensor([-3, 3]), 2)
        tensor([1, 1])
    """
    out = remainder_op(input, other)
    return out if isinstance(input, Tensor) else undifferentiated("remainder", out)


remainder.inplace = remainder_op.inplace  # type: ignore[attr-defined]
public(remainder, direct=True)
attach("remainder_", remainder_op.inplace)


@pointwise("GcdBackward0", dtypes="i", nondifferentiable=["input", "other"], export=False)
def gcd_op(input, other):
    """The greatest common divisor of two integers; not negative, and 0 if both are 0.

    Example:
        >>> import numgrad
        >>> numgrad.gcd(numgrad.tensor([12, -9, 0]), numgrad.tensor([18, 6, 5]))
        tensor([6, 3, 5])
    """
    return scalar.gcd(input, other)


@pointwise("LcmBackward0", dtypes="i", nondifferentiable=["input", "other"], export=False)
def lcm_op(input, other):
    """The least common multiple of two integers; not negative, and 0 if one is 0.

    Example:
        >>> import numgrad
        >>> numgrad.lcm(numgrad.tensor([4, 0]), numgrad.tensor([6, 5]))
        tensor([12,  0])
    """
    return scalar.abs(scalar.truncated_quotient(input, scalar.where(input == 0, 1, gcd_op(input, other))) * other)


gcd, lcm = of_tensors(gcd_op), of_tensors(lcm_op)


# -- bits -------------------------------------------------------------------------------------------------------


@pointwise("BitwiseAndBackward0", dtypes="bi", nondifferentiable=["input", "other"])
def bitwise_and(input, other):
    """The bits set in both; logical and for bools.

    Example:
        >>> import numgrad
        >>> numgrad.bitwise_and(numgrad.tensor([6, 5]), 3)
        tensor([2, 1])
    """
    return input & other


@pointwise("BitwiseOrBackward0", dtypes="bi", nondifferentiable=["input", "other"])
def bitwise_or(input, other):
    """The bits set in either; logical or for bools."""
    return input | other


@pointwise("BitwiseXorBackward0", dtypes="bi", nondifferentiable=["input", "other"])
def bitwise_xor(input, other):
    """The bits set in one but not both; exclusive or for bools."""
    return input ^ other


@pointwise("BitwiseLeftShiftBackward0", dtypes="i", nondifferentiable=["input", "other"])
def bitwise_left_shift(input, other):
    """The bits shifted left by ``other`` bits; 0 if ``other`` is negative or exceeds 63."""
    return scalar.where((other < 0) | (other > 63), 0, input << other)


@pointwise("BitwiseRightShiftBackward0", dtypes="i", nondifferentiable=["input", "other"])
def bitwise_right_shift(input, other):
    """The bits shifted right by ``other`` bits, with the sign kept; by 63 if ``other`` is negative or exceeds 63."""
    return input >> scalar.where((other < 0) | (other > 63), 63, other)


# -- truth values -----------------------------------------------------------------------------------------------


@pointwise("LogicalNotBackward0", result="bool", dtypes="bifc")
def logical_not(input):
    """True if the number is zero.

    Example:
        >>> import numgrad
        >>> numgrad.logical_not(numgrad.tensor([0, 2]))
        tensor([ True, False])
    """
    return input == 0


@pointwise("LogicalAndBackward0", result="bool", dtypes="bifc", export=False)
def logical_and_op(input, other):
    """True if both numbers are nonzero.

    Example:
        >>> import numgrad
        >>> numgrad.logical_and(numgrad.tensor([True, True]), numgrad.tensor([True, False]))
        tensor([ True, False])
    """
    return (input != 0) & (other != 0)


@pointwise("LogicalOrBackward0", result="bool", dtypes="bifc", export=False)
def logical_or_op(input, other):
    """True if at least one number is nonzero."""
    return (input != 0) | (other != 0)


@pointwise("LogicalXorBackward0", result="bool", dtypes="bifc", export=False)
def logical_xor_op(input, other):
    """True if exactly one number is nonzero."""
    return (input != 0) != (other != 0)


logical_and, logical_or = of_tensors(logical_and_op), of_tensors(logical_or_op)
logical_xor = of_tensors(logical_xor_op)


@pointwise("BitwiseNotBackward0", aten="bitwise_not", dtypes="i", nondifferentiable=["input"], export=False)
def invert_bits(input):
    """The inverted bits of integers."""
    return ~input


@public(in_place=True)
def bitwise_not(input: Tensor, *, inplace: bool = False) -> Tensor:
    """The inverted bits; logical not for bools."""
    if input.dtype is bool_:
        return input.logical_not_() if inplace else logical_not(input)
    return (invert_bits.inplace if inplace else invert_bits)(input)
