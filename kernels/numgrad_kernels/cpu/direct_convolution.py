"""Convolutions without copies of windows: sums are kept in vector registers, eight blocks of them at a time.

``plan`` and its names are those of ``convolution``, and so are the results.  ``steps`` contains for each element of a
window its distance from the window's beginning.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import block, put, repeated
from ..facts import Out, reaches
from .convolution import (
    COLUMN_STEP,
    COLUMNS,
    FILTERS,
    GROUPS,
    IMAGES,
    LAYERS,
    ROWS,
    _line,
    _reached,
    _steps_to_pair,
    height,
)  # fmt: skip

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: elements of a block.
LANES = 8

#: Products that are added up consecutively.
SUMMED = 512

#: Number of blocks of sums.
TOGETHER = 8


def _pack(filters, groups, count, size, work):
    """Gather the elements of ``TOGETHER`` filters for the same element of a window, with zeros for missing filters."""
    sets = (count + TOGETHER - 1) // TOGETHER
    for group in range(groups):
        for number in range(sets * TOGETHER):
            base = (group * sets + number // TOGETHER) * size * TOGETHER + number % TOGETHER
            for i in range(size):
                work[base + i * TOGETHER] = filters[(group * count + number) * size + i] if number < count else T(0)


@reaches(_reached)
def direct_convolution(plan, steps, x, x_start, filters, bias, work: Out, out: Out):
    """``out`` becomes the products of the filters with all windows, plus the filters' ``bias`` if there is one.

    They are computed for LANES windows of a line and ``TOGETHER`` filters at a time.  A line has at least LANES
    windows, one element apart.  Its last block may overlap the one before, so that a result does not depend on its
    position.
    """
    size, count, columns = height(plan), plan[FILTERS], plan[COLUMNS]
    lines = plan[LAYERS] * plan[ROWS]
    places, sets = lines * columns, (count + TOGETHER - 1) // TOGETHER
    _pack(filters, plan[GROUPS], count, size, work)
    for piece in prange(plan[IMAGES] * plan[GROUPS] * lines):
        pair, line = piece // lines, piece % lines
        group = pair % plan[GROUPS]
        begin = x_start + _steps_to_pair(plan, pair) + _line(plan, line)
        for number in range(sets):
            first, base = number * TOGETHER, (group * sets + number) * size * TOGETHER
            target = (pair * count + first) * places + line * columns
            for start in range(0, columns, LANES):
                column = min(start, columns - LANES)
                for low in range(0, size, SUMMED):
                    a = b = c = d = e = f = g = h = repeated(T(0), LANES)
                    for i in range(low, min(low + SUMMED, size)):
                        values, place = block(x, begin + column + steps[i], LANES), base + i * TOGETHER
                        a = a + values * work[place]
                        b = b + values * work[place + 1]
                        c = c + values * work[place + 2]
                        d = d + values * work[place + 3]
                        e = e + values * work[place + 4]
                        f = f + values * work[place + 5]
                        g = g + values * work[place + 6]
                        h = h + values * work[place + 7]
                    for j, sums in enumerate((a, b, c, d, e, f, g, h)):
                        if first + j < count:
                            place = target + j * places + column
                            if low:
                                sums = sums + block(out, place, LANES)
                            elif bias.size:
                                sums = sums + bias[group * count + first + j]
                            put(out, place, sums)


def _add_parts(sums, parts, groups, count, size, rounded, out):
    """Add up the sums of the parts, of which there are ``rounded`` for ``LANES`` filters each."""
    sets = (count + LANES - 1) // LANES
    for number in range(groups * count):
        group, j = number // count, number % count
        own = (group * sets + j // LANES) * rounded * LANES + j % LANES
        for i in range(size):
            total = T(0)
            for part in range(parts):
                total += sums[part * groups * sets * rounded * LANES + own + i * LANES]
            out[number * size + i] = total


@reaches(_reached)
def direct_convolution_weight(plan, steps, parts, tall, grad, x, x_start, work: Out, sums: Out, out: Out):
    """The gradients for the filters: sums of products of those for the results with the windows.

    They are computed for LANES filters and ``TOGETHER`` elements of a window at a time; the length of ``steps`` is a
    multiple of ``TOGETHER``.  Each of the ``parts`` of the pieces, which are ``tall`` lines of windows, has its own
    ``sums``.
    """
    size, count, columns = height(plan), plan[FILTERS], plan[COLUMNS]
    lines, groups, across = plan[LAYERS] * plan[ROWS], plan[GROUPS], plan[COLUMN_STEP]
    places, sets, strips = lines * columns, (count + LANES - 1) // LANES, (lines + tall - 1) // tall
    for task in prange(parts * groups * sets):
        part, number = task // (groups * sets), task % (groups * sets)
        group, first = number // sets, number % sets * LANES
        base, room = task * steps.size * LANES, task * tall * columns * LANES
        present = min(LANES, count - first)
        for i in range(steps.size * LANES):
            sums[base + i] = T(0)
        for i in range(tall * columns * LANES):
            work[room + i] = T(0)
        for piece in range(part * plan[IMAGES] * strips // parts, (part + 1) * plan[IMAGES] * strips // parts):
            pair, low = piece // strips * groups + group, piece % strips * tall
            high = min(low + tall, lines)
            source = (pair * count + first) * places + low * columns
            for j in range(present):
                for i in range((high - low) * columns):
                    work[room + i * LANES + j] = grad[source + j * places + i]
            corner = x_start + _steps_to_pair(plan, pair)
            for i in range(0, steps.size, TOGETHER):
                a = b = c = d = e = f = g = h = repeated(T(0), LANES)
                for line in range(low, high):
                    begin, place = corner + _line(plan, line), room + (line - low) * columns * LANES
                    for column in range(columns):
                        values, at = block(work, place + column * LANES, LANES), begin + column * across
                        a = a + values * x[at + steps[i]]
                        b = b + values * x[at + steps[i + 1]]
                        c = c + values * x[at + steps[i + 2]]
                        d = d + values * x[at + steps[i + 3]]
                        e = e + values * x[at + steps[i + 4]]
                        f = f + values * x[at + steps[i + 5]]
                        g = g + values * x[at + steps[i + 6]]
                        h = h + values * x[at + steps[i + 7]]
                for j, added in enumerate((a, b, c, d, e, f, g, h)):
                    place = base + (i + j) * LANES
                    put(sums, place, block(sums, place, LANES) + added)
    _add_parts(sums, parts, groups, count, size, steps.size, out)
