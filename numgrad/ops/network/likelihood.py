"""The negative log-likelihood of classes."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._layout import numel
from ..._tensor import Tensor, fresh
from ..copying import contiguous
from ..pointwise.arithmetic import div
from ..reductions.sums import sum_all
from ..shapes.views import expand
from ..table import operation

__all__ = ["count_targets", "nll_loss_2d_op", "nll_loss_op"]


def count_targets(input: Tensor, target: Tensor, weight: Tensor | None, ignored: int) -> float:
    """How many targets count, or the sum of their weights: what a mean is divided by.

    Raises:
        IndexError: a target is not in [0, classes).
    """
    classes = _classes(input._shape)[0]
    row = contiguous(target)._flat
    wrong, count = devices.examine_targets(row, classes, ignored)
    if wrong is not None:
        raise IndexError(
            f"Target {wrong} is out of bounds: input of shape {list(input._shape)} has {classes} classes."
        )
    if weight is None:
        return float(count)
    weights = devices.target_weights(contiguous(weight)._flat, row, ignored)
    return sum_all(fresh(weights, (weights.size,), weight._type)).item()


def _classes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of classes, and of elements from one class to the next: they are the second, or only, dimension."""
    return (shape[1], numel(shape[2:])) if len(shape) > 1 else (shape[0], 1)


def _row_of(weight: Tensor | None) -> Any:
    return None if weight is None else contiguous(weight)._flat


def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, count: float, reduction: str
) -> Tensor:
    rows = contiguous(input)._flat, *_classes(input._shape), contiguous(target)._flat, _row_of(weight)
    losses = fresh(devices.pick_negative(*rows, ignored), target._shape, input._type)
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else div(sum_all(losses), count)


def _nll_loss_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, shape: tuple[int, ...], ignored: int, count: float,
    reduction: str,
) -> Tensor:
    if target._shape != shape[:1] * (len(shape) > 1) + shape[2:]:
        raise RuntimeError(f"shape mismatch: targets of shape {list(target._shape)} for an input of {list(shape)}")
    each = expand(div(grad_output, count) if reduction == "mean" else grad_output, target._shape)
    rows = contiguous(each)._flat, *_classes(shape), contiguous(target)._flat, _row_of(weight)
    return fresh(devices.put_negative(*rows, ignored), shape, grad_output._type)


@operation("NllLossBackward0", inputs=["input", "target", "weight"], nondifferentiable=["target", "weight"])
def nll_loss_op(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, count: float, reduction: str
) -> Tensor:
    """``-weight[t] * input[n, t]`` for each row ``n`` and its target ``t``, 0 where that is ``ignored``."""
    return _nll_loss(input, target, weight, ignored, count, reduction)


@nll_loss_op.gradient("input")
def _(grad, target, weight, input_shape, ignored, count, reduction):
    return nll_loss_backward(grad, target, weight, input_shape, ignored, count, reduction)


@operation(
    "NllLossBackwardBackward0", inputs=["grad_output", "target", "weight"], nondifferentiable=["target", "weight"]
)
def nll_loss_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, shape: tuple[int, ...], ignored: int, count: float,
    reduction: str,
) -> Tensor:
    """Zeros of ``shape`` with ``-weight[t] * grad_output`` at each target ``t``."""
    return _nll_loss_backward(grad_output, target, weight, shape, ignored, count, reduction)


@nll_loss_backward.gradient("grad_output")
def _(grad, target, weight, ignored, count, reduction):
    return nll_loss_op(grad, target, weight, ignored, count, reduction)


@operation("NllLoss2DBackward0", inputs=["input", "target", "weight"], nondifferentiable=["target", "weight"])
def nll_loss_2d_op(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, count: float, reduction: str
) -> Tensor:
    """:func:`nll_loss_op` for each place of an image, of shape (batch, classes, height, width)."""
    return _nll_loss(input, target, weight, ignored, count, reduction)


@nll_loss_2d_op.gradient("input")
def _(grad, target, weight, input_shape, ignored, count, reduction):
    return nll_loss_2d_backward(grad, target, weight, input_shape, ignored, count, reduction)


@operation(
    "NllLoss2DBackwardBackward0", inputs=["grad_output", "target", "weight"], nondifferentiable=["target", "weight"]
)
def nll_loss_2d_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, shape: tuple[int, ...], ignored: int, count: float,
    reduction: str,
) -> Tensor:
    """The gradient of :func:`nll_loss_2d_op`."""
    return _nll_loss_backward(grad_output, target, weight, shape, ignored, count, reduction)


@nll_loss_2d_backward.gradient("grad_output")
def _(grad, target, weight, ignored, count, reduction):
    return nll_loss_2d_op(grad, target, weight, ignored, count, reduction)
