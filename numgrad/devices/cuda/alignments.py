"""Connectionist temporal classification: the CPU's launchers, on rows of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import alignments

from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row

__all__ = ["ctc_gradient_launcher", "ctc_launcher"]


def ctc_launcher(
    type: Any, time: int, batch: int, classes: int, width: int
) -> Callable[..., list[DeviceRow]]:
    """What computes the losses, alpha and alpha's rounding errors; see the CPU's."""
    dtype, size = type.numpy, batch * time * width

    def run(x: Any, labels: Any, steps: Any, lengths: Any) -> list[DeviceRow]:
        found = [empty_row(each, dtype, x.device) for each in (batch, size, size)]
        launch(
            alignments.ctc_losses, dtype, x, time, batch, classes, labels, width, steps, lengths, *found,
            blocks=batch,
        )
        return found

    return run


def ctc_gradient_launcher(
    type: Any, time: int, batch: int, classes: int, width: int, zero_infinity: bool
) -> Callable[..., DeviceRow]:
    """What computes the gradient for x; see the CPU's."""
    dtype, size = type.numpy, batch * time

    def run(
        grad: Any, x: Any, labels: Any, steps: Any, lengths: Any, alpha: Any, errors: Any
    ) -> DeviceRow:
        sizes = 2 * batch * width, 2 * batch * width, size * width, size * classes
        beta, beta_errors, shares, out = [empty_row(each, dtype, x.device) for each in sizes]
        given = time, batch, classes, labels, width, steps, lengths, alpha, errors
        launch(alignments.ctc_occupancy, dtype, x, *given, beta, beta_errors, shares, blocks=batch)
        launch(
            alignments.ctc_gradients, dtype, grad, x, *given, shares, int(zero_infinity), size, out,
            blocks=blocks_for(size),
        )
        return out

    return run
