"""The largest or smallest elements over one axis of arrays seen as (outer, length, inner), and their first places.

``fold`` says which of two elements counts; a launch chooses it.  A NaN counts before everything else.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import Out, reaches
from ..local import local_array
from ..scalar import isnan, where
from .reductions import _fold_leaf, fold

#: Placeholder: the dtype of the elements.
T = np.float32

#: Elements among which the extreme is found before its place.
LEAF = 4096

#: Columns that are reduced together.
COLUMNS = 256


def _extreme_of(x, start, length):
    """The place of the extreme of a stretch, in it."""
    place = 0
    for low in range(0, length, LEAF):
        best = x[np.uint64(start + place)]
        if isnan(best):
            break
        size = min(LEAF, length - low)
        value = fold(best, _fold_leaf(x, start + low, size, best, best))
        if low == 0 or value != best:  # a NaN differs, too
            place = low
            element = x[np.uint64(start + place)]
            while place < low + size - 1 and not (element == value or (isnan(value) and isnan(element))):
                place += 1
                element = x[np.uint64(start + place)]
    return place


def extreme_leaves(x, places: Out):
    """The places of the extremes of the stretches of LEAF elements."""
    for leaf in prange(places.size):
        low = leaf * LEAF
        places[leaf] = low + _extreme_of(x, low, min(LEAF, x.size - low))


@reaches(lambda given: given.places.size)
def combine_extremes(x, places, out: Out, indices: Out):
    """The extreme of the elements at these ascending places."""
    place = places[0]
    for candidate in places:
        best = x[place]
        if not isnan(best) and fold(best, x[candidate]) != best:
            place = candidate
    out[0] = x[place]
    indices[0] = place


def extreme_rows(x, length, out: Out, indices: Out):
    """The extreme of each row and its place in it."""
    for row in prange(out.size):
        place = _extreme_of(x, row * length, length)
        out[row] = x[row * length + place]
        indices[row] = place


def extreme_columns(x, length, inner, out: Out, indices: Out):
    """The extreme along the middle axis and its place on it."""
    chunks = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(out.size // inner * chunks):
        first = piece % chunks * COLUMNS
        width = min(COLUMNS, inner - first)
        base = piece // chunks * length * inner + first
        place = piece // chunks * inner + first
        best = local_array(COLUMNS, T)
        index = local_array(COLUMNS, np.int64)
        for column in range(width):
            best[column] = x[base + column]
            index[column] = 0
        for row in range(1, length):
            line = np.uint64(base + row * inner)
            for column in range(width):
                value = x[line + np.uint64(column)]
                present = best[column]
                changes = (present == present) & (fold(present, value) != present)
                best[column] = where(changes, value, present)
                index[column] = where(changes, row, index[column])
        for column in range(width):
            out[place + column] = best[column]
            indices[place + column] = index[column]
