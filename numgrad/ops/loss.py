"""Softmax and the losses built on it; the logistic loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import devices
from .._layout import normal_dim, numel
from .._tensor import Tensor, fresh
from .._types import int64, to_dtype
from .copying import contiguous, convert
from .elementwise import pointwise
from .pointwise import div, exp, log_one_plus_exp, mul, neg, sigmoid, sub
from .reduction import mean_all, sum_all, sum_dims
from .shape import expand, permute_op, reshape, transpose_op, unsqueeze
from .table import operation, public

__all__ = [
    "binary_cross_entropy_with_logits", "cross_entropy", "log_softmax", "nll_loss", "softmax",
]

# -- softmax ----------------------------------------------------------------------------------------------------


def _over_rows(kernel: Callable[..., Any], logarithm: bool, dim: int, *tensors: Tensor) -> Tensor:
    """Run a kernel of rows over any dimension: it is brought to the end, and back."""
    shape = tensors[0]._shape
    last = len(shape) - 1
    if last > 0 and dim != last:
        moved = [transpose_op(tensor, dim, last) for tensor in tensors]
        result = contiguous(transpose_op(_over_rows(kernel, logarithm, last, *moved), dim, last))
        return fresh(result._flat, shape, result._type)
    rows = [contiguous(tensor)._flat for tensor in tensors]
    return fresh(kernel(*rows, shape[dim] if shape else 1, logarithm), shape, tensors[0]._type)


@operation("SoftmaxBackward0")
def softmax_op(input: Tensor, dim: int) -> Tensor:
    return _over_rows(devices.softmax_rows, False, dim, input)


@softmax_op.gradient("input")
def _(grad, out, dim):
    return softmax_backward(grad, out, dim)


@operation("SoftmaxBackwardDataBackward0", inputs=["grad_output", "output"])
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """``output * (grad_output - sum(grad_output * output))``."""
    return _over_rows(devices.softmax_backward_rows, False, dim, grad_output, output)


@softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return softmax_backward(grad, output, dim)


@softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    inner = sum_dims(mul(grad_output, output), (dim,), True)
    outer = sum_dims(mul(grad, output), (dim,), True)
    return sub(mul(grad, sub(grad_output, inner)), mul(grad_output, outer))


@operation("LogSoftmaxBackward0")
def log_softmax_op(input: Tensor, dim: int) -> Tensor:
    return _over_rows(devices.softmax_rows, True, dim, input)


@log_softmax_op.gradient("input")
def _(grad, out, dim):
    return log_softmax_backward(grad, out, dim)


@operation("LogSoftmaxBackwardDataBackward0", inputs=["grad_output", "output"])
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """``grad_output - exp(output) * sum(grad_output)``."""
    return _over_rows(devices.softmax_backward_rows, True, dim, grad_output, output)


@log_softmax_backward.gradient("grad_output")
def _(grad, output, dim):
    return sub(grad, sum_dims(mul(grad, exp(output)), (dim,), True))


@log_softmax_backward.gradient("output")
def _(grad, grad_output, output, dim):
    return neg(mul(mul(grad, exp(output)), sum_dims(grad_output, (dim,), True)))


def _softmax_input(input: Tensor, dtype: Any, name: str) -> Tensor:
    if dtype is not None:
        input = convert(input, to_dtype(dtype))
    if not input.is_floating_point():
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy}' (shape {list(input._shape)})")
    return input


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``."""
    input = _softmax_input(input, dtype, "softmax_lastdim_kernel_impl")
    return softmax_op(input, normal_dim(dim, len(input._shape)))


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of :func:`softmax`, without its rounding."""
    input = _softmax_input(input, dtype, "log_softmax_lastdim_kernel_impl")
    return log_softmax_op(input, normal_dim(dim, len(input._shape)))


# -- classification ---------------------------------------------------------------------------------------------


@operation("PickBackward0", inputs=["input", "target"], nondifferentiable=["target"])
def pick(input: Tensor, target: Tensor, ignored: int) -> Tensor:
    """``-input[row, target[row]]`` for each row, 0 where the target is ``ignored``."""
    rows = contiguous(input)._flat
    picked = devices.pick_rows(rows, input._shape[1], contiguous(target)._flat, ignored)
    return fresh(picked, target._shape, input._type)


@pick.gradient("input")
def _(grad, target, input_shape, ignored):
    return put(grad, target, input_shape[1], ignored)


@operation("PutBackward0", inputs=["input", "target"], nondifferentiable=["target"])
def put(input: Tensor, target: Tensor, classes: int, ignored: int) -> Tensor:
    """Rows of zeros with ``-input[row]`` at ``target[row]``, unless that is ``ignored``."""
    rows = devices.put_rows(contiguous(input)._flat, classes, contiguous(target)._flat, ignored)
    return fresh(rows, (*target._shape, classes), input._type)


@put.gradient("input")
def _(grad, target, ignored):
    return pick(grad, target, ignored)


@operation("NllLossBackward0", inputs=["input", "target"], nondifferentiable=["target"])
def nll_loss_op(input: Tensor, target: Tensor, ignored: int, count: float, reduction: str) -> Tensor:
    losses = pick(input, target, ignored)
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else div(sum_all(losses), count)


@nll_loss_op.gradient("input")
def _(grad, target, input_shape, ignored, count, reduction):
    each = div(grad, count) if reduction == "mean" else grad
    return put(expand(each, target._shape), target, input_shape[1], ignored)


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _check_targets(input: Tensor, target: Tensor, classes: int, ignored: int) -> int:
    """The number of targets that count.

    Raises:
        IndexError: a target is no class.
    """
    values = target._array()
    counted = values != ignored
    wrong = values[counted & ((values < 0) | (values >= classes))]
    if wrong.size:
        raise IndexError(
            f"Target {wrong.flat[0]} is out of bounds: input of shape {list(input._shape)} has {classes} classes."
        )
    return int(counted.sum())


def nll_loss(input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of the target class.

    Args:
        input: log-probabilities, of shape (classes), (batch, classes) or (batch, classes, ...).
        target: int64 class indices, of the input's shape without its class dimension.
        ignore_index: a target that does not count.
        reduction: "mean" over the targets that count, "sum" or "none".

    Raises:
        IndexError: a target is not in [0, classes).
        RuntimeError, ValueError: the shapes or dtypes do not fit.
    """
    _check_reduction(reduction)
    if target.dtype is not int64:
        raise RuntimeError(f"expected target dtype to be torch.int64 (class indices) but got {target.dtype}")
    if not input._shape or input._shape[:1] * (len(input._shape) > 1) + input._shape[2:] != target._shape:
        raise ValueError(
            f"Expected target of shape {list(input._shape[:1] * (len(input._shape) > 1) + input._shape[2:])} for input "
            f"of shape {list(input._shape)}, but got {list(target._shape)}"
        )
    shape = target._shape
    if len(input._shape) == 1:
        input, target = unsqueeze(input, 0), unsqueeze(target, 0)
    classes = input._shape[1]
    if len(input._shape) > 2:
        order = (0, *range(2, len(input._shape)), 1)
        input, target = reshape(permute_op(input, order), -1, classes), reshape(target, -1)
    count = _check_targets(input, target, classes, ignore_index)
    loss = nll_loss_op(input, target, ignore_index, float(count), reduction)
    return reshape(loss, shape) if reduction == "none" and loss._shape != shape else loss


def cross_entropy(input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Minus the logarithm of the softmax of ``input`` at the target class.

    Args:
        input: scores, of shape (classes), (batch, classes) or (batch, classes, ...).
        target: int64 class indices, of the input's shape without its class dimension; or probabilities of the
            classes, of the input's own shape and a floating-point dtype.
        ignore_index: an index that does not count.
        reduction: "mean" over the targets that count, "sum" or "none".

    Raises:
        IndexError: a target is not in [0, classes).
        RuntimeError, ValueError: the shapes or dtypes do not fit.
    """
    _check_reduction(reduction)
    dim = min(1, len(input._shape) - 1)
    if target._shape == input._shape and target.is_floating_point():
        losses = neg(sum_dims(mul(log_softmax(input, dim), target), (dim,), False))
        if reduction == "none":
            return losses
        total = sum_all(losses)
        return total if reduction == "sum" else div(total, float(numel(losses._shape)))
    return nll_loss(log_softmax(input, dim), target, ignore_index=ignore_index, reduction=reduction)


# -- the logistic loss ------------------------------------------------------------------------------------------


@pointwise("LogitLossBackward0", export=False, inplace=False)
def logit_loss(input, target, positive):
    """``-(positive * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input)))``."""
    weight = 1 + (positive - 1) * target
    return (1 - target) * input + weight * log_one_plus_exp(-input)


@logit_loss.gradient("input")
def _(grad, input, target, positive):
    return logit_loss_gradient(grad, input, target, positive)


@logit_loss.gradient("target")
def _(grad, input, positive):
    return grad * ((positive - 1) * log_one_plus_exp(-input) - input)


@logit_loss.gradient("positive")
def _(grad, input, target):
    return grad * (target * log_one_plus_exp(-input))


@operation(
    "BinaryCrossEntropyWithLogitsBackward0",
    inputs=["input", "target", "weight", "pos_weight"],
    nondifferentiable=["weight", "pos_weight"],
)
def bce_with_logits_op(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str
) -> Tensor:
    losses = logit_loss(input, target, 1.0 if pos_weight is None else pos_weight)
    if weight is not None:
        losses = mul(losses, weight)
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else mean_all(losses)


def _bce_each(grad: Tensor, shape: tuple[int, ...], weight: Tensor | None, reduction: str) -> Tensor:
    """The gradient of each element's loss."""
    each = div(grad, float(numel(shape))) if reduction == "mean" else grad
    each = expand(each, shape)
    return each if weight is None else mul(each, weight)


@bce_with_logits_op.gradient("input")
def _(grad, input, target, weight, pos_weight, reduction):
    each = _bce_each(grad, input._shape, weight, reduction)
    return logit_loss_gradient(each, input, target, 1.0 if pos_weight is None else pos_weight)


@bce_with_logits_op.gradient("target")
def _(grad, input, weight, pos_weight, reduction):
    each = _bce_each(grad, input._shape, weight, reduction)
    if pos_weight is None:
        return neg(mul(each, input))
    return mul(each, sub(mul(sub(pos_weight, 1), log_one_plus_exp(neg(input))), input))


@pointwise("LogitLossGradientBackward0", export=False, inplace=False)
def logit_loss_gradient(grad_output, input, target, positive):
    """The gradient of :func:`logit_loss` for its input."""
    return grad_output * ((1 - target) - (1 + (positive - 1) * target) * sigmoid(-input))


@logit_loss_gradient.gradient("grad_output")
def _(grad, input, target, positive):
    return logit_loss_gradient(grad, input, target, positive)


@logit_loss_gradient.gradient("input")
def _(grad, grad_output, input, target, positive):
    return grad * grad_output * ((1 + (positive - 1) * target) * sigmoid(input) * sigmoid(-input))


@logit_loss_gradient.gradient("target")
def _(grad, grad_output, input, positive):
    return grad * grad_output * (-1 - (positive - 1) * sigmoid(-input))


@logit_loss_gradient.gradient("positive")
def _(grad, grad_output, input, target):
    return -grad * grad_output * (target * sigmoid(-input))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross-entropy between ``target`` (of the input's shape, in [0, 1]) and ``sigmoid(input)``.

    ``weight`` multiplies each element's loss and ``pos_weight`` the part of the positive class; both broadcast.

    Raises:
        ValueError: the shapes of input and target differ, or the reduction is not "mean", "sum" or "none".
    """
    _check_reduction(reduction)
    if target._shape != input._shape:
        raise ValueError(
            f"Target size (torch.Size({list(target._shape)})) must be the same as input size "
            f"(torch.Size({list(input._shape)}))"
        )
    return bce_with_logits_op(input, target, weight, pos_weight, reduction)


public(softmax)
public(log_softmax)
