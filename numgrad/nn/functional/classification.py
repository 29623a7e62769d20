"""Losses of classification, which measure how improbable the model makes the right classes."""

from __future__ import annotations

import functools
import math
import warnings

from ...autograd.grad_mode import ORDINARY, state
from ...core.layout import Layout, broadcast_shapes, numel, outgrown
from ...core.types import int64, uint8
from ...ops.memory.copying import convert
from ...ops.network import losses as ops
from ...ops.network.loss_reduction import reduced, refuse_gradient
from ...ops.network.losses import bce, logit_loss
from ...ops.network.softmax import log_softmax, log_softmax_op
from ...ops.pointwise.arithmetic import add, div, mul, neg, sub
from ...ops.pointwise.comparison import eq
from ...ops.pointwise.exponential import exp
from ...ops.pointwise.special import xlogy
from ...ops.reductions.sums import sum_all, sum_dims
from ...ops.shapes.broadcasting import expand
from ...ops.shapes.views import reshape
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_supported, check_value
from ...ops.table.dispatch import perform
from ...ops.table.entries import Entries
from ...ops.table.out import not_cast
from ...tensors.tensor import Tensor, check_one_device
from .reduction import loss_function, reduction_of

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div", "nll_loss"]


@tensors_checked
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood ``-weight[t] * input[t]`` of the target classes ``t``.

    Args:
        input: log-probabilities, of shape (classes), (batch, classes) or (batch, classes, ...).
        target: int64 or uint8 classes, of the input's shape without its second (or only) dimension.
        weight: the weight of each class; None stands for 1.
        ignore_index: a target that is ignored.
        reduction: "mean", the sum divided by the total weight of the targets that are not ignored; "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        IndexError: a target is not in [0, classes).
        RuntimeError, ValueError: the shapes or dtypes do not fit.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.nll_loss(numgrad.tensor([[-0.5, -1.0]]), numgrad.tensor([1]))
        tensor(1.)
    """
    if weight is None and size_average is None and reduce is None:
        entry = _plain.recent.get((input._layout, target._layout, ignore_index, reduction))
        if entry is not None and state.mode <= ORDINARY:
            return ops.nll_loss_of(input, target, entry)
    reduction = reduction_of(reduction, size_average, reduce)
    return _nll_loss(input, target, weight, ignore_index, reduction)[0]


#: Resolved losses without weights for matrices and targets of certain layouts, and cross-entropies, with the logarithm
#: of the softmax before them.
_plain, _plain_of_scores = Entries(), Entries()


def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """Return the loss, and the sum of the weights of the targets that are not ignored."""
    shapes = _nll_shapes(input._layout, target._layout, None if weight is None else weight._layout)
    if weight is not None:
        refuse_gradient("nll_loss_forward", "weight", weight)
    if target._layout.type.dtype is not int64:
        target = convert(target, int64)
    if shapes is None:
        if weight is None and state.mode <= ORDINARY and len(input._layout.shape) == 2:
            entry = ops.nll_loss_entry(input, target, ignored, reduction)
            _plain.add((input._layout, target._layout, ignored, reduction), entry)
            return perform(entry, (input, target, None))
        return ops.nll_loss(input, target, weight, ignored, reduction)
    shape = target._layout.shape if len(input._layout.shape) > 1 else ()
    if shapes[0] != input._layout.shape:
        input = reshape(input, shapes[0])
    loss, count = ops.nll_loss(input, reshape(target, shapes[1]), weight, ignored, reduction)
    return reshape(loss, shape) if reduction == "none" and loss._layout.shape != shape else loss, count


@functools.lru_cache(maxsize=4096)
def _nll_shapes(
    input: Layout, target: Layout, weight: Layout | None
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the shapes to which to reshape input and target, None for no change; raise unless they fit together."""
    shape, labels, dtype = input.shape, target.shape, input.type.dtype
    check_value(shape, "Expected 1 or more dimensions (got {})", len(shape))
    if len(shape) > 1 and shape[0] != (labels[0] if labels else 0):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({labels[0] if labels else 0}): input "
            f"of shape {list(shape)}, target of shape {list(labels)}."
        )
    check(
        target.type.dtype in (int64, uint8),
        "expected target dtype to be Long or Byte, but got {}", target.type.dtype.legacy, labels,
    )
    if len(shape) == 1:
        if numel(labels) != 1 or len(labels) > 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {list(labels)}")
    elif labels != shape[:1] + shape[2:]:
        raise RuntimeError(
            f"Expected target size {list(shape[:1] + shape[2:])}, got {list(labels)} (input of shape {list(shape)})"
        )
    check_supported(input, "f", "nll_loss_out_frame")
    classes = shape[min(1, len(shape) - 1)]
    _check_weight(weight, classes, "")
    if weight is not None and weight.type is not input.type:
        check_one_device(input, weight)
        raise RuntimeError(f"expected scalar type {dtype.legacy} but found {weight.type.dtype.legacy}")
    if len(shape) == 1:
        return (shape, ()) if labels else None
    if len(shape) in (2, 4):
        return None
    rest = numel(shape[2:])
    return (shape[0], classes, 1, rest), (shape[0], 1, rest)


def _check_weight(weight: Layout | None, classes: int, name: str) -> None:
    check(
        weight is None or weight.shape == (classes,),
        "{}weight tensor should be defined either for all {} classes or no classes but got weight tensor of shape: {}",
        name, classes, weight,
    )


@tensors_checked
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return minus the logarithm of the softmax of ``input`` at the target class, or averaged over target
    probabilities.

    Args:
        input: scores, of shape (classes), (batch, classes) or (batch, classes, ...).
        target: int64 or uint8 classes, of the input's shape without its second (or only) dimension; or
            probabilities of the classes, of the input's own shape and a floating-point dtype.
        weight: the weight of each class; None stands for 1.
        ignore_index: a class that is ignored.
        reduction: "mean", "sum" or "none".  The mean is over the weights of the classes that are not ignored or, with
            probabilities, over the batch (and further dimensions).
        label_smoothing: the part of each target, in [0, 1], that is spread evenly over all classes.
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        IndexError: a target is not in [0, classes).
        RuntimeError, ValueError: the shapes or dtypes do not fit.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.cross_entropy(numgrad.tensor([[2.0, 0.0], [0.0, 3.0]]), numgrad.tensor([0, 1]))
        tensor(0.0878)
    """
    key = None
    if weight is None and label_smoothing == 0.0 and size_average is None and reduce is None:
        key = input._layout, target._layout, ignore_index, reduction
        entries = _plain_of_scores.recent.get(key)
        if entries is not None and state.mode <= ORDINARY:
            return ops.nll_loss_of(perform(entries[0], (input,)), target, entries[1])
    reduction = reduction_of(reduction, size_average, reduce)
    shape = input._layout.shape
    dim = min(1, len(shape) - 1)
    classes = shape[dim] if shape else 1
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if target._layout.shape == shape:
        if not target.is_floating_point():
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.legacy} "
                f"(shape {list(target.shape)})"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        _check_weight(None if weight is None else weight._layout, classes, "cross_entropy: ")
        return _expected_loss(log_softmax(input, dim), target, weight, reduction, label_smoothing, dim)
    logs = log_softmax(input, dim)
    loss, count = _nll_loss(logs, target, weight, ignore_index, reduction)
    entry = _plain.recent.get((logs._layout, target._layout, ignore_index, reduction))
    if key is not None and entry is not None:
        _plain_of_scores.add(key, (log_softmax_op.entry((input, dim))[0], entry))
    if label_smoothing == 0.0:
        return loss
    wide = convert(logs, input.dtype.compute)
    even = _even_loss(wide, target, weight, ignore_index, reduction, dim, count)
    smoothed = add(mul(loss, 1 - label_smoothing), mul(even, _share(label_smoothing, classes)))
    return convert(smoothed, input.dtype)


def _share(smoothing: float, classes: int) -> float:
    """Return each class's share of the evenly spread part."""
    return smoothing / classes if classes else math.inf


def _along(weight: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """Return the weights of the classes, reshaped to broadcast along ``dim`` of this shape."""
    return reshape(weight, *[-1 if d == dim else 1 for d in range(len(shape))])


def _even_loss(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str, dim: int, count: Tensor
) -> Tensor:
    """Return the loss for a uniform target, summed over the classes; a mean is the sum divided by ``count``."""
    weighted = logs if weight is None else mul(logs, _along(weight, logs._layout.shape, dim))
    skipped = eq(reshape(target, weighted._layout.shape[:dim] + weighted._layout.shape[dim + 1 :]), ignored)
    losses = neg(sum_dims(weighted, (dim,), False)).masked_fill(skipped, 0.0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return sum_all(losses)
    return div(sum_all(losses), count)


def _expected_loss(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, dim: int
) -> Tensor:
    """Return the loss averaged over target probabilities."""
    layout = logs._layout
    if smoothing > 0.0:
        target = add(mul(target, 1 - smoothing), _share(smoothing, layout.shape[dim]))
    terms = mul(logs, target)
    if weight is not None:
        terms = mul(terms, _along(weight, layout.shape, dim))
    if reduction == "none":
        return neg(sum_dims(terms, (dim,), False))
    total, classes = neg(sum_all(terms)), layout.shape[dim]
    return total if reduction == "sum" else div(total, layout.size / classes if classes else math.nan)


def _check_same_size(input: Tensor, target: Tensor, message: str) -> None:
    if target._layout.shape != input._layout.shape:
        raise ValueError(message.format(target=target.shape, input=input.shape))


@loss_function
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Return ``-weight * (target * log(input) + (1 - target) * log(1 - input))``, with logarithms of at least -100.

    Args:
        input: probabilities, of any shape.
        target: probabilities of the input's shape and dtype.
        weight: the weight of each element's loss; its shape broadcasts to the input's.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        ValueError: the shapes differ.
        RuntimeError: the dtypes differ, or an element is not in [0, 1], which a GPU reports when a value is next read.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.binary_cross_entropy(numgrad.tensor([0.5]), numgrad.tensor([1.0]))
        tensor(0.6931)
    """
    _check_same_size(
        input, target, "Using a target size ({target}) that is different to the input size ({input}) is deprecated. "
        "Please ensure they have the same size.",
    )
    refuse_gradient("binary_cross_entropy", "weight", weight)
    for other in (target, weight):
        if other is not None and other._layout.type is not input._layout.type:
            check_one_device(input, other)
            raise RuntimeError(
                f"Found dtype {other.dtype.legacy} but expected {input.dtype.legacy} (shapes {list(other.shape)}, "
                f"{list(input.shape)})"
            )
    check_supported(input._layout, "f", "binary_cross_entropy")
    return bce(input, target, weight if weight is None else expand(weight, input._layout.shape), reduction)


@loss_function
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean",
    pos_weight: Tensor | None = None
) -> Tensor:
    """Return :func:`binary_cross_entropy` of ``sigmoid(input)``, without its rounding errors.

    Args:
        input: scores, of any shape.
        target: probabilities of the input's shape.
        weight: the weight of each element's loss; broadcasts.
        reduction: "mean", "sum" or "none".
        pos_weight: the weight of the ``target`` term relative to the ``1 - target`` term; broadcasts.
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        ValueError: the shapes of input and target differ.
        RuntimeError: a weight does not broadcast to the input's shape.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.binary_cross_entropy_with_logits(numgrad.tensor([2.0, -2.0]), numgrad.tensor([1.0, 0.0]))
        tensor(0.1269)
    """
    _check_same_size(input, target, "Target size ({target}) must be the same as input size ({input})")
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    check_supported(input._layout, "f", "log_sigmoid_cpu")
    if not target.is_floating_point():
        raise not_cast(input.dtype, target.dtype)
    for factor in (weight, pos_weight):
        if factor is not None:
            shape, wide = input._layout.shape, broadcast_shapes(input._layout.shape, factor._layout.shape)
            if wide != shape:
                raise outgrown(shape, wide)
    return logit_loss(input, target, weight, pos_weight, reduction)


@tensors_checked
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence, with the terms ``target * (log(target) - input)``.

    Args:
        input: log-probabilities.
        target: probabilities, or their logarithms with ``log_target``, of a shape that broadcasts.
        reduction: "mean" over all terms, which is not the mean divergence; "batchmean", the sum of the terms divided by
            the first dimension, which is; "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the dtypes are not floating-point, or the shapes do not broadcast.
        ValueError: the reduction is invalid.

    Example:
        >>> import numgrad
        >>> uniform = numgrad.full((1, 2), 0.5)
        >>> numgrad.nn.functional.kl_div(uniform.log(), numgrad.tensor([[0.25, 0.75]]), reduction="batchmean")
        tensor(0.1308)
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=3,
            )
        reduction_of("sum" if reduction == "batchmean" else reduction)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError(
            f"kl_div: Integral inputs not supported. (dtypes {input.dtype}, {target.dtype}; shapes "
            f"{list(input.shape)}, {list(target.shape)})"
        )
    terms = mul(exp(target), sub(target, input)) if log_target else sub(xlogy(target, target), mul(target, input))
    if reduction == "batchmean" and input._layout.shape:
        return div(sum_all(terms), input._layout.shape[0])
    return reduced(terms, "mean" if reduction == "batchmean" else reduction)
