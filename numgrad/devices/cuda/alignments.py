"""Steps of connectionist temporal classification on a GPU; see the kernels, and the functions of the CPU."""

from __future__ import annotations

from numgrad_kernels.cuda import alignments

from ..plan import Buffer, Plan
from .launching import THREADS

__all__ = ["ctc_gradients", "ctc_losses"]


def ctc_losses(
    p: Plan, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, time: int, batch: int, classes: int, width: int
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the losses of (time, batch, classes), of alpha, and of the rounding errors of alpha."""
    dtype, size = x.dtype, batch * time * width
    results = p.new(batch, dtype), p.new(size, dtype), p.new(size, dtype)
    operands = x, time, batch, classes, labels, width, steps, lengths
    p.run(alignments.ctc_losses, dtype, *operands, *results, grid=(batch, THREADS))
    return results


def ctc_gradients(
    p: Plan, grad: Buffer, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, alpha: Buffer, errors: Buffer,
    time: int, batch: int, classes: int, width: int, zero_infinity: bool,
) -> Buffer:
    """Return the buffer of the gradient with respect to ``x``."""
    dtype, size = x.dtype, batch * time
    sizes = 2 * batch * width, 2 * batch * width, size * width, size * classes
    beta, beta_errors, occupancy, out = [p.new(each, dtype) for each in sizes]
    operands = time, batch, classes, labels, width, steps, lengths, alpha, errors
    p.run(alignments.ctc_occupancy, dtype, x, *operands, beta, beta_errors, occupancy, grid=(batch, THREADS))
    p.run(alignments.ctc_gradients, dtype, grad, x, *operands, occupancy, int(zero_infinity), size, out, work=size)
    return out
