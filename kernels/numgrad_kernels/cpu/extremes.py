"""The largest or smallest elements over one axis of arrays seen as (outer, length, inner), and their first places.

``fold`` says which of two elements counts; a launch chooses it.  A NaN counts before everything else.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..local import local_array
from ..scalar import isnan, where
from .reductions import _fold_leaf, fold

#: Placeholder: the dtype of the elements.
T = np.float32

#: Elements among which the extreme is found before its place.
LEAF = 4096

#: Columns that are reduced together.
COLUMNS = 256


def _first_place(row, value):
    """Where ``value`` stands first."""
    place = 0
    while place < row.size - 1 and not (row[place] == value or (isnan(value) and isnan(row[place]))):
        place += 1
    return place


def _extreme_of(row):
    """The place of the extreme of a stretch."""
    place = 0
    for low in range(0, row.size, LEAF):
        best = row[place]
        if isnan(best):
            break
        leaf = row[low : low + LEAF]
        value = fold(best, _fold_leaf(leaf, best, leaf[0]))
        if low == 0 or value != best:  # a NaN differs, too
            place = low + _first_place(leaf, value)
    return place


def extreme_leaves(x, places):
    """The places of the extremes of the stretches of LEAF elements."""
    for leaf in prange(places.size):
        places[leaf] = leaf * LEAF + _extreme_of(x[leaf * LEAF : (leaf + 1) * LEAF])


def combine_extremes(x, places, out, indices):
    """The extreme of the elements at these ascending places."""
    place = places[0]
    for candidate in places:
        best = x[place]
        if not isnan(best) and fold(best, x[candidate]) != best:
            place = candidate
    out[0] = x[place]
    indices[0] = place


def extreme_rows(x, length, out, indices):
    """The extreme of each row and its place in it."""
    for row in prange(out.size):
        place = _extreme_of(x[row * length : (row + 1) * length])
        out[row] = x[row * length + place]
        indices[row] = place


def extreme_columns(x, length, inner, out, indices):
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
            line = x[base + row * inner : base + row * inner + width]
            for column in range(width):
                value = line[column]
                present = best[column]
                changes = (present == present) & (fold(present, value) != present)
                best[column] = where(changes, value, present)
                index[column] = where(changes, row, index[column])
        for column in range(width):
            out[place + column] = best[column]
            indices[place + column] = index[column]
