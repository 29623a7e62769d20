"""Losses that vanish once a margin is reached."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...core.types import int64
from ...ops.batching.batches import is_batched, physical_of
from ...ops.creation.factories import zeros_like
from ...ops.memory.copying import buffer_of
from ...ops.network.loss_reduction import reduced, refuse_gradient
from ...ops.network.losses import soft_margin
from ...ops.pointwise.clamping import minimum
from ...ops.pointwise.comparison import where
from ...ops.pointwise.smooth_activation import logsigmoid
from ...ops.reductions.norms import pairwise_distance
from ...ops.shapes.broadcasting import broadcast_tensors
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_supported, check_value
from ...ops.table.op import check_tensors
from ...tensors.tensor import Tensor
from .reduction import loss_function, reduction_of

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


@loss_function
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return ``log(1 + exp(-target * input))``, computed without overflow for large negative scores.

    Args:
        input: scores, of any shape.
        target: 1 or -1 for each, of a shape that broadcasts to the input's; it has no gradient.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes do not fit, or the target requires a gradient.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.soft_margin_loss(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(0.3005)
    """
    refuse_gradient("soft_margin_loss", "target", target)
    pair = broadcast_tensors(input, target)
    check(
        pair[0]._layout.shape == input._layout.shape,
        "output with shape {} doesn't match the broadcast shape {}", input, pair[0],
    )
    return soft_margin(*pair, reduction)


@loss_function
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Return the distance ``input`` where the target is 1, and ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances, of any shape.
        target: 1 for similar pairs and -1 for dissimilar ones.
        margin: the minimum distance of dissimilar pairs.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.hinge_embedding_loss(numgrad.tensor([0.5, 2.0]), numgrad.tensor([1.0, 1.0]))
        tensor(1.2500)
    """
    check_tensors("hinge_embedding_loss", target=target)
    unlike = where(target != 1, (margin - input).clamp_min(0), 0.0)
    alike = where(target != -1, input, 0.0)
    return reduced(unlike + alike, reduction)


@loss_function
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, reduction: str = "mean"
) -> Tensor:
    """Return ``max(0, -target * (input1 - input2) + margin)``.

    Args:
        input1, input2: scores, with the same number of dimensions.
        target: 1 where the first should be larger, -1 where the second should be.
        margin: the difference that the scores should have.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import numgrad
        >>> x, y = numgrad.tensor([1.0]), numgrad.tensor([2.0])
        >>> numgrad.nn.functional.margin_ranking_loss(x, y, numgrad.tensor([1.0]), margin=0.5)
        tensor(1.5000)
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
    """Return ``1 - c`` where the target is 1 and ``max(0, c - margin)`` where it is -1, for the cosine ``c`` of two
    vectors.

    Args:
        input1, input2: vectors, of shape (batch, size) or (size).
        target: 1 for similar and -1 for dissimilar pairs, of shape (batch) or ().
        margin: the cosine up to which vectors count as dissimilar.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import numgrad
        >>> x, y = numgrad.tensor([[1.0, 0.0]]), numgrad.tensor([[0.0, 1.0]])
        >>> numgrad.nn.functional.cosine_embedding_loss(x, y, numgrad.tensor([1.0]))
        tensor(1.)
    """
    rank = len(target._layout.shape)
    check(rank <= 1, "0D or 1D target tensor expected, multi-target not supported", target)
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
    """Return ``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)``, by
    :func:`pairwise_distance`.

    Args:
        anchor, positive, negative: vectors along the last dimension, with the same number of dimensions.
        margin: the difference between the distances of the negative and of the positive.
        p, eps: the order of the norm, and the number added to differences.
        swap: True to use the distance from positive to negative if it is less than that from anchor to negative.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: the margin is not positive.

    Example:
        >>> import numgrad
        >>> anchor, positive, negative = numgrad.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).split(1)
        >>> numgrad.nn.functional.triplet_margin_loss(anchor, positive, negative, margin=6.0)
        tensor(1.0000)
    """
    _check_margin(margin)
    ranks = [len(x._layout.shape) for x in (anchor, positive, negative)]
    check(
        len(set(ranks)) <= 1,
        "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
        "anchor {}D, positive {}D, and negative {}D inputs", ranks[0], ranks[1], ranks[2],
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
    """Return :func:`triplet_margin_loss` with a custom distance; :func:`pairwise_distance` by default."""
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
    """Return ``sum(max(0, margin - input[target] + input[j]) ** p) / classes * weight[target]`` over all other classes
    j.

    Args:
        input: scores, of shape (batch, classes) or (classes).
        target: int64 class indices, of shape (batch) or ().
        p: 1 or 2.
        margin: the amount by which the target's score should exceed the others.
        weight: of shape (classes); None stands for 1.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        ValueError: ``p`` is neither 1 nor 2.
        RuntimeError: the shapes or dtypes do not fit, or a target is not a class.
        NotImplementedError: the input is not floating-point.
    """
    check_value(p in (1, 2), "only p == 1 and p == 2 supported")
    batch, classes = _batch_of_scores(input)
    shape = input._layout.shape
    check(
        target.dim() <= 1 and target._layout.size == batch,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
        "Expected target size [{}], but got {}. Input has shape {}.", batch, target, shape,
    )
    if weight is not None and weight._layout.shape != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    refuse_gradient("multi_margin_loss", "weight", weight)
    _check_dtypes("multi_margin_loss_cpu_kernel", input, target)
    rows, targets = input.reshape(batch, classes), target.reshape(batch, 1)
    try:
        scores = rows.gather(1, targets)
    except (IndexError, RuntimeError) as error:
        raise RuntimeError(f"target out of range: {error}") from error
    short = margin - scores + rows
    others = where((short > 0).scatter(1, targets, False), short, 0.0)
    losses = (others if p == 1 else others * others).sum(1) / classes
    if weight is not None:
        losses = losses * weight[targets.reshape(batch)]
    return reduced(losses.reshape(target._layout.shape) if len(shape) < 2 else losses, reduction)


def _batch_of_scores(input: Tensor) -> tuple[int, int]:
    """Return the number of examples and the number of classes of the input.

    Raises:
        RuntimeError: the input is neither a matrix nor a vector, or there are no classes.
    """
    shape, classes = input._layout.shape, (input._layout.shape or (1,))[-1]
    check(
        len(shape) <= 2 and classes != 0,
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {}", shape,
    )
    return shape[0] if len(shape) == 2 else 1, classes


def _check_dtypes(kernel: str, input: Tensor, target: Tensor) -> None:
    check_supported(input._layout, "f", kernel)
    check(target.dtype is int64, "expected scalar type Long but found {}", target.dtype.legacy)


@loss_function
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return ``sum(max(0, 1 - input[t] + input[j])) / classes``, over the targets t and all classes j that are not
    targets.

    Args:
        input: scores, of shape (batch, classes) or (classes).
        target: int64 class indices, of the input's shape; the targets of an example end before the first -1.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or a target is not a class.
        NotImplementedError: the input is not floating-point.
    """
    batch, classes = _batch_of_scores(input)
    shape = input._layout.shape
    if (target._layout.shape or (1,)) != (shape or (1,)):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(shape)}")
    _check_dtypes("multilabel_margin_loss_forward_out_frame", input, target)
    wrong = input._layout.type.backend.outside(buffer_of(physical_of(target)), -1, classes)
    check(
        wrong is None,
        "argument #2 'target' is out of range: {} is neither one of {} classes nor -1", wrong, classes, target,
    )
    rows, classes_of_rows = input.reshape(batch, classes), target.reshape(batch, classes)
    counted = (classes_of_rows < 0).cumsum(1) == 0
    if batch and not is_batched(target):  # at most as many columns as an example has targets
        most = int(counted.sum(1).max())
        counted, classes_of_rows = counted[:, :most], classes_of_rows[:, :most]
    targets = where(counted, classes_of_rows, 0)
    is_target = zeros_like(rows, dtype=int64).scatter_add(1, targets, counted.long()) > 0
    short = 1 - rows.gather(1, targets).unsqueeze(2) + rows.unsqueeze(1)
    counts = counted.unsqueeze(2) & ~is_target.unsqueeze(1) & (short > 0)
    losses = where(counts, short, 0.0).sum((1, 2)) / classes
    return reduced(losses if len(shape) == 2 else losses.reshape(()), reduction)


@loss_function
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor | float, weight: Tensor | float | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the mean over the classes of ``-target * log(sigmoid(input)) - (1 - target) * log(sigmoid(-input))``.

    Args:
        input: scores, of shape (..., classes).
        target: 1 for the classes of an example and 0 for the others, of a shape that broadcasts with the input's.
        weight: the weight of each class; broadcasts.
        reduction: "mean", "sum" or "none".
        size_average, reduce: PyTorch's deprecated form of the reduction.

    Raises:
        RuntimeError: the shapes do not broadcast.
    """
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(input.dim() - 1) / input._layout.shape[-1], reduction)
