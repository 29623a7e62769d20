"""The loss of label sequences that are aligned with longer sequences in an unknown way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.types import int64
from ...ops.batching.batches import physical_of
from ...ops.creation.factories import full_like
from ...ops.creation.from_data import tensor
from ...ops.creation.spaced import arange
from ...ops.memory.copying import buffer_of
from ...ops.network.alignment import ctc_loss_op
from ...ops.network.loss_reduction import reduced
from ...ops.pointwise.comparison import where
from ...ops.shapes.joining import cat, stack
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_index, check_supported
from ...tensors.tensor import Tensor
from .reduction import reduction_of

__all__ = ["ctc_loss"]


@tensors_checked
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the connectionist temporal classification loss (Graves et al., 2006): minus the log-probability of the
    targets, where each step yields a target, its predecessor again, or a blank.

    The gradient is that of the input of the ``log_softmax`` that made ``log_probs``, whose rule passes it through
    unchanged.

    Args:
        log_probs: logarithms of the probabilities of the classes, of shape (time, batch, classes) or (time, classes).
        targets: class indices, of shape (batch, longest), or concatenated in one dimension; on any device.
        input_lengths: for each example, the number of steps that count; integers, at most ``time``.
        target_lengths: for each example, the number of its targets.
        blank: the class that stands for no label.
        reduction: "mean" of the losses divided by the lengths of the targets, "sum" or "none".
        zero_infinity: True to count infinite losses, which occur if there are more targets than steps, as 0.

    Raises:
        RuntimeError: the shapes or lengths do not fit, or the blank is not a class.
        IndexError: a target is not a class.  On a GPU, the error is raised when the program next synchronizes.
        ValueError: the reduction is invalid.
        NotImplementedError: ``log_probs`` is not floating-point.
    """
    reduction = reduction_of(reduction)
    batched = log_probs.dim() == 3
    check(log_probs._layout.size, "log_probs tensor must not be empty", log_probs)
    if log_probs.dim() not in (2, 3):
        raise _misfit(f"3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor", "#1 'log_probs'")
    check_supported(log_probs._layout, "f", "ctc_loss_cpu")
    batch = log_probs if batched else log_probs.unsqueeze(1)
    time, count, classes = batch._layout.shape
    check(0 <= blank < classes, "blank must be in label range: {} is none of {} classes", blank, classes)
    steps = _lengths("input_lengths", input_lengths, count, time)
    lengths = _lengths("target_lengths", target_lengths, count, None)
    labels = _labels(targets, lengths, classes, blank).to(log_probs.device)
    on_device = [tensor(each, dtype=int64, device=log_probs.device) for each in (steps, lengths)]
    losses = ctc_loss_op(batch, labels, *on_device, zero_infinity)[0]
    if zero_infinity:
        losses = where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        losses = losses / on_device[1].clamp_min(1)
    return reduced(losses if batched or reduction != "none" else losses.squeeze(0), reduction)


def _misfit(expected: str, argument: str) -> RuntimeError:
    return RuntimeError(
        f"Expected {expected} for argument {argument} (while checking arguments for ctc_loss_allocate_outputs)"
    )


def _lengths(name: str, value: Tensor | Sequence[int], count: int, most: int | None) -> list[int]:
    """Return one length for each of ``count`` examples.

    Raises:
        RuntimeError: the number of lengths is wrong, or a length is not an integer or out of range.
        TypeError: the lengths are neither a tensor nor a sequence.
    """
    if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex()):
        raise RuntimeError(f"{name} must be integral, not {value.dtype}")
    lengths: list[Any] = value.reshape(-1).tolist() if isinstance(value, Tensor) else list(value)
    if not all(isinstance(length, int) for length in lengths):
        raise TypeError(f"ctc_loss(): argument '{name}' must be a tuple of ints: {lengths}")
    check(len(lengths) == count, "{} must be of size batch_size, which is {}, not {}", name, count, len(lengths))
    for length in lengths:
        if length < 0 or (most is not None and length > most):
            bound = "at least 0" if length < 0 else f"at most {most}"
            raise RuntimeError(
                f"Expected {name} to have value {bound}, but got value {length} (while checking arguments for "
                "ctc_loss_allocate_outputs)"
            )
    return lengths


def _labels(targets: Tensor, lengths: list[int], classes: int, blank: int) -> Tensor:
    """Return the targets of each example as a row with blanks around each target, padded to the longest.

    Raises:
        RuntimeError: there are too few targets or, in one dimension, too many.
        IndexError: a target is not a class.
    """
    rank, shape, count, longest = targets.dim(), targets._layout.shape, len(lengths), max(lengths)
    if rank not in (1, 2):
        raise _misfit(f"1 to 2 dimensions, but got {rank}-dimensional tensor", "#2 'targets'")
    size = count if rank == 2 else sum(lengths)
    if shape[0] != size:
        raise _misfit(f"tensor to have size {size} at dimension 0, but got size {shape[0]}", "#2 'targets'")
    if rank == 2 and shape[1] < longest:
        said = f"tensor to have size at least {longest} at dimension 1, but got size {shape[1]}"
        raise _misfit(said, "#2 'targets'")
    positions, counts = arange(longest, device=targets.device), tensor(lengths, dtype=int64, device=targets.device)
    counted = positions < counts.unsqueeze(1)
    if rank == 2:
        rows = targets[:, :longest]
    else:
        starts = (counts.cumsum(0) - counts).unsqueeze(1)
        rows = targets[where(counted, starts + positions, 0)] if longest else targets.new_zeros((count, 0))
    rows = where(counted, rows.long(), blank)
    wrong = targets._layout.type.backend.outside(buffer_of(physical_of(rows)), 0, classes)
    check_index(wrong is None, "Target {} is out of bounds: there are {} classes.", wrong, classes)
    rows = where((rows >= 0) & (rows < classes), rows, blank)  # a GPU reports other values later
    pairs = stack([full_like(rows, blank), rows], 2).reshape(count, 2 * longest)
    return cat([pairs, rows.new_full((count, 1), blank)], 1)
