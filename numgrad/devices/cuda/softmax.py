"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu.softmax import gradient_of_logarithm, logarithm, summed_of_logarithm
from numgrad_kernels.cuda import softmax

from ..rows import DeviceRow
from .launching import launch
from .lines import arranged, packed
from .memory import empty_row

__all__ = ["softmax_backward_launcher", "softmax_launcher"]

#: What is put for softmax's own functions in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": logarithm, "share": softmax.logarithm_of_share, "summed": summed_of_logarithm,
    "gradient": gradient_of_logarithm,
}


def softmax_launcher(
    type: Any, size: int, length: int, inner: int, floor: float | None
) -> Callable[[DeviceRow], DeviceRow]:
    """What computes softmax along the middle axis of rows of this size, or with None for ``floor`` its logarithm.

    What is minus infinity as a whole becomes NaN, or 0 if ``floor`` is 0.
    """
    parts = _LOGARITHM if floor is None else {}
    return _launcher(softmax.softmax_lines, size, length, inner, (-np.inf if floor is None else float(floor),), parts)


def softmax_backward_launcher(
    type: Any, size: int, length: int, inner: int, logarithm: bool
) -> Callable[[DeviceRow, DeviceRow], DeviceRow]:
    """What computes the gradient of softmax, or its logarithm, from that of its result and the result."""
    return _launcher(softmax.backward_lines, size, length, inner, (), _LOGARITHM if logarithm else {})


def _launcher(
    function: Any, size: int, length: int, inner: int, numbers: tuple[float, ...], parts: dict[str, Any]
) -> Callable[..., DeviceRow]:
    """What runs a kernel over lines of some operands."""
    lines = size // length if size else 0
    columns, depth, shift, along, blocks, threads = arranged(lines, length, inner)

    def launched(*rows: DeviceRow) -> DeviceRow:
        out = empty_row(size, rows[0].dtype, rows[0].device)
        launch(
            function, out.dtype, *rows, lines, length, inner, columns, depth, shift, along, *numbers, out,
            blocks=blocks, threads=threads, **parts, **(packed(length, *rows, out) if inner == 1 else {}),
        )
        return out

    return launched
