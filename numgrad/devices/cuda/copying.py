"""Elements joined, or copied on one side of a diagonal, and numbers at equal distances, on a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import copying

from ...core.layout import Layout, matrix_steps, numel
from ..common import WORDS, evenly_spaced
from ..rows import DeviceRow
from .indexing import narrow
from .launching import INT64, blocks_for, launch
from .memory import empty_row, no_row, row_from

__all__ = ["counted", "joiner", "spread", "triangle_writer"]


#: How many tensors one kernel joins.
TOGETHER = 4


def _joined(tensors: Sequence[Any], dim: int, shape: tuple[int, ...], size: int) -> DeviceRow:
    rows = [tensor._flat for tensor in tensors]
    first = tensors[0]
    out = empty_row(size, first._layout.type.numpy, first._layout.type.device.index)
    if not size:
        return out
    outer, item = numel(shape[:dim]), out.itemsize
    widths = [row.size // outer * item for row in rows]  # in bytes, until it is known how long a word may be
    stride = size // outer * item
    word = next(
        length
        for length in (8, 4, 2, 1)
        if not any(width % length for width in widths) and not any(row.address % length for row in rows)
    )
    dtype, start = WORDS[word], 0
    out_words, widths = out.view(dtype), [width // word for width in widths]
    for group in range(0, len(rows), TOGETHER):
        taken = widths[group : group + TOGETHER]
        missing = TOGETHER - len(taken)
        given = [row.view(dtype) for row in rows[group : group + TOGETHER]] + [no_row(dtype)] * missing
        pairs = zip(given, [*taken, *[0] * missing], strict=True)
        most = outer * max(taken)
        launch(
            copying.join_rows, dtype, *itertools.chain.from_iterable(pairs), outer, stride // word, start, out_words,
            blocks=blocks_for(most), **narrow(most),
        )
        start += sum(taken)
    return out


def triangle_writer(source: Layout, target: Layout, diagonal: int, above: bool) -> Callable[..., None]:
    """What copies matrices, in the last two dimensions, with zeros above (or below) a diagonal.

    It is given the memory and the first element of a tensor of the layout ``source``, then those of one of the layout
    ``target``, which is overwritten, and may be the same.
    """
    dtype, sizes = source.type.numpy, source.shape[-2:]
    starts, steps, matrices = matrix_steps(source, target)
    count = matrices * numel(sizes)

    def launch_all(x: DeviceRow, first: int, out: DeviceRow, offset: int) -> None:
        for start, goal in starts:
            launch(
                copying.keep_triangle, dtype, x, first + start, *steps[0], out, offset + goal, *steps[1], *sizes, count,
                diagonal, above, blocks=blocks_for(count), **narrow(count),
            )

    return launch_all


def joiner(tensors: Sequence[Layout], dim: int, out: Layout) -> Callable[..., Any]:
    """What makes a row of the elements of tensors, given one by one, joined along a dimension.

    They are of one dtype and contiguous.
    """
    return lambda *given: _joined(given, dim, out.shape, out.size)


_FLOAT64 = np.dtype(np.float64)


def counted(start: float, step: float, count: int, type: Any) -> DeviceRow:
    """A row of ``count`` numbers from ``start``, ``step`` apart."""
    out = empty_row(count, type.numpy, type.device.index)
    compute = INT64 if isinstance(start, int) and isinstance(step, int) else _FLOAT64
    number = int if compute is INT64 else float
    launch(copying.count, compute, number(start), number(step), count, out, blocks=blocks_for(count))
    return out


def spread(start: Any, end: Any, count: int, type: Any) -> DeviceRow:
    """A row of ``count`` numbers from ``start`` to ``end``."""
    dtype = type.numpy
    if dtype.kind == "c" or count < 2:
        return row_from(evenly_spaced(start, end, count, dtype).astype(dtype), type.device.index)
    compute = dtype if dtype.kind == "f" else _FLOAT64
    out = empty_row(count, dtype, type.device.index)
    step = (compute.type(end) - compute.type(start)) / compute.type(count - 1)
    launch(
        copying.spread, compute, float(start), float(end), float(step), count, out, blocks=blocks_for(count)
    )
    return out
