"""Softmax and its logarithm."""

from __future__ import annotations

import math
from typing import Any

from ... import devices
from ..._layout import normal_dim
from ..._tensor import Tensor, fresh
from ..._types import to_dtype
from ..copying import convert, row_of
from ..indexing.gathering import along
from ..pointwise.arithmetic import exp, mul, neg, sub
from ..reductions.sums import sum_dims
from ..table import operation, public

__all__ = ["log_softmax", "safe_softmax", "softmax"]


def _forward(input: Tensor, dim: int, floor: float) -> Tensor:
    row = devices.softmax_axis(row_of(input), *along(input._layout.shape, dim), floor)
    return fresh(row, input._layout.shape, input._layout.type)


def _backward(grad_output: Tensor, output: Tensor, dim: int, logarithm: bool) -> Tensor:
    axis = along(output._layout.shape, dim)
    row = devices.softmax_backward_axis(row_of(grad_output), row_of(output), *axis, logarithm)
    return fresh(row, output._layout.shape, output._layout.type)


@operation("SoftmaxBackward0", dims=["dim"])
def softmax_op(input: Tensor, dim: int) -> Tensor:
    return _forward(input, dim, -math.inf)


@softmax_op.gradient("input")
def _(grad, out, dim):
    return softmax_backward(grad, out, dim)


@operation("SoftmaxBackwardDataBackward0", inputs=["grad_output", "output"], dims=["dim"])
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """``output * (grad_output - sum(grad_output * output))``."""
    return _backward(grad_output, output, dim, False)


@softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return softmax_backward(grad, output, dim)


@softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    inner = sum_dims(mul(grad_output, output), (dim,), True)
    outer = sum_dims(mul(grad, output), (dim,), True)
    return sub(mul(grad, sub(grad_output, inner)), mul(grad_output, outer))


@operation("LogSoftmaxBackward0", dims=["dim"])
def log_softmax_op(input: Tensor, dim: int) -> Tensor:
    row = devices.log_softmax_axis(row_of(input), *along(input._layout.shape, dim))
    return fresh(row, input._layout.shape, input._layout.type)


@log_softmax_op.gradient("input")
def _(grad, out, dim):
    return log_softmax_backward(grad, out, dim)


@operation("LogSoftmaxBackwardDataBackward0", inputs=["grad_output", "output"], dims=["dim"])
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """``grad_output - exp(output) * sum(grad_output)``."""
    return _backward(grad_output, output, dim, True)


@log_softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return sub(grad, sum_dims(mul(grad, exp(output)), (dim,), True))


@log_softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    return neg(mul(mul(grad, exp(output)), sum_dims(grad_output, (dim,), True)))


@operation("SafeSoftmaxBackward0", dims=["dim"])
def safe_softmax(input: Tensor, dim: int) -> Tensor:
    """Softmax along ``dim``, 0 where all that it is taken of is minus infinity: nothing to attend to."""
    return _forward(input, dim, 0.0)


@safe_softmax.gradient("input")
def _(grad, out, dim):
    return softmax_backward(grad, out, dim)


def _prepared(input: Tensor, dim: int, dtype: Any, name: str) -> tuple[Tensor, int]:
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")
    if dtype is not None:
        input = convert(input, to_dtype(dtype))
    dim = normal_dim(dim, len(input._layout.shape))
    if not input.is_floating_point():
        kernel = f"{name}{'_lastdim' if dim >= len(input._layout.shape) - 1 else ''}_kernel_impl"
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{input.dtype.legacy}' (shape {list(input.shape)})"
        )
    return input, dim


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``.

    Args:
        input: floating-point numbers, of any shape.
        dim: the dimension along which the results sum to 1.
        dtype: what the input is converted to first.

    Raises:
        IndexError: there is no such dimension.
        NotImplementedError: the input is not of floating-point numbers.
    """
    return softmax_op(*_prepared(input, dim, dtype, "softmax"))


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, without its rounding: ``input - log(sum(exp(input)))``."""
    return log_softmax_op(*_prepared(input, dim, dtype, "log_softmax"))


public(softmax)
public(log_softmax)
