"""Rounding, fractions, signs, and rounded division: functions constant or linear between their jumps."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.types import bool_, finfo
from ...tensors.tensor import Tensor
from ..table.callables import undifferentiated
from ..table.checks import check
from ..table.declaring import pointwise
from ..table.op import attach, check_tensors, export, public
from ..table.out import write_out
from . import arithmetic as p
from .comparison import isfinite, where
from .complexes import view_as_complex_op, view_as_real_op
from .integers import check_divisor, floor_quotient

# -- to integers ------------------------------------------------------------------------------------------------


@pointwise("FloorBackward0", dtypes="if", constant=["input"])
def floor(input):
    """The largest integer not above the number.

    Example:
        >>> import numgrad
        >>> numgrad.floor(numgrad.tensor([-1.5, 1.5]))
        tensor([-2.,  1.])
    """
    return scalar.floor(input)


@pointwise("CeilBackward0", dtypes="if", constant=["input"])
def ceil(input):
    """The smallest integer not below the number.

    Example:
        >>> import numgrad
        >>> numgrad.ceil(numgrad.tensor([-1.5, 1.5]))
        tensor([-1.,  2.])
    """
    return scalar.ceil(input)


@pointwise("TruncBackward0", dtypes="if", constant=["input"])
def trunc(input):
    """The number without its fraction.

    Example:
        >>> import numgrad
        >>> numgrad.trunc(numgrad.tensor([1.7, -1.7]))
        tensor([ 1., -1.])
    """
    return scalar.trunc(input)


@pointwise("RoundBackward0", dtypes="if", export=False, constant=["input"])
def round_op(input):
    """The nearest integer; of two equally near integers, the even one."""
    return scalar.round(input)


@pointwise("RoundBackward1", aten="round", dtypes="f", export=False, constant=["input"])
def round_decimals(input, *, before=1, after=1):
    """The nearest multiple of ``after / before``."""
    return scalar.round(input * before / after) * after / before


@public(in_place=True, direct=True)
def round(input: Tensor, *, decimals: int = 0, inplace: bool = False) -> Tensor:
    """The number rounded to ``decimals`` places (negative: to that many zeros); halves go to the even neighbour.

    Example:
        >>> import numgrad
        >>> numgrad.round(numgrad.tensor([0.5, 1.5, 2.345]))
        tensor([0., 2., 2.])
        >>> numgrad.round(numgrad.tensor([2.345]), decimals=2)
        tensor([2.3400])
    """
    if decimals == 0:
        return round_op.inplace(input) if inplace else round_op.op.short(input)
    before, after = (10.0**decimals, 1) if decimals > 0 else (1, 10.0**-decimals)
    if inplace:
        return round_decimals.inplace(input, before=before, after=after)
    return round_decimals.op.configured(input, before, after)


@pointwise("FracBackward0", dtypes="f", passed=["input"])
def frac(input):
    """The fraction of the number, with its sign."""
    return input - scalar.trunc(input)


@pointwise("NanToNumBackward0", export=False)
def nan_to_num_op(input, *, nan=0, posinf=0, neginf=0):
    """``input`` with other numbers instead of NaN and the infinities."""
    infinity = where(input > 0, posinf, neginf)
    return where(input != input, nan, where(scalar.isinf(input), infinity, input))


@nan_to_num_op.gradient("input")
def _(grad, input):
    return where(isfinite(input), grad, 0)



@public(in_place=True, direct=True)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *,
    inplace: bool = False,
) -> Tensor:
    """``input`` with ``nan`` (0 by default) instead of NaN; the infinities become by default the dtype's extremes.

    Both parts of complex numbers are replaced.

    Example:
        >>> import numgrad
        >>> numgrad.nan_to_num(numgrad.tensor([numgrad.nan, 1.0]), nan=0.0)
        tensor([0., 1.])
    """
    dtype = input._layout.type.dtype
    limit = finfo(dtype).max if dtype.is_floating_point else None
    if dtype.is_complex:
        parts = nan_to_num(view_as_real_op(input), nan, posinf, neginf, inplace=inplace)
        return input if inplace else view_as_complex_op(parts)
    if limit is None:
        return (nan_to_num_op.inplace if inplace else nan_to_num_op)(input)
    nan = 0.0 if nan is None else nan
    posinf, neginf = limit if posinf is None else posinf, -limit if neginf is None else neginf
    if inplace:
        return nan_to_num_op.inplace(input, nan=nan, posinf=posinf, neginf=neginf)
    return nan_to_num_op.op.configured(input, nan, posinf, neginf)


# -- signs ------------------------------------------------------------------------------------------------------


@pointwise("SignbitBackward0", result="bool")
def signbit(input):
    """True if the number is negative, or a zero or NaN with a minus sign."""
    return scalar.copysign(1, input) < 0


@pointwise("CopysignBackward0", result="float", numbers={"other": "CopysignBackward1"}, constant=["other"])
def copysign(input, other):
    """The magnitude of ``input`` with the sign of ``other``, a tensor or a number.

    Example:
        >>> import numgrad
        >>> numgrad.copysign(numgrad.tensor([1.0, 2.0]), -1)
        tensor([-1., -2.])
    """
    return scalar.copysign(input, other)


@copysign.gradient("input")
def _(grad, input, out):
    return grad * where(input == 0, 0, out / input)


@pointwise("HeavisideBackward0", export=False, constant=["input"])
def heaviside_op(input, values):
    """0 below 0, 1 above, ``values`` at 0."""
    return where(input == 0, values, where(input > 0, 1, 0))


@heaviside_op.gradient("values")
def _(grad, input):
    return where(input == 0, grad, 0)


@public(in_place=True, direct=True)
def heaviside(input: Tensor, values: Tensor, *, inplace: bool = False) -> Tensor:
    """0 where ``input`` is negative or NaN, ``values`` where it is 0, 1 where it is positive.

    As in PyTorch, ``backward`` through it raises an error.  Forward mode and the in-place method have its derivatives.

    Raises:
        RuntimeError: the dtypes differ.
    """
    check_tensors("heaviside", input=input, values=values)
    check(
        input.dtype is values.dtype,
        "heaviside is not yet implemented for tensors with different dtypes ({} and {}).", input.dtype, values.dtype,
    )
    if inplace:
        return heaviside_op.inplace(input, values)
    return undifferentiated("heaviside", heaviside_op(input, values))


# -- division ---------------------------------------------------------------------------------------------------


@pointwise(
    "DivBackward2", aten="div",
    refused={bool_: "\"div_trunc_cpu\" not implemented for 'Bool'"}, check_integers=check_divisor,
    export=False, constant=["input", "other"], takes_numbers=True,
)
def truncated_quotient(input, other):
    """``input / other`` truncated."""
    return scalar.truncated_quotient(input, other)


def _quotient(rounding_mode: str | None) -> Any:
    """Return the operation for a rounding mode."""
    if rounding_mode is None:
        return p.div
    if rounding_mode not in ("trunc", "floor"):
        if not isinstance(rounding_mode, str):
            raise TypeError(f"div(): argument 'rounding_mode' must be str, not {type(rounding_mode).__name__}")
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return truncated_quotient if rounding_mode == "trunc" else floor_quotient


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """``input / other``; with a ``rounding_mode`` the quotient rounded towards 0 ("trunc") or downwards ("floor").

    Without a mode, integers are divided as floating-point numbers.

    Raises:
        RuntimeError: the mode is unknown, or an integer would be divided by zero.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([7, -7])
        >>> numgrad.div(x, 2)
        tensor([ 3.5000, -3.5000])
        >>> numgrad.div(x, 2, rounding_mode="floor")
        tensor([ 3, -4])
    """
    result = _quotient(rounding_mode)(input, other)
    return result if out is None else write_out("div", out, result)


@public(function=False, direct=True)
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``div`` in place."""
    return _quotient(rounding_mode).inplace(input, other)


export("div", div)
export("true_divide", p.div)
attach("true_divide_", p.div.inplace)


@pointwise(
    "FmodBackward1", dtypes="if", check_integers=check_divisor, numbers={"other": "FmodBackward0"}, passed=["input"],
)
def fmod(input, other):
    """The remainder of ``input / other``, with the sign of ``input`` as in C; ``other`` may be a number.

    Example:
        >>> import numgrad
        >>> numgrad.fmod(numgrad.tensor([7, -7]), 4)
        tensor([ 3, -3])
    """
    return scalar.fmod(input, other)


@fmod.gradient("other")
def _(grad, input, other):
    return -grad * truncated_quotient(input, other)
