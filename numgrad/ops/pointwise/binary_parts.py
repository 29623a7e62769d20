"""Floats taken apart: mantissa and exponent; neighbouring floats."""

from __future__ import annotations

from numgrad_kernels import scalar

from ...core.types import bfloat16, float16, int32
from ...tensors.tensor import Tensor
from ..memory.copying import convert
from ..reductions.axes import return_type
from ..table.callables import of_tensors
from ..table.checks import check
from ..table.declaring import pointwise
from ..table.op import public
from .exponential import exp2

_Frexp = return_type("frexp", "mantissa", "exponent")


@pointwise("FrexpBackward0", dtypes="f", export=False, inplace=False, constant=["input"])
def frexp_exponent(input):
    """The exponent of two by whose power ``frexp_mantissa`` divides."""
    return scalar.frexp_exponent(input)


@pointwise("FrexpBackward0", dtypes="f", export=False, inplace=False)
def frexp_mantissa(input):
    """``input / 2**exponent``, from 1/2 to below 1 in magnitude."""
    return scalar.frexp_mantissa(input)


@frexp_mantissa.gradient("input")
def _(grad, input):
    return grad / exp2(frexp_exponent(input))


@public
def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``mantissa`` and ``exponent``, an int32 tensor, such that ``input == mantissa * 2**exponent``.

    The mantissa lies between 1/2 and 1 in magnitude.  Zeros, infinities and NaN have the exponent 0.

    Raises:
        RuntimeError: the dtype is not floating-point.

    Example:
        >>> import numgrad
        >>> numgrad.frexp(numgrad.tensor([8.0, -3.0]))
        torch.return_types.frexp(
        mantissa=tensor([ 0.5000, -0.7500]),
        exponent=tensor([4, 2], dtype=torch.int32))
    """
    check(input.dtype.is_floating_point, "frexp() only supports floating-point dtypes, not {} {}", input.dtype, input)
    exponent = convert(frexp_exponent(input.detach()), int32)
    return _Frexp(frexp_mantissa(input), exponent)


_REFUSED = {each: f"\"nextafter_cpu\" not implemented for '{each.legacy}'" for each in (float16, bfloat16)}


@pointwise(
    "NextafterBackward0", dtypes="f", export=False, passed=["input"], constant=["other"], refused_operands=_REFUSED
)
def nextafter_op(input, other):
    """The float next to ``input`` in the direction of ``other``; ``other`` if they are equal.

    Example:
        >>> import numgrad
        >>> numgrad.nextafter(numgrad.tensor([1.0]), numgrad.tensor([2.0])) - 1
        tensor([1.1921e-07])
    """
    return scalar.nextafter(input, other)


nextafter = of_tensors(nextafter_op)
