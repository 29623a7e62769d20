"""Distinct slices along the middle axis of arrays seen as (outer, length, inner), flattened: found, numbered, counted.

``order`` contains the numbers of the slices in the order in which they are visited; a slice that differs from the one
before begins a run.
"""

from __future__ import annotations

from ..facts import Out
from .adapter import cuda
from .sorting import before, other_run


def count_up(out: Out, size):
    """The numbers from 0 on."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[index] = index


# -- slices in order --------------------------------------------------------------------------------------------------


def _compared(x, left, right, outer, length, inner):
    """1 if a slice precedes another, -1 if it follows it, 0 if neither, by the first elements that differ."""
    result = 0
    line = 0
    while line < outer and result == 0:
        column = 0
        while column < inner and result == 0:
            first = x[(line * length + left) * inner + column]
            second = x[(line * length + right) * inner + column]
            if before(first, second):
                result = 1
            elif before(second, first):
                result = -1
            column += 1
        line += 1
    return result


def merge_slices(x, order, outer, length, inner, width, out: Out):
    """Merge each pair of neighbouring runs of ``width`` slices, a power of two; see ``sorting.merge_runs``."""
    for index in range(cuda.grid(1), length, cuda.gridsize(1)):
        left, low, high = other_run(index, width, length)
        slice_index, begin = order[index], low
        while low < high:
            middle = (low + high) >> 1
            comparison = _compared(x, order[middle], slice_index, outer, length, inner)
            if comparison > 0 or (comparison == 0 and not left):
                low = middle + 1
            else:
                high = middle
        out[index + low - begin - (0 if left else width)] = slice_index


# -- runs -------------------------------------------------------------------------------------------------------------


def mark_changes(x, order, outer, length, inner, out: Out):
    """1 where a slice differs from the previous one in the order, 0 elsewhere and for the first slice; NaNs differ."""
    for index in range(cuda.grid(1), length, cuda.gridsize(1)):
        differs = 0
        if index > 0:
            left, right = order[index - 1], order[index]
            for line in range(outer):
                for column in range(inner):
                    first = x[(line * length + left) * inner + column]
                    second = x[(line * length + right) * inner + column]
                    if first != second:
                        differs = 1
        out[index] = differs


def list_runs(numbers, order, origin, length, first: Out, begins: Out, inverse: Out):
    """For each run its first slice and its beginning in the order; for each slice, by its origin, its run."""
    for index in range(cuda.grid(1), length, cuda.gridsize(1)):
        number = numbers[index]
        begun = index == 0
        if index > 0:
            begun = numbers[index - 1] != number
        if begun:
            first[number] = order[index]
            begins[number] = index
        inverse[origin[index]] = number


def count_runs(begins, runs, length, out: Out):
    """The lengths of the runs."""
    for run in range(cuda.grid(1), runs, cuda.gridsize(1)):
        end = length
        if run + 1 < runs:
            end = begins[run + 1]
        out[run] = end - begins[run]


def take_slices(x, first, size, length, runs, inner, out: Out):
    """The first slices of the runs, laid out as (outer, runs, inner)."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        outer_index = index // inner
        out[index] = x[(outer_index // runs * length + first[outer_index % runs]) * inner + index % inner]
