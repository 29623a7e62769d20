"""Pointwise operations that compare and choose."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from .._tensor import Tensor
from .._types import bool_
from .elementwise import pointwise
from .table import attach, public

# -- choosing ---------------------------------------------------------------------------------------------------


@pointwise("ReluBackward0", refused={bool_: "Boolean inputs not supported for relu"})
def relu(input):
    """``max(input, 0)``; NaN stays NaN."""
    return scalar.maximum(input, 0)


@relu.gradient("input")
def _(grad, out):
    return relu_backward(grad, out)


@pointwise("ThresholdBackwardBackward0", export=False, inplace=False)
def relu_backward(grad_output, output):
    """The gradient of :func:`relu`; its own derivative for the output is 0, and not nothing."""
    return scalar.where(output <= 0, 0, grad_output)


@relu_backward.gradient("grad_output")
def _(grad, output):
    return relu_backward(grad, output)


@relu_backward.gradient("output")
def _(grad):
    return grad * 0


@pointwise("MaximumBackward0", inplace=False)
def maximum(input, other):
    """The larger of two numbers; NaN if either is NaN."""
    return scalar.maximum(input, other)


@maximum.gradient("input")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input < other, 0, grad))


@maximum.gradient("other")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input < other, grad, 0))


@pointwise("MinimumBackward0", inplace=False)
def minimum(input, other):
    """The smaller of two numbers; NaN if either is NaN."""
    return scalar.minimum(input, other)


@minimum.gradient("input")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input > other, 0, grad))


@minimum.gradient("other")
def _(grad, input, other):
    return where(input == other, grad / 2, where(input > other, grad, 0))


@pointwise("WhereBackward0", conditions=["condition"], nondifferentiable=["condition"], export=False, inplace=False)
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
    """``input`` where ``condition`` (a bool tensor) holds, ``other`` elsewhere.

    Raises:
        RuntimeError: the condition is not a bool tensor.
    """
    if isinstance(condition, bool):  # in a rule, a comparison of static numbers
        return input if condition else other
    if not isinstance(condition, Tensor) or condition.dtype is not bool_:
        kind = condition.dtype if isinstance(condition, Tensor) else type(condition).__name__
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    return choose(condition, input, other)


where.scalar_function = choose.scalar_function  # type: ignore[attr-defined]
public(where, method=False)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor's elements where ``condition`` holds, ``other``'s elsewhere."""
    return where(condition, self, other)


attach("where", _where_method)

# -- comparing --------------------------------------------------------------------------------------------------


@pointwise("EqBackward0", result="bool")
def eq(input, other):
    """``input == other``."""
    return input == other


@pointwise("NeBackward0", result="bool")
def ne(input, other):
    """``input != other``."""
    return input != other


@pointwise("LtBackward0", result="bool")
def lt(input, other):
    """``input < other``."""
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


@pointwise("IsnanBackward0", result="bool")
def isnan(input):
    """Whether the number is NaN."""
    return input != input
