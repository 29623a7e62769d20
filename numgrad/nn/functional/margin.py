"""Losses that leave off where a margin is kept."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...core.tensor import Tensor
from ...core.types import int64
from ...ops.batching.batches import is_batched, physical_of
from ...ops.creation.factories import zeros_like
from ...ops.memory.copying import row_of
from ...ops.network.loss_reduction import reduced, refuse_gradient
from ...ops.network.losses import soft_margin
from ...ops.pointwise.clamping import minimum
from ...ops.pointwise.comparison import where
from ...ops.pointwise.smooth_activation import logsigmoid
from ...ops.reductions.norms import pairwise_distance
from ...ops.shapes.broadcasting import broadcast_tensors
from ...ops.table.arguments import tensors_checked
from ...ops.table.op import check_tensors
from ...ops.table.operands import not_implemented
from .reduction import loss_function, reduction_of

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


@loss_function
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``, which here does not overflow for large negative scores.

    Args:
        input: scores, of any shape.
        target: 1 or -1 for each, of a shape that broadcasts to the input's; it has no gradient.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes do not fit, or the target requires a gradient.
    """
    refuse_gradient("soft_margin_loss", "target", target)
    pair = broadcast_tensors(input, target)
    if pair[0]._layout.shape != input._layout.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(pair[0].shape)}"
        )
    return soft_margin(*pair, reduction)


@loss_function
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """The distance ``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances, of any shape.
        target: 1 where the two are alike and -1 where they are not.
        margin: how far apart those should be.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.
    """
    check_tensors("hinge_embedding_loss", target=target)
    unlike = where(target != 1, (margin - input).clamp_min(0), 0.0)
    alike = where(target != -1, input, 0.0)
    return reduced(unlike + alike, reduction)


@loss_function
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        input1, input2: scores, of equally many dimensions.
        target: 1 where the first should be the larger and -1 where the second should.
        margin: by how much.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes do not fit.
    """
    if not len(input1._layout.shape) == len(input2._layout.shape) == len(target._layout.shape):
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@loss_function
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """With the cosine ``c`` of two vectors: ``1 - c`` where the target is 1, ``max(0, c - margin)`` where it is -1.

    Args:
        input1, input2: vectors, of shape (batch, size) or (size).
        target: 1 where the two are alike and -1 where they are not, of shape (batch) or ().
        margin: the cosine up to which vectors count as unlike.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes do not fit.
    """
    rank = len(target._layout.shape)
    if rank > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported (shape {list(target.shape)})")
    if not len(input1._layout.shape) == len(input2._layout.shape) == rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12  # keeps the divisor from 0
    squares = ((input1 * input1).sum(rank) + tiny) * ((input2 * input2).sum(rank) + tiny)
    cosine = (input1 * input2).sum(rank) / squares.sqrt()
    alike = where(target == 1, 1.0 - cosine, 0.0)
    unlike = where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduced(alike + unlike, reduction)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


@loss_function
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06,
    swap: bool = False, reduction: str = "mean"
) -> Tensor:
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)``, by :func:`pairwise_distance`.

    Args:
        anchor, positive, negative: vectors along the last dimension, of equally many dimensions.
        margin: how much farther the negative should be than the positive.
        p, eps: the order of the norm, and what is added to differences.
        swap: whether the positive's distance from the negative counts if that is less than the anchor's.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: the margin is not positive.
    """
    _check_margin(margin)
    ranks = [len(x._layout.shape) for x in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    distance = functools.partial(pairwise_distance, p=p, eps=eps)
    return _triplet(distance, anchor, positive, negative, margin, swap, reduction)


@tensors_checked
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with a distance of one's own; :func:`pairwise_distance` if none is given."""
    reduction = reduction_of(reduction)
    _check_margin(margin)
    return _triplet(distance_function or pairwise_distance, anchor, positive, negative, margin, swap, reduction)


def _triplet(
    distance: Callable[[Tensor, Tensor], Tensor],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced((near + margin - far).clamp_min(0), reduction)


@loss_function
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    reduction: str = "mean"
) -> Tensor:
    """``sum(max(0, margin - input[target] + input[j]) ** p) / classes * weight[target]``, j being all other classes.

    Args:
        input: scores, of shape (batch, classes) or (classes).
        target: int64 numbers of classes, of shape (batch) or ().
        p: 1 or 2.
        margin: by how much the target's score should be the largest.
        weight: of shape (classes); none stands for 1.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        ValueError: ``p`` is another number.
        RuntimeError: the shapes or dtypes do not fit, or there is no such class.
        NotImplementedError: the input is not of floating-point numbers.
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    batch, classes = _batch_of_scores(input)
    shape = input._layout.shape
    if target.dim() > 1 or target._layout.size != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{batch}], but got {list(target.shape)}. Input has shape {list(shape)}."
        )
    if weight is not None and weight._layout.shape != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    refuse_gradient("multi_margin_loss", "weight", weight)
    _check_dtypes("multi_margin_loss_cpu_kernel", input, target)
    rows, places = input.reshape(batch, classes), target.reshape(batch, 1)
    try:
        own = rows.gather(1, places)
    except (IndexError, RuntimeError) as error:
        raise RuntimeError(f"target out of range: {error}") from error
    short = margin - own + rows
    others = where((short > 0).scatter(1, places, False), short, 0.0)
    losses = (others if p == 1 else others * others).sum(1) / classes
    if weight is not None:
        losses = losses * weight[places.reshape(batch)]
    return reduced(losses.reshape(target._layout.shape) if len(shape) < 2 else losses, reduction)


def _batch_of_scores(input: Tensor) -> tuple[int, int]:
    """For how many examples the input has scores of classes, and of how many.

    Raises:
        RuntimeError: it is no matrix and no vector, or there are no classes.
    """
    shape, classes = input._layout.shape, (input._layout.shape or (1,))[-1]
    if len(shape) > 2 or classes == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    return shape[0] if len(shape) == 2 else 1, classes


def _check_dtypes(kernel: str, input: Tensor, target: Tensor) -> None:
    if not input.is_floating_point():
        raise not_implemented(kernel, input._layout)
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.legacy}")


@loss_function
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``sum(max(0, 1 - input[t] + input[j])) / classes``, over the targets t and all classes j that are none.

    Args:
        input: scores, of shape (batch, classes) or (classes).
        target: int64 numbers of classes, of the input's shape: those of an example end before the first -1.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or there is no such class.
        NotImplementedError: the input is not of floating-point numbers.
    """
    batch, classes = _batch_of_scores(input)
    shape = input._layout.shape
    if (target._layout.shape or (1,)) != (shape or (1,)):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(shape)}")
    _check_dtypes("multilabel_margin_loss_forward_out_frame", input, target)
    wrong = input._layout.type.backend.outside(row_of(physical_of(target)), -1, classes)
    if wrong is not None:
        raise RuntimeError(
            f"argument #2 'target' is out of range: {wrong} is neither one of {classes} classes nor -1 (shape "
            f"{list(target.shape)})"
        )
    rows, given = input.reshape(batch, classes), target.reshape(batch, classes)
    counted = (given < 0).cumsum(1) == 0
    if batch and not is_batched(target):  # as many columns as there are targets of an example, at most
        most = int(counted.sum(1).max())
        counted, given = counted[:, :most], given[:, :most]
    places = where(counted, given, 0)
    is_target = zeros_like(rows, dtype=int64).scatter_add(1, places, counted.long()) > 0
    short = 1 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1)
    counts = counted.unsqueeze(2) & ~is_target.unsqueeze(1) & (short > 0)
    losses = where(counts, short, 0.0).sum((1, 2)) / classes
    return reduced(losses if len(shape) == 2 else losses.reshape(()), reduction)


@loss_function
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor | float, weight: Tensor | float | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the classes of ``-target * log(sigmoid(input)) - (1 - target) * log(sigmoid(-input))``.

    Args:
        input: scores, of shape (..., classes).
        target: 1 for the classes that it is of and 0 for others, of a shape that broadcasts with the input's.
        weight: of each class; broadcasts.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's older way to give the reduction.

    Raises:
        RuntimeError: the shapes do not broadcast.
    """
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(input.dim() - 1) / input._layout.shape[-1], reduction)
