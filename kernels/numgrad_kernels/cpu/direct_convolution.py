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

#: Number of lines of windows of a piece of work.
TALL = 6

#: Products that are added up consecutively.
SUMMED = 512

#: Number of elements of a window that the kernel of gradients multiplies at a time.
TOGETHER = 8

#: Number of filters that are multiplied at a time.
PACKED = 4


def _pack(filters, groups, count, size, work):
    """Gather the elements of ``PACKED`` filters for the same element of a window, with zeros for missing filters."""
    sets = (count + PACKED - 1) // PACKED
    for group in range(groups):
        for number in range(sets * PACKED):
            base = (group * sets + number // PACKED) * size * PACKED + number % PACKED
            for i in range(size):
                work[base + i * PACKED] = filters[(group * count + number) * size + i] if number < count else T(0)


def _windows(plan, corner, line, number):
    """The offsets of block ``number``, counted from the beginning of ``line``, in the result and in the images."""
    columns = plan[COLUMNS]
    across = (columns + LANES - 1) // LANES
    line, column = line + number // across, min(number % across * LANES, columns - LANES)
    return line * columns + column, corner + _line(plan, line) + column


def _total(out, start, sums, continued, initial):
    """A block of sums, added to those of earlier products if it is ``continued``, otherwise to ``initial``."""
    return sums + block(out, start, LANES) if continued else sums + initial


@reaches(_reached)
def direct_convolution(plan, steps, x, x_start, filters, bias, work: Out, out: Out):
    """``out`` becomes the products of the filters with all windows, plus the filters' ``bias`` if there is one.

    They are computed for ``PACKED`` filters and three blocks of LANES windows at a time: each block that is loaded
    serves four products, and each element of a filter three.  A line has at least LANES windows, one element apart.
    Its last block may overlap the one before, so that a result does not depend on its position.
    """
    size, count, lines = height(plan), plan[FILTERS], plan[LAYERS] * plan[ROWS]
    across, places = (plan[COLUMNS] + LANES - 1) // LANES, lines * plan[COLUMNS]
    sets, strips = (count + PACKED - 1) // PACKED, (lines + TALL - 1) // TALL
    _pack(filters, plan[GROUPS], count, size, work)
    for piece in prange(plan[IMAGES] * plan[GROUPS] * strips):
        pair, line = piece // strips, piece % strips * TALL
        group, last = pair % plan[GROUPS], min(TALL, lines - line) * across - 1
        corner = x_start + _steps_to_pair(plan, pair)
        for number in range(sets):
            first, base = number * PACKED, (group * sets + number) * size * PACKED
            for start in range(0, last + 1, 3):
                to_1, from_1 = _windows(plan, corner, line, start)
                to_2, from_2 = _windows(plan, corner, line, min(start + 1, last))
                to_3, from_3 = _windows(plan, corner, line, min(start + 2, last))
                for low in range(0, size, SUMMED):
                    a1 = a2 = a3 = b1 = b2 = b3 = c1 = c2 = c3 = d1 = d2 = d3 = repeated(T(0), LANES)
                    for i in range(low, min(low + SUMMED, size)):
                        step, packed = steps[i], base + i * PACKED
                        x1, x2 = block(x, from_1 + step, LANES), block(x, from_2 + step, LANES)
                        x3 = block(x, from_3 + step, LANES)
                        a1, a2, a3 = a1 + x1 * work[packed], a2 + x2 * work[packed], a3 + x3 * work[packed]
                        b1, b2, b3 = b1 + x1 * work[packed + 1], b2 + x2 * work[packed + 1], b3 + x3 * work[packed + 1]
                        c1, c2, c3 = c1 + x1 * work[packed + 2], c2 + x2 * work[packed + 2], c3 + x3 * work[packed + 2]
                        d1, d2, d3 = d1 + x1 * work[packed + 3], d2 + x2 * work[packed + 3], d3 + x3 * work[packed + 3]
                    for j, (s1, s2, s3) in enumerate(((a1, a2, a3), (b1, b2, b3), (c1, c2, c3), (d1, d2, d3))):
                        if first + j < count:
                            plane = (pair * count + first + j) * places
                            initial = bias[group * count + first + j] if bias.size else T(0)
                            s1 = _total(out, plane + to_1, s1, low > 0, initial)
                            s2 = _total(out, plane + to_2, s2, low > 0, initial)
                            s3 = _total(out, plane + to_3, s3, low > 0, initial)
                            put(out, plane + to_1, s1)  # after all totals: blocks may overlap
                            put(out, plane + to_2, s2)
                            put(out, plane + to_3, s3)


def _add_parts(sums, parts, groups, count, size, rounded, out):
    """Add up the sums of all parts; each part has ``rounded`` sums for every ``LANES`` filters."""
    sets = (count + LANES - 1) // LANES
    for number in range(groups * count):
        group, j = number // count, number % count
        lane = (group * sets + j // LANES) * rounded * LANES + j % LANES
        for i in range(size):
            total = T(0)
            for part in range(parts):
                total += sums[part * groups * sets * rounded * LANES + lane + i * LANES]
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
                    begin, target = corner + _line(plan, line), room + (line - low) * columns * LANES
                    for column in range(columns):
                        values, at = block(work, target + column * LANES, LANES), begin + column * across
                        a = a + values * x[at + steps[i]]
                        b = b + values * x[at + steps[i + 1]]
                        c = c + values * x[at + steps[i + 2]]
                        d = d + values * x[at + steps[i + 3]]
                        e = e + values * x[at + steps[i + 4]]
                        f = f + values * x[at + steps[i + 5]]
                        g = g + values * x[at + steps[i + 6]]
                        h = h + values * x[at + steps[i + 7]]
                for j, added in enumerate((a, b, c, d, e, f, g, h)):
                    target = base + (i + j) * LANES
                    put(sums, target, block(sums, target, LANES) + added)
    _add_parts(sums, parts, groups, count, size, steps.size, out)
