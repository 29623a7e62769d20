"""Steps of the negative log-likelihood at targets on a GPU: int64 classes of (outer, classes, inner).

The kernels skip a target that is not a class and report it: see Note [Reports] in ``reports.py``.
"""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cuda import likelihood as kernels

from ...core.layout import Ints
from ..buffers import DeviceBuffer
from ..common import classes_of
from ..plan import Buffer, Plan, Report, TensorRef
from .launching import MOST_BLOCKS, THREADS, blocks_for, launch
from .lines import arranged, packed
from .memory import no_buffer, optional
from .reports import message_number, report_buffer

__all__ = ["check_probabilities", "cross_entropy_gradient", "improbable", "likelihood", "likelihood_gradient"]

#: Targets of a thread: enough for one block to process a small batch.
TARGETS = 16


def improbable(flat: DeviceBuffer, message: str) -> bool:
    """Launch the kernel that reports an element that is not in [0, 1], with this message.

    Return False: the host reads the report later.
    """
    number, report = message_number(message), report_buffer(flat.device)
    launch(kernels.find_improbable, flat.dtype, flat, flat.size, number, report, blocks=blocks_for(flat.size))
    return False


def check_probabilities(p: Plan, tensor: TensorRef, message: str) -> None:
    """Add no step: the pointwise program that takes the probabilities reports an element that is not in [0, 1]."""


def likelihood(
    p: Plan, x: Buffer, target: Buffer, weight: Buffer | None, shape: Ints, ignored: int, reduction: str
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the losses, or of their sum or mean, and of the sum of the weights of their targets.

    A loss is minus the element of (outer, classes, inner) at a target times the weight of its class; 0 where the target
    is ``ignored``.
    """
    dtype, count = x.dtype, target.size
    pieces = min(-(-count // (TARGETS * THREADS)) or 1, MOST_BLOCKS)
    kept, mean, empty = reduction == "none", int(reduction == "mean"), no_buffer(dtype)
    losses: Any = p.new(count, dtype) if kept else empty
    parts: Any = empty if pieces == 1 else p.new(2 * pieces, dtype)
    out, total_weight = p.new(1, dtype), p.new(1, dtype)
    p.run(
        kernels.negative_likelihood, dtype, x, count, *classes_of(shape), target, *optional(weight, dtype), ignored,
        mean, -(-count // pieces), int(kept), losses, parts, pieces, out, total_weight, Report(),
        grid=(pieces, THREADS),
    )
    if pieces > 1:
        p.run(kernels.likelihood_total, dtype, parts, pieces, mean, out, total_weight, grid=(1, THREADS))
    return losses if kept else out, total_weight


def likelihood_gradient(
    p: Plan, grad: Buffer, target: Buffer, weight: Buffer | None, divisor: Buffer | None, shape: Ints, ignored: int
) -> Buffer:
    """Return the buffer of the gradient: zeros of (outer, classes, inner), and minus ``grad`` at the targets.

    ``grad`` has one element for all targets or one for each.  It is multiplied by the weight of the class, and divided
    by the one element of ``divisor``.
    """
    dtype, count = grad.dtype, target.size
    classes, inner = classes_of(shape)
    out = p.new(count * classes, dtype, zeroed=True)
    p.run(
        kernels.put_negative, dtype, grad, int(grad.size == count), count, classes, inner, target,
        *optional(weight, dtype), ignored, *optional(divisor, dtype), out, Report(), work=count,
    )
    return out


def cross_entropy_gradient(
    p: Plan, grad: Buffer, target: Buffer, weight: Buffer | None, divisor: Buffer | None, logs: Buffer, shape: Ints,
    ignored: int,
) -> Buffer:
    """Return the buffer of the gradient of scores, given the logarithm of their softmax.

    The other arguments are those of ``likelihood_gradient``.
    """
    dtype, count = logs.dtype, target.size
    classes, inner = classes_of(shape)
    out = p.new(logs.size, dtype)
    *arrangement, blocks, threads = arranged(count if out.size else 0, classes, inner)
    p.run(
        kernels.cross_entropy_gradient, dtype, grad, int(grad.size == count), target, *optional(weight, dtype), ignored,
        *optional(divisor, dtype), logs, count, classes, inner, *arrangement, out, Report(), grid=(blocks, threads),
        aligned=packed(classes) if inner == 1 else None,
    )
    return out
