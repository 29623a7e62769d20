"""Steps of connectionist temporal classification; see the kernels."""

from __future__ import annotations

from numgrad_kernels.cpu import alignments

from ..plan import Buffer, Plan

__all__ = ["ctc_gradients", "ctc_losses"]

#: The cost of one state in one step, in additions: see Note [When threads pay].
_WEIGHT = 64


def ctc_losses(
    p: Plan, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, time: int, batch: int, classes: int, width: int
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the losses of (time, batch, classes), of alpha, and of the rounding errors of alpha.

    The labels of an example have room for ``width`` states.  The caller ensures that each label is a class, and that
    no example has more than ``time`` steps or ``width`` states.
    """
    dtype, size = x.dtype, batch * time * width
    results = p.new(batch, dtype), p.new(size, dtype), p.new(size, dtype)
    operands = x, time, batch, classes, labels, width, steps, lengths
    p.run(alignments.ctc_losses, dtype, *operands, *results, work=_WEIGHT * size)
    return results


def ctc_gradients(
    p: Plan, grad: Buffer, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, alpha: Buffer, errors: Buffer,
    time: int, batch: int, classes: int, width: int, zero_infinity: bool,
) -> Buffer:
    """Return the buffer of the gradient with respect to ``x``."""
    dtype, out = x.dtype, p.new(time * batch * classes, x.dtype)
    beta, beta_errors = p.new(batch * width, dtype), p.new(batch * width, dtype)
    p.run(
        alignments.ctc_gradients, dtype, grad, x, time, batch, classes, labels, width, steps, lengths, alpha, errors,
        zero_infinity, beta, beta_errors, out, work=_WEIGHT * batch * time * width,
    )  # fmt: skip
    return out
