"""Interpolation of images of bytes, with the integers of image libraries.

Weights are 16-bit integers divided by a power of 2.  Rows are resized before columns, and both results are rounded to
bytes.

Source: Pillow's ``Resample.c``, whose results PyTorch has.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.layout import Ints
from ...core.types import float64, uint8
from ...tensors.tensor import Tensor
from ..memory.copying import convert
from ..pointwise.arithmetic import add
from ..pointwise.clamping import clamp
from ..pointwise.rounding import floor
from .resampling import LineMap, map_maker, resampled

#: Number of bits below which weights lie, and the greatest number of bits by which they are shifted.
_BITS, _LONGEST = 15, 22


@map_maker
def in_integers(exact: LineMap) -> LineMap:
    """Return a map with the weights rounded to integers, divided by a power of 2."""
    rows = np.repeat(np.arange(exact.count), np.diff(exact.starts))
    places, terms = np.unique(rows * exact.length + exact.indices, return_inverse=True)  # each element once
    weights = np.bincount(terms, exact.weights)
    shift = next(n for n in range(_LONGEST + 1) if n == _LONGEST or int(weights.max() * 2.0 ** (n + 1) + 0.5) >> _BITS)
    integers = np.trunc(weights * 2.0**shift + np.copysign(0.5, weights))
    counts = np.bincount(places // exact.length, minlength=exact.count)
    return LineMap(exact.length, places % exact.length, counts, integers, np.full(exact.count, 2.0**shift))


@map_maker
def _unchanged(length: int) -> LineMap:
    return LineMap(length, np.arange(length))


def bytes_resized(name: str, lengths: Ints, maps: tuple[LineMap, ...]) -> Callable[[Tensor], Tensor]:
    """Return the function of images of bytes that resizes their two dimensions, of these lengths, by ``maps``."""
    rows, columns = [
        _unchanged(length) if length == line_map.count else in_integers(line_map)
        for length, line_map in zip(lengths, maps, strict=True)
    ]
    passes = resampled(name, columns), resampled(name, rows, _unchanged(columns.count))

    def resize(input: Tensor) -> Tensor:
        out = convert(input, float64)  # in which the sums are exact
        for op, *arguments in passes:
            out = clamp(floor(add(op(out, *arguments), 0.5)), 0, 255)
        return convert(out, uint8)

    return resize
