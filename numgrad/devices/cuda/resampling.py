"""Products with sparse matrices along one axis, on a GPU: the CPU's launchers, on rows in its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import resampling

from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row, zeros

__all__ = ["csr_launcher", "csr_scatter_launcher", "csr_weights_launcher"]


def csr_launcher(
    type: Any, outer: int, length: int, inner: int, channels: int, count: int, work: int, step: int
) -> Callable[..., DeviceRow]:
    """What multiplies matrices of ``count`` rows with (outer, length, inner); see the CPU's."""
    dtype, size = type.numpy, outer * count * inner

    def run(row: DeviceRow, *matrix: DeviceRow) -> DeviceRow:
        out = empty_row(size, dtype, row.device)
        launch(
            resampling.csr_axis, dtype, row, length, inner, channels, count, *matrix, step, size, out,
            blocks=blocks_for(size),
        )
        return out

    return run


def csr_scatter_launcher(
    type: Any, outer: int, length: int, channels: int, count: int, work: int
) -> Callable[..., DeviceRow]:
    """The transposed product; see the CPU's."""
    size = outer * count

    def run(grad: DeviceRow, *matrix: DeviceRow) -> DeviceRow:
        out = zeros((outer * length,), type)
        launch(
            resampling.csr_scatter, type.numpy, grad, length, channels, count, *matrix, size, out,
            blocks=blocks_for(size if work else 0),
        )
        return out

    return run


def csr_weights_launcher(type: Any, length: int, channels: int, count: int, work: int) -> Callable[..., DeviceRow]:
    """The gradient for the weights; see the CPU's."""

    def run(grad: DeviceRow, row: DeviceRow, starts: DeviceRow, indices: DeviceRow) -> DeviceRow:
        out = empty_row(indices.size, type.numpy, row.device)
        rows = starts.size - 1
        launch(
            resampling.csr_weights, type.numpy, grad, row, length, channels, count, starts, indices, rows, out,
            blocks=blocks_for(rows if indices.size else 0),
        )
        return out

    return run
