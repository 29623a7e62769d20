"""Connectionist temporal classification; see the kernels, and the CPU's functions."""

from __future__ import annotations

from numgrad_kernels.cuda import alignments

from ..plan import Buffer, Plan
from .launching import THREADS, blocks_for

__all__ = ["ctc_gradients", "ctc_losses"]


def ctc_losses(
    p: Plan, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, time: int, batch: int, classes: int, width: int
) -> tuple[Buffer, Buffer, Buffer]:
    """The losses of (time, batch, classes), alpha and alpha's rounding errors."""
    dtype, size = x.dtype, batch * time * width
    found = p.new(batch, dtype), p.new(size, dtype), p.new(size, dtype)
    given = x, time, batch, classes, labels, width, steps, lengths
    p.run(alignments.ctc_losses, dtype, *given, *found, grid=(batch, THREADS))
    return found


def ctc_gradients(
    p: Plan, grad: Buffer, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, alpha: Buffer, errors: Buffer,
    time: int, batch: int, classes: int, width: int, zero_infinity: bool,
) -> Buffer:
    """The gradient for x."""
    dtype, size = x.dtype, batch * time
    sizes = 2 * batch * width, 2 * batch * width, size * width, size * classes
    beta, beta_errors, shares, out = [p.new(each, dtype) for each in sizes]
    given = time, batch, classes, labels, width, steps, lengths, alpha, errors
    p.run(alignments.ctc_occupancy, dtype, x, *given, beta, beta_errors, shares, grid=(batch, THREADS))
    p.run(
        alignments.ctc_gradients, dtype, grad, x, *given, shares, int(zero_infinity), size, out,
        grid=(blocks_for(size), THREADS),
    )
    return out
