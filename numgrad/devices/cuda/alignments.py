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
) -> Callable[..., tuple[DeviceRow, DeviceRow]]:
    """What computes the losses and alpha; see the CPU's."""
    dtype = type.numpy

    def run(x: Any, labels: Any, steps: Any, lengths: Any) -> tuple[DeviceRow, DeviceRow]:
        losses, alpha = empty_row(batch, dtype, x.device), empty_row(batch * time * width, dtype, x.device)
        launch(
            alignments.ctc_losses, dtype, x, time, batch, classes, labels, width, steps, lengths, losses, alpha,
            blocks=batch,
        )
        return losses, alpha

    return run


def ctc_gradient_launcher(
    type: Any, time: int, batch: int, classes: int, width: int, zero_infinity: bool
) -> Callable[..., DeviceRow]:
    """What computes the gradient for x; see the CPU's."""
    dtype, size = type.numpy, batch * time

    def run(
        grad: Any, x: Any, labels: Any, steps: Any, lengths: Any, losses: Any, alpha: Any
    ) -> DeviceRow:
        device = x.device
        beta, shares = empty_row(2 * batch * width, dtype, device), empty_row(size * width, dtype, device)
        out = empty_row(size * classes, dtype, device)
        sizes = time, batch, classes, labels, width, steps, lengths, losses
        launch(alignments.ctc_occupancy, dtype, x, *sizes, alpha, beta, shares, blocks=batch)
        launch(
            alignments.ctc_gradients, dtype, grad, x, *sizes, shares, int(zero_infinity), size, out,
            blocks=blocks_for(size),
        )
        return out

    return run
