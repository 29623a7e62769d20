"""Softmax and its logarithm along one axis of a row of elements, seen as (outer, length, inner)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu.softmax import gradient_of_logarithm, summed_of_logarithm
from numgrad_kernels.cuda import softmax

from ..rows import DeviceRow
from .launching import launch
from .lines import arranged, packed
from .memory import empty_row

__all__ = [
    "log_softmax_axis", "softmax_axis", "softmax_backward_axis", "softmax_backward_launcher", "softmax_launcher",
]

#: What takes the place of softmax's own functions in the kernels of its logarithm.
_LOGARITHM: dict[str, Callable[..., Any]] = {
    "factor": softmax.logarithm, "share": softmax.logarithm_of_share, "summed": summed_of_logarithm,
    "gradient": gradient_of_logarithm,
}


def softmax_launcher(
    type: Any, size: int, length: int, inner: int, floor: float | None
) -> Callable[[DeviceRow], DeviceRow]:
    """What computes :func:`softmax_axis` of rows of this size, or with None for ``floor`` :func:`log_softmax_axis`."""
    if floor is None:
        return lambda flat: log_softmax_axis(flat, length, inner)
    return lambda flat: softmax_axis(flat, length, inner, floor)


def softmax_backward_launcher(
    type: Any, size: int, length: int, inner: int, logarithm: bool
) -> Callable[[DeviceRow, DeviceRow], DeviceRow]:
    """What computes :func:`softmax_backward_axis` of rows of this size."""
    return lambda grad, result: softmax_backward_axis(grad, result, length, inner, logarithm)


def softmax_axis(flat: DeviceRow, length: int, inner: int, floor: float = -np.inf) -> DeviceRow:
    """Softmax along the middle axis; what is minus infinity as a whole becomes NaN, or 0 if ``floor`` is 0."""
    return _forward(flat, length, inner, floor, {})


def log_softmax_axis(flat: DeviceRow, length: int, inner: int) -> DeviceRow:
    """The logarithm of softmax along the middle axis."""
    return _forward(flat, length, inner, -np.inf, _LOGARITHM)


def _forward(flat: DeviceRow, length: int, inner: int, floor: float, parts: dict[str, Any]) -> DeviceRow:
    out = empty_row(flat.size, flat.dtype, flat.device)
    if flat.size:
        _run(softmax.softmax_lines, (flat,), length, inner, (float(floor),), out, parts)
    return out


def softmax_backward_axis(
    grad: DeviceRow, result: DeviceRow, length: int, inner: int, logarithm: bool
) -> DeviceRow:
    """The gradient of softmax, or its logarithm, from that of its result and the result."""
    out = empty_row(grad.size, grad.dtype, grad.device)
    if grad.size:
        _run(softmax.backward_lines, (grad, result), length, inner, (), out, _LOGARITHM if logarithm else {})
    return out


def _run(
    function: Callable[..., None], rows: tuple[DeviceRow, ...], length: int, inner: int, numbers: tuple[float, ...],
    out: DeviceRow, parts: dict[str, Any],
) -> None:
    lines = out.size // length
    columns, depth, shift, along, blocks, threads = arranged(lines, length, inner)
    if inner == 1:
        parts = {**parts, **packed(length, *rows, out)}
    launch(
        function, out.dtype, *rows, lines, length, inner, columns, depth, shift, along, *numbers, out, blocks=blocks,
        threads=threads, **parts,
    )
