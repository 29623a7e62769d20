"""The negative log-likelihood of classes."""

from __future__ import annotations

from ... import devices
from ..._layout import numel
from ..._tensor import Tensor, fresh
from ...autograd.grad_mode import LEVELS, state
from ..batches import is_batched, physical_of
from ..copying import convert, row_of, row_or_none
from ..indexing.advanced import index_op
from ..indexing.gathering import gather_op
from ..pointwise.arithmetic import div, mul, neg
from ..pointwise.comparison import choose, eq, ne
from ..reductions.sums import sum_all
from ..shapes.views import reshape, squeeze_dim, unsqueeze
from ..table import operation

__all__ = ["nll_loss"]


def _classes(shape: tuple[int, ...]) -> tuple[int, int]:
    """The number of classes, and of elements from one class to the next: they are the second, or only, dimension."""
    return (shape[1], numel(shape[2:])) if len(shape) > 1 else (shape[0], 1)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """The loss, and the weights of the targets that count, added up.

    Raises:
        IndexError: a target is not in [0, classes).  On a GPU it is raised when the program next waits for that.
    """
    if state.mode & LEVELS and any(map(is_batched, (input, target, weight))):
        return _by_operations(input, target, weight, ignored, reduction)
    total_weight = fresh(devices.empty((), input._layout.type), (), input._layout.type)
    op = nll_loss_op if len(input._layout.shape) < 3 else nll_loss_2d_op
    return op(input, target, weight, total_weight, ignored, reduction), total_weight


def _by_operations(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """The same under ``vmap``: by operations that know what to do there."""
    shape = input._layout.shape
    dim = 1 if len(shape) > 1 else 0
    counted = ne(target, ignored)
    index = choose(counted, target, 0)
    wrong = devices.outside(row_of(physical_of(index)), 0, shape[dim])
    if wrong is not None:
        raise IndexError(
            f"Target {wrong} is out of bounds: input of shape {list(input.shape)} has {shape[dim]} classes."
        )
    weights = convert(counted, input.dtype)
    if weight is not None:
        weights = mul(weights, reshape(index_op(weight, reshape(index, (-1,)), (0,), False), target._layout.shape))
    picked = squeeze_dim(gather_op(input, unsqueeze(index, dim), dim), dim)
    losses, total_weight = neg(mul(picked, weights)), sum_all(weights)
    if reduction == "none":
        return losses, total_weight
    summed = sum_all(losses)
    if reduction != "mean":
        return summed, total_weight
    nothing = eq(total_weight, 0)  # the mean of nothing is NaN, its gradient 0
    return choose(nothing, float("nan"), div(summed, choose(nothing, 1, total_weight))), total_weight


def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    classes, inner = _classes(input._layout.shape)
    flat, wrong = devices.negative_likelihood(
        row_of(input), classes, inner, row_of(target), row_or_none(weight), ignored, reduction, row_of(total_weight)
    )
    if wrong is not None:
        raise IndexError(
            f"Target {wrong} is out of bounds: input of shape {list(input.shape)} has {classes} classes."
        )
    return fresh(flat, target._layout.shape if reduction == "none" else (), input._layout.type)


def _nll_loss_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, shape: tuple[int, ...],
    ignored: int, reduction: str,
) -> Tensor:
    if target._layout.shape != shape[:1] * (len(shape) > 1) + shape[2:]:
        raise RuntimeError(f"shape mismatch: targets of shape {list(target.shape)} for an input of {list(shape)}")
    divisor = row_of(total_weight) if reduction == "mean" else None
    flat = devices.put_negative(
        row_of(grad_output), *_classes(shape), row_of(target), row_or_none(weight), ignored, divisor
    )
    return fresh(flat, shape, grad_output._layout.type)


def _averaged(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    """The loss of ``input``, a mean being the sum by the ``total_weight`` given."""
    if reduction != "mean":
        return nll_loss(input, target, weight, ignored, reduction)[0]
    return div(nll_loss(input, target, weight, ignored, "sum")[0], total_weight)


@operation("NllLossBackward0", inputs=["input", "target", "weight"], nondifferentiable=["target", "weight"])
def nll_loss_op(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    """``-weight[t] * input[n, t]`` for each row ``n`` and its target ``t``, 0 where that is ``ignored``.

    ``total_weight`` is filled with the weights of the targets that count, added up.
    """
    return _nll_loss(input, target, weight, total_weight, ignored, reduction)


@nll_loss_op.gradient("input")
def _(grad, target, weight, total_weight, input_shape, ignored, reduction):
    return nll_loss_backward(grad, target, weight, total_weight, input_shape, ignored, reduction)


@operation(
    "NllLossBackwardBackward0", inputs=["grad_output", "target", "weight", "total_weight"],
    nondifferentiable=["target", "weight", "total_weight"],
)
def nll_loss_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, shape: tuple[int, ...],
    ignored: int, reduction: str,
) -> Tensor:
    """Zeros of ``shape`` with ``-weight[t] * grad_output`` at each target ``t``, by ``total_weight`` for a mean."""
    return _nll_loss_backward(grad_output, target, weight, total_weight, shape, ignored, reduction)


@nll_loss_backward.gradient("grad_output")
def _(grad, target, weight, total_weight, ignored, reduction):
    """``-grad[target] * weight[target]``, over the total weight for a mean."""
    return _averaged(grad, target, weight, total_weight, ignored, reduction)


@operation("NllLoss2DBackward0", inputs=["input", "target", "weight"], nondifferentiable=["target", "weight"])
def nll_loss_2d_op(
    input: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, ignored: int, reduction: str
) -> Tensor:
    """:func:`nll_loss_op` for each place of an image, of shape (batch, classes, height, width)."""
    return _nll_loss(input, target, weight, total_weight, ignored, reduction)


@nll_loss_2d_op.gradient("input")
def _(grad, target, weight, total_weight, input_shape, ignored, reduction):
    return nll_loss_2d_backward(grad, target, weight, total_weight, input_shape, ignored, reduction)


@operation(
    "NllLoss2DBackwardBackward0", inputs=["grad_output", "target", "weight", "total_weight"],
    nondifferentiable=["target", "weight", "total_weight"],
)
def nll_loss_2d_backward(
    grad_output: Tensor, target: Tensor, weight: Tensor | None, total_weight: Tensor, shape: tuple[int, ...],
    ignored: int, reduction: str,
) -> Tensor:
    """The gradient of :func:`nll_loss_2d_op`."""
    return _nll_loss_backward(grad_output, target, weight, total_weight, shape, ignored, reduction)


@nll_loss_2d_backward.gradient("grad_output")
def _(grad, target, weight, total_weight, ignored, reduction):
    """``-grad[target] * weight[target]``, over the total weight for a mean."""
    return _averaged(grad, target, weight, total_weight, ignored, reduction)
