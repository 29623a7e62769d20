"""Elements put in their places: copied to another layout, joined, cleared."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import copying

from ..._layout import loop_nest
from ..launches import by_numpy
from .launching import empty, launch
from .pointwise import run_pointwise
from .threads import worth_threads

__all__ = ["clear_triangle", "copy", "joined"]

#: Elements from which a copy is worth finding out how it can be made in stretches.
STRETCHES_FROM = 4096

#: A copy does not look at the elements: all that have one size are copied by one kernel.
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def copy(program: Any, source: Any, target: Any) -> None:
    """Overwrite a tensor with another, broadcast to its shape; ``program`` copies one element."""
    goal, given = target._layout, source._layout
    kind = goal.type.numpy
    size = goal.size
    stretches = None
    if size >= STRETCHES_FROM and given.type.numpy is kind and kind.itemsize in _WORDS:
        stretches = _stretches(goal.shape, goal.strides, given.shape, given.strides, kind.itemsize)
    if stretches is None:
        run_pointwise(program, [source], [target])
        return
    word = _WORDS[kind.itemsize]
    steps, wanted, sizes = stretches
    x, out = source._storage.view(word), target._storage.view(word)
    launch(
        copying.copy_stretches, word, x, source._offset, *steps, out, target._offset, *wanted, *sizes, size=size
    )


@functools.lru_cache(maxsize=4096)
def _stretches(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, own: tuple[int, ...], steps: tuple[int, ...] | None,
    itemsize: int,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """The steps through a source and a target, and the sizes, for ``copy_stretches``; None if that cannot do it.

    Given are the shape and the strides of the target, then those of the source (None for row-major).
    """
    sizes, (out, x) = loop_nest(shape, ((shape, strides), (own, steps)), (itemsize, itemsize))
    missing = (0,) * (4 - len(sizes))
    if len(sizes) > 4 or out[-1] != itemsize or x[-1] not in (0, itemsize):
        return None
    x, out = (missing + tuple([step // itemsize for step in given]) for given in (x, out))
    return x, out[:3], tuple([1] * len(missing)) + sizes


def clear_triangle(tensor: Any, diagonal: int, above: bool) -> None:
    """Zero what lies above (or below) a diagonal of each matrix in the last two dimensions, in place."""
    rows, columns = tensor._layout.shape[-2:]
    outside = np.tri(rows, columns, diagonal if above else diagonal - 1, bool)
    np.copyto(tensor._array(), 0, where=~outside if above else outside, casting="unsafe")


def joined(tensors: Sequence[Any], dim: int, shape: tuple[int, ...], size: int) -> np.ndarray | None:
    """The elements, as one row, of tensors of one dtype joined along a dimension; None if threads should copy them."""
    if worth_threads(size):
        return None
    out = empty(shape, tensors[0]._layout.type)
    if dim == 0 and all(tensor._flat is not None for tensor in tensors):
        return _concatenate([tensor._flat for tensor in tensors], out=out)
    _concatenate([tensor._array() for tensor in tensors], dim, out=out.reshape(shape))
    return out


_concatenate = by_numpy("numpy.concatenate")(np.concatenate)
