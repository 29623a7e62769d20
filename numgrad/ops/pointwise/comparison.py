"""Pointwise selection and comparison, and tests for equal or nearly equal tensors."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.types import bool_, float64
from ...tensors.tensor import Tensor
from ..batching.examples import refused
from ..memory.copying import convert
from ..table.declaring import pointwise
from ..table.op import public

# -- selection --------------------------------------------------------------------------------------------------


@pointwise("ReluBackward0", refused={bool_: "Boolean inputs not supported for relu"})
def relu(input):
    """``max(input, 0)``; NaN stays NaN.

    Example:
        >>> import numgrad
        >>> numgrad.relu(numgrad.tensor([-1.0, 0.0, 1.0]))
        tensor([0., 0., 1.])
    """
    return scalar.maximum(input, 0)


@relu.gradient("input")
def _(grad, out):
    return threshold_backward(grad, out)


@pointwise("ThresholdBackwardBackward0", export=False, inplace=False, constant=["output"])
def threshold_backward(grad_output, output, *, threshold=0):
    """The gradient of :func:`relu` and ``threshold``; its derivative with respect to the output is 0, not undefined."""
    return scalar.where(output <= threshold, 0, grad_output)


@threshold_backward.gradient("grad_output")
def _(grad, output, threshold):
    return threshold_backward(grad, output, threshold=threshold)


@pointwise(
    "WhereBackward0", aten="where",
    dtypes="bifc", conditions=["condition"], nondifferentiable=["condition"], export=False,
    inplace=False,
)
def choose(condition, input, other):
    """``input`` where ``condition`` holds, ``other`` elsewhere."""
    return scalar.where(condition, input, other)


@choose.gradient("input")
def _(grad, condition):
    return where(condition, grad, 0)


@choose.gradient("other")
def _(grad, condition):
    return where(condition, 0, grad)


def where(condition: Any, input: Any, other: Any) -> Any:
    """Return ``input`` where ``condition``, a bool tensor, holds and ``other`` elsewhere; for use in rules."""
    if isinstance(condition, bool):  # a comparison of attributes
        return input if condition else other
    return choose(condition, input, other)


where.scalar_function = choose.scalar_function  # type: ignore[attr-defined]

# -- comparison -------------------------------------------------------------------------------------------------


@pointwise("EqBackward0", result="bool", dtypes="bifc")
def eq(input, other):
    """``input == other``.

    Example:
        >>> import numgrad
        >>> numgrad.eq(numgrad.tensor([1, 2]), numgrad.tensor([1, 3]))
        tensor([ True, False])
    """
    return input == other


@pointwise("NeBackward0", result="bool", dtypes="bifc")
def ne(input, other):
    """``input != other``."""
    return input != other


@pointwise("LtBackward0", result="bool")
def lt(input, other):
    """``input < other``.

    Example:
        >>> import numgrad
        >>> numgrad.lt(numgrad.tensor([1, 3]), 2)
        tensor([ True, False])
    """
    return input < other


@pointwise("LeBackward0", result="bool")
def le(input, other):
    """``input <= other``."""
    return input <= other


@pointwise("GtBackward0", result="bool")
def gt(input, other):
    """``input > other``."""
    return input > other


@pointwise("GeBackward0", result="bool")
def ge(input, other):
    """``input >= other``."""
    return input >= other


@pointwise("IsnanBackward0", result="bool", dtypes="bifc")
def isnan(input):
    """True if the number is NaN.

    Example:
        >>> import numgrad
        >>> numgrad.isnan(numgrad.tensor([1.0, numgrad.nan]))
        tensor([False,  True])
    """
    return input != input


@pointwise("IsinfBackward0", result="bool", dtypes="bifc")
def isinf(input):
    """True if the number is infinite."""
    return scalar.isinf(input)


@pointwise("IsfiniteBackward0", result="bool", dtypes="bifc")
def isfinite(input):
    """True if the number is neither infinite nor NaN.

    Example:
        >>> import numgrad
        >>> numgrad.isfinite(numgrad.tensor([1.0, numgrad.inf]))
        tensor([ True, False])
    """
    return input * 0 == 0


@pointwise("IsposinfBackward0", result="bool")
def isposinf(input):
    """True if the number is plus infinity."""
    return scalar.isinf(input) & (input > 0)


@pointwise("IsneginfBackward0", result="bool")
def isneginf(input):
    """True if the number is minus infinity."""
    return scalar.isinf(input) & (input < 0)


@pointwise("IscloseBackward0", result="bool", dtypes="c", export=False)
def isclose_complex(input, other, *, rtol=1e-5, atol=1e-8, equal_nan=0):
    """``abs(input - other) <= atol + rtol * abs(other)``, in the complex plane."""
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
    """True where ``abs(input - other) <= atol + rtol * abs(other)``; NaN is close to NaN with ``equal_nan``.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    Example:
        >>> import numgrad
        >>> numgrad.isclose(numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 2.1]))
        tensor([ True, False])
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.legacy} did not match {other.dtype.legacy}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    if input.dtype.kind in "bi":
        if rtol == atol == 0:
            return eq(input, other)  # float64 cannot distinguish large integers
        input, other = convert(input, float64), convert(other, float64)
    return isclose_op(input, other, rtol=rtol, atol=atol, equal_nan=int(equal_nan))


@public
@refused(
    "vmap over torch.allclose isn't supported yet: it would have one answer for each example. isclose() has them all."
)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """True if all elements are close to each other, in the sense of :func:`isclose`.

    Example:
        >>> import numgrad
        >>> numgrad.allclose(numgrad.tensor([1.0]), numgrad.tensor([1.0 + 1e-7]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@public
@refused("Batching rule not implemented for aten::equal. We could not generate a fallback.")
def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and equal elements; NaN equals nothing.

    Example:
        >>> import numgrad
        >>> numgrad.equal(numgrad.tensor([1, 2]), numgrad.tensor([1, 2]))
        True
    """
    return input._layout.shape == other._layout.shape and bool(eq(input, other).all())
