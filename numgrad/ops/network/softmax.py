"""Softmax and its logarithm."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.accumulation import Deferred
from ...core.layout import Layout, normal_dim
from ...core.types import to_dtype
from ...devices import Plan, TensorRef
from ..indexing.gathering import along
from ..memory.copying import convert
from ..pointwise.arithmetic import mul, neg, sub
from ..pointwise.exponential import exp
from ..reductions.sums import sum_dims
from ..table.checks import not_implemented
from ..table.lookup import lookup, operation
from ..table.planned import Planned


def _forward(p: Plan, input: TensorRef, dim: int, floor: float | None) -> TensorRef:
    if not input.type.dtype.is_floating_point:
        name = "log_softmax" if floor is None else "softmax"
        raise not_implemented(f"{name}{'_lastdim' if dim >= len(input.shape) - 1 else ''}_kernel_impl", input)
    out = p.backend.softmax_axis(p, p.contiguous(input), *along(input.shape, dim), floor)
    return p.tensor(out, input.type, input.shape)


def _backward(p: Plan, grad_output: TensorRef, output: TensorRef, dim: int, logarithm: bool) -> TensorRef:
    grad, out = p.contiguous(grad_output), p.contiguous(output)
    buffer = p.backend.softmax_backward_axis(p, grad, out, *along(output.shape, dim), logarithm)
    return p.tensor(buffer, output.type, output.shape)


@operation("SoftmaxBackward0", dims=["dim"])
def softmax_op(p: Plan, input: TensorRef, dim: int) -> TensorRef:
    return _forward(p, input, dim, -math.inf)


@softmax_op.gradient("input")
def _(grad, out, dim):
    return softmax_backward(grad, out, dim)


@operation(
    "SoftmaxBackwardDataBackward0", aten="_softmax_backward_data", inputs=["grad_output", "output"], dims=["dim"]
)
def softmax_backward(p: Plan, grad_output: TensorRef, output: TensorRef, dim: int) -> TensorRef:
    """``output * (grad_output - sum(grad_output * output))``."""
    return _backward(p, grad_output, output, dim, False)


@softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return softmax_backward(grad, output, dim)


@softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    inner = sum_dims(mul(grad_output, output), (dim,), True)
    outer = sum_dims(mul(grad, output), (dim,), True)
    return sub(mul(grad, sub(grad_output, inner)), mul(grad_output, outer))


@operation("LogSoftmaxBackward0", dims=["dim"])
def log_softmax_op(p: Plan, input: TensorRef, dim: int) -> TensorRef:
    return _forward(p, input, dim, None)


@log_softmax_op.gradient("input")
def _(grad, out, dim):
    """``log_softmax_backward(grad, out, dim)``."""
    return grad.pass_on(out, dim) if grad.__class__ is Deferred else log_softmax_backward(grad, out, dim)


@operation(
    "LogSoftmaxBackwardDataBackward0", aten="_log_softmax_backward_data", inputs=["grad_output", "output"], dims=["dim"]
)
def log_softmax_backward(p: Plan, grad_output: TensorRef, output: TensorRef, dim: int) -> TensorRef:
    """``grad_output - exp(output) * sum(grad_output)``."""
    return _backward(p, grad_output, output, dim, True)


@log_softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return sub(grad, sum_dims(mul(grad, exp(output)), (dim,), True))


@log_softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    return neg(mul(mul(grad, exp(output)), sum_dims(grad_output, (dim,), True)))


@operation("SafeSoftmaxBackward0", aten="_safe_softmax", dims=["dim"])
def safe_softmax(p: Plan, input: TensorRef, dim: int) -> TensorRef:
    """Add the steps of softmax along ``dim``, 0 where all elements are minus infinity: nothing to attend to."""
    return _forward(p, input, dim, 0.0)


@safe_softmax.gradient("input")
def _(grad, out, dim):
    return softmax_backward(grad, out, dim)


def _resolved(op: Planned, input: Layout, dim: int, dtype: Any) -> Any:
    dim = normal_dim(dim, len(input.shape))
    if dtype is None:
        return op, (dim,)
    chosen = to_dtype(dtype)
    return lambda tensor: op(convert(tensor, chosen), dim), ()


@lookup
def softmax(input: Layout, dim: int, dtype: Any = None) -> Any:
    """``exp(input)`` divided by its sum along ``dim``.

    Args:
        input: floating-point numbers, of any shape.
        dim: the dimension along which the results sum to 1.
        dtype: the dtype to convert the input to first.

    Raises:
        IndexError: ``dim`` is out of range.
        NotImplementedError: the input's dtype is not a floating-point one.

    Example:
        >>> import numgrad
        >>> numgrad.softmax(numgrad.tensor([1.0, 2.0, 3.0]), 0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    return _resolved(softmax_op, input, dim, dtype)


@lookup
def log_softmax(input: Layout, dim: int, dtype: Any = None) -> Any:
    """The logarithm of :func:`softmax`, computed stably: ``input - log(sum(exp(input)))``.

    Example:
        >>> import numgrad
        >>> numgrad.log_softmax(numgrad.tensor([1.0, 2.0, 3.0]), 0)
        tensor([-2.4076, -1.4076, -0.4076])
    """
    return _resolved(log_softmax_op, input, dim, dtype)
