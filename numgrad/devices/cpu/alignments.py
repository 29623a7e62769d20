"""Connectionist temporal classification; see the kernels."""

from __future__ import annotations

from numgrad_kernels.cpu import alignments

from ..plan import Buffer, Plan

__all__ = ["ctc_gradients", "ctc_losses"]

#: What a state of a step costs, in additions: see Note [When threads pay].
_WEIGHT = 64


def ctc_losses(
    p: Plan, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, time: int, batch: int, classes: int, width: int
) -> tuple[Buffer, Buffer, Buffer]:
    """The losses of (time, batch, classes), alpha and alpha's rounding errors.

    ``width`` is how many states the labels of an example have place for.  Whoever calls sees to it that labels are
    classes, and that no example has more than ``time`` steps or ``width`` states.
    """
    dtype, size = x.dtype, batch * time * width
    found = p.new(batch, dtype), p.new(size, dtype), p.new(size, dtype)
    given = x, time, batch, classes, labels, width, steps, lengths
    p.run(alignments.ctc_losses, dtype, *given, *found, work=_WEIGHT * size)
    return found


def ctc_gradients(
    p: Plan, grad: Buffer, x: Buffer, labels: Buffer, steps: Buffer, lengths: Buffer, alpha: Buffer, errors: Buffer,
    time: int, batch: int, classes: int, width: int, zero_infinity: bool,
) -> Buffer:
    """The gradient for x."""
    dtype, out = x.dtype, p.new(time * batch * classes, x.dtype)
    beta, beta_errors = p.new(batch * width, dtype), p.new(batch * width, dtype)
    p.run(
        alignments.ctc_gradients, dtype, grad, x, time, batch, classes, labels, width, steps, lengths, alpha, errors,
        zero_infinity, beta, beta_errors, out, work=_WEIGHT * batch * time * width,
    )  # fmt: skip
    return out
