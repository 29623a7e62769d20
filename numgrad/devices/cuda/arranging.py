"""Elements put in their places on a GPU: joined, cleared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from numgrad_kernels.cuda import arranging

from ..._layout import loop_nest, numel
from ..rows import DeviceRow
from .indexing import WORDS, narrow
from .launching import blocks_for, launch
from .memory import empty_row, no_row

__all__ = ["clear_triangle", "joined"]

#: How many tensors one kernel joins.
TOGETHER = 4


def joined(tensors: Sequence[Any], dim: int, shape: tuple[int, ...], size: int) -> DeviceRow | None:
    """The elements, as one row, of tensors of one dtype joined along a dimension; None if one is not row-major."""
    rows = [tensor._flat for tensor in tensors]
    if None in rows:
        return None
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
    kind, start = WORDS[word], 0
    out_words, widths = out.view(kind), [width // word for width in widths]
    for group in range(0, len(rows), TOGETHER):
        taken = widths[group : group + TOGETHER]
        missing = TOGETHER - len(taken)
        given = [row.view(kind) for row in rows[group : group + TOGETHER]] + [no_row(kind)] * missing
        pairs = zip(given, [*taken, *[0] * missing], strict=True)
        most = outer * max(taken)
        launch(
            arranging.join_rows, kind, *itertools.chain.from_iterable(pairs), outer, stride // word, start, out_words,
            blocks=blocks_for(most) if most else 0, **narrow(most),
        )
        start += sum(taken)
    return out


def clear_triangle(tensor: Any, diagonal: int, above: bool) -> None:
    """Zero what lies above (or below) a diagonal of each matrix in the last two dimensions, in place."""
    layout = tensor._layout
    shape, strides = layout.shape, layout.strides
    if not layout.size:
        return
    sizes, (steps,) = loop_nest(shape[:-2], ((shape[:-2], strides[:-2]),), (1,))
    *outer, matrices = sizes
    count = matrices * shape[-2] * shape[-1]
    for place in itertools.product(*map(range, outer)):
        start = tensor._offset + sum([index * step for index, step in zip(place, steps, strict=False)])
        launch(
            arranging.clear_triangle, layout.type.numpy, tensor._storage, start, steps[-1], *strides[-2:], *shape[-2:],
            count, diagonal, above, blocks=blocks_for(count), **narrow(count),
        )
