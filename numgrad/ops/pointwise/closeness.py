"""Whether two tensors are equal, or nearly so."""

from __future__ import annotations

from numgrad_kernels import scalar

from ..._tensor import Tensor
from ..._types import float64
from ..copying import convert
from ..elementwise import pointwise
from ..examples import refused
from ..table import check_tensors, public
from .comparison import eq

__all__ = ["allclose", "equal", "isclose"]


@pointwise("IscloseBackward0", result="bool", dtypes="c", export=False)
def isclose_complex(input, other, *, rtol=1e-5, atol=1e-8, equal_nan=0):
    """The same in the complex plane."""
    distance = scalar.abs(input - other)
    near = (distance - distance == 0) & (distance <= scalar.abs(atol) + scalar.abs(rtol * other))
    return (input == other) | near | ((input != input) & (other != other) & (equal_nan != 0))


@pointwise("IscloseBackward0", result="bool", dtypes="fc", export=False, complex=isclose_complex)
def isclose_op(input, other, *, rtol=1e-5, atol=1e-8, equal_nan=0):
    """``abs(input - other) <= atol + rtol * abs(other)``."""
    distance = scalar.abs(input - other)
    near = (distance - distance == 0) & (distance <= atol + scalar.abs(rtol * other))
    return (input == other) | near | ((input != input) & (other != other) & (equal_nan != 0))


@public
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)``; NaN is close to NaN with ``equal_nan``.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.
    """
    check_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.legacy} did not match {other.dtype.legacy}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    if input.dtype.kind in "bi":
        if rtol == atol == 0:
            return eq(input, other)  # float64 would not tell large integers apart
        input, other = convert(input, float64), convert(other, float64)
    return isclose_op(input, other, rtol=rtol, atol=atol, equal_nan=int(equal_nan))


@public
@refused(
    "vmap over torch.allclose isn't supported yet: it would have one answer for each example. isclose() has them all."
)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close to each other, as :func:`isclose` has it."""
    return _holds_everywhere(isclose(input, other, rtol, atol, equal_nan))


@public
@refused("Batching rule not implemented for aten::equal. We could not generate a fallback.")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements; NaN equals nothing."""
    check_tensors("equal", input=input, other=other)
    return input._layout.shape == other._layout.shape and _holds_everywhere(eq(input, other))


def _holds_everywhere(condition: Tensor) -> bool:
    return condition.numel() == 0 or bool(condition.min())
