"""Reductions over one axis of arrays seen as (outer, length, inner), flattened: sums, products, extremes, norms.

All use one scheme: ``term`` maps each element, ``fold`` combines two results, and ``finish`` maps the total to the
final result; a launch chooses them.  Rows go through 64 accumulators, which vectorise, and then through a binary tree.
The rounding error of a sum grows with the logarithm of the length, and the order depends on the length alone, never on
the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import fill, tree_total
from ..facts import InOut, Out
from ..local import local_array
from ..scalar import abs, exp, from_bfloat16, from_float16, isinf, log, maximum, minimum, pow, sqrt, where

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements that one leaf of the tree folds.
LEAF = 4096

#: Columns that are reduced together.
COLUMNS = 1024

#: Lines of columns that one piece of work folds.
ROWS = 512

# -- terms: the contribution of an element -----------------------------------------------------------------------------


def term(value, parameter):
    """The element itself."""
    return T(value)


def bfloat16_term(value, parameter):
    """The element, given by the bits of a bfloat16."""
    return T(from_bfloat16(value))


def float16_term(value, parameter):
    """The element, given by the bits of a float16."""
    return T(from_float16(value))


def square(value, parameter):
    """The square of the element's distance from the parameter."""
    distance = T(value) - parameter
    return distance * distance


def exponential(value, parameter):
    """e to the power of the element less the parameter."""
    return exp(T(value) - parameter)


def magnitude(value, parameter):
    """The absolute value."""
    return abs(T(value))


def power(value, parameter):
    """The absolute value to the power of the parameter."""
    return pow(abs(T(value)), parameter)


def nonzero(value, parameter):
    """1, or 0 for a zero."""
    return T(value != 0)


def number_or_zero(value, parameter):
    """The element, or 0 for a NaN."""
    return where(value == value, T(value), T(0))


def nonzero_number(value, parameter):
    """1, or 0 for a zero or a NaN."""
    return T((value == value) & (value != 0))


# -- folds: the combination of two results -----------------------------------------------------------------------------


def fold(left, right):
    """The sum."""
    return left + right


def product(left, right):
    """The product."""
    return left * right


def larger(left, right):
    """The larger one; NaN if either is NaN."""
    return maximum(left, right)


def smaller(left, right):
    """The smaller one; NaN if either is NaN."""
    return minimum(left, right)


def _share(total, divisor):
    """The total divided by ``divisor``, as for means and variances; 1 leaves it unchanged, integers included."""
    return total if divisor == 1 else T(total / T(divisor))


# -- finishes: the final result ----------------------------------------------------------------------------------------


def finish(total, parameter):
    """The total itself."""
    return total


def root(total, parameter):
    """The square root."""
    return sqrt(total)


def root_of_order(total, parameter):
    """The root whose order is the parameter."""
    return pow(total, T(1) / parameter)


def logarithm(total, parameter):
    """The logarithm of a sum of exponentials of elements minus the parameter."""
    return log(total) + parameter


def finite(total, parameter):
    """The largest element, which is subtracted from all; 0 if it is infinite."""
    return where(isinf(total), T(0), total)


def is_doubtful(norm, least):
    """True if powers of the elements of a norm may have overflowed, or lost digits below the smallest number."""
    return (norm == T(np.inf)) | (norm < T(least))


def _scaled_norm(x, first, length, step, order):
    """The norm of elements a ``step`` apart, from the powers of their quotients by the largest."""
    top = T(0)
    for i in range(length):
        top = maximum(top, abs(T(x[first + i * step])))
    total, lost = T(0), T(0)
    scale = top if (top > T(0)) & (top < T(np.inf)) else T(1)
    for i in range(length):
        more = pow(abs(T(x[first + i * step])) / scale, T(order)) - lost
        lost = (total + more) - total - more
        total += more
    return scale * pow(total, T(1) / T(order)) if top < T(np.inf) else top


def sure_norms(x, length, inner, norms, order, least, out: Out):
    """The ``norms`` over the middle axis; doubtful ones are recomputed from the elements divided by the largest."""
    for piece in prange((out.size + LEAF - 1) // LEAF):
        begin, end = piece * LEAF, min(out.size, (piece + 1) * LEAF)
        doubtful = False
        for column in range(begin, end):
            out[column] = norms[column]
            doubtful |= is_doubtful(norms[column], least)
        if doubtful:
            for column in range(begin, end):
                if is_doubtful(norms[column], least):
                    first = column // inner * length * inner + column % inner
                    out[column] = _scaled_norm(x, first, length, inner, order)


# -- rows -------------------------------------------------------------------------------------------------------------


def fold_lanes(lanes):
    """The fold of the 64 accumulators, by halves."""
    width = 32
    while width:
        for j in range(width):
            lanes[j] = fold(lanes[j], lanes[j + width])
        width //= 2
    return lanes[0]


def sum_of_lanes(lanes):
    """The fold for sums, in vector registers: LLVM unrolls the loops above into scalar instructions."""
    return tree_total(lanes, 64)


def _fold_into_lanes(lanes, x, start, count, parameter):
    """Fold ``count`` elements, a multiple of 64, into the accumulators."""
    for i in range(0, count, 64):
        offset = start + i
        for j in range(64):
            lanes[j] = fold(lanes[j], term(x[offset + j], parameter))


def _end_of_leaf(lanes, x, start, length, parameter, initial):
    """The fold of a leaf that begins at ``start``; the accumulators hold its elements up to a multiple of 64."""
    whole = length // 64 * 64
    total = initial
    if whole:
        for j in range(length - whole):
            lanes[j] = fold(lanes[j], term(x[start + whole + j], parameter))
        total = fold_lanes(lanes)
    else:
        for i in range(length):
            total = fold(total, term(x[start + i], parameter))
    return total


def fold_leaf(x, start, length, parameter, initial):
    """The fold of up to LEAF neighbouring elements."""
    lanes = local_array(64, T)
    whole = length // 64 * 64
    if whole:
        fill(lanes, initial, 64)
        _fold_into_lanes(lanes, x, start, whole, parameter)
    return _end_of_leaf(lanes, x, start, length, parameter, initial)


def _push(levels, depth, leaf, total):
    """Add the result of leaf number ``leaf`` to the tree; return the number of pending totals, each of fewer leaves."""
    filled = leaf
    while filled % 2:  # two totals of one level make one of the next
        depth -= 1
        total = fold(levels[depth], total)
        filled //= 2
    levels[depth] = total
    return depth + 1


def _collapse(levels, depth):
    """The fold of all pending totals in the tree."""
    total = levels[depth - 1]
    for level in range(depth - 2, -1, -1):
        total = fold(levels[level], total)
    return total


def fold_leaves(x, parameters, initial, out: Out):
    """The fold of each LEAF elements of ``x``, with the single parameter."""
    for leaf in prange(out.size):
        low = leaf * LEAF
        out[leaf] = fold_leaf(x, low, min(LEAF, x.size - low), parameters[0], T(initial))


def fold_leaves_of_tile(x, parameters, initial, out: InOut, length, first, lanes: InOut):
    """Continue ``fold_leaves`` of ``length`` elements with those in ``x``, which begin at index ``first``.

    All belong to one leaf, and their number is a multiple of 64, except at the end of the leaf.  ``lanes`` keeps the
    state from one tile of a leaf to the next.
    """
    low = first % LEAF
    stop, size = low + x.size, min(LEAF, length - first + low)
    if low == 0:
        fill(lanes, T(initial), 64)
    _fold_into_lanes(lanes, x, 0, min(stop, size // 64 * 64) - low, parameters[0])
    if stop >= size:
        out[first // LEAF] = _end_of_leaf(lanes, x, -low, size, parameters[0], T(initial))


def combine_leaves(leaves, parameters, divisor, out: Out):
    """The fold of the results of ``fold_leaves``, in the order in which ``fold_rows`` folds."""
    levels = local_array(64, T)
    depth = 0
    for leaf in range(leaves.size):
        depth = _push(levels, depth, leaf, leaves[leaf])
    out[0] = finish(_share(_collapse(levels, depth), divisor), parameters[0])


def fold_rows(x, length, parameters, initial, divisor, out: Out):
    """``out[r]`` is the fold of row ``r`` of ``x``, seen as (rows, length), with its parameter or the only one."""
    step = int(parameters.size > 1)
    for row in prange(out.size):
        parameter = parameters[row * step]
        if length <= LEAF:
            total = fold_leaf(x, row * length, length, parameter, T(initial))
        else:
            levels = local_array(64, T)
            depth = 0
            for leaf in range((length + LEAF - 1) // LEAF):
                low = leaf * LEAF
                leaf_total = fold_leaf(x, row * length + low, min(LEAF, length - low), parameter, T(initial))
                depth = _push(levels, depth, leaf, leaf_total)
            total = _collapse(levels, depth)
        out[row] = finish(_share(total, divisor), parameter)


# -- columns ----------------------------------------------------------------------------------------------------------


def side_by_side(inner):
    """The number of entries of the middle axis folded side by side, so that there are enough columns to vectorise."""
    return max(1, 64 // inner)


def _fold_lines(x, base, stride, width, begin, end, parameter, part, at):
    """Fold lines of columns, from number ``begin`` up to ``end``, into the elements of ``part`` from ``at`` on."""
    fours = begin + (end - begin) // 4 * 4
    for line in range(begin, fours, 4):
        row = base + line * stride
        two = base + (line + 1) * stride
        three = base + (line + 2) * stride
        four = base + (line + 3) * stride
        for column in range(width):
            value = fold(part[at + column], term(x[row + column], parameter[column]))
            value = fold(value, term(x[two + column], parameter[column]))
            value = fold(value, term(x[three + column], parameter[column]))
            part[at + column] = fold(value, term(x[four + column], parameter[column]))
    for line in range(fours, end):
        row = base + line * stride
        for column in range(width):
            part[at + column] = fold(part[at + column], term(x[row + column], parameter[column]))


def _finish_columns(x, base, tail, columns, many_rows, parameter, divisor, total, at, out, start):
    """Fold the ``tail`` of the entries and the partial results of lanes; store the results from ``start`` on."""
    for column in range(tail * columns):
        total[at + column] = fold(total[at + column], term(x[base + column], parameter[column]))
    for row in range(1, many_rows):
        for column in range(columns):
            total[at + column] = fold(total[at + column], total[at + row * columns + column])
    for column in range(columns):
        out[start + column] = finish(_share(total[at + column], divisor), parameter[column])


def fold_columns(x, length, inner, parameters, initial, divisor, out: Out):
    """``out[o, b, c]`` is the fold of block ``b`` of the middle axis of ``x``, seen as (outer, length, inner).

    A block is ROWS times ``side_by_side`` entries; the last one may be shorter.  Each ``[o, c]`` has a parameter of its
    own, unless there is a single one.
    """
    step = int(parameters.size > 1)
    many_rows = side_by_side(inner)
    span = ROWS * many_rows
    blocks = max(1, (length + span - 1) // span)
    chunks = (inner + COLUMNS - 1) // COLUMNS
    for piece in prange(out.size // inner * chunks):
        first = piece % chunks * COLUMNS
        block = piece // chunks
        low = block % blocks * span
        rows = min(span, length - low)
        lines = rows // many_rows
        columns = min(COLUMNS, inner - first)
        width = columns * many_rows
        stride = inner * many_rows
        base = (block // blocks * length + low) * inner + first
        parameter = local_array(COLUMNS, T)
        total = local_array(COLUMNS, T)
        part = local_array(COLUMNS, T)
        for column in range(width):
            parameter[column] = parameters[(block // blocks * inner + first + column % columns) * step]
            total[column] = T(initial)
        for begin in range(0, lines, 64):
            for column in range(width):
                part[column] = T(initial)
            _fold_lines(x, base, stride, width, begin, min(lines, begin + 64), parameter, part, 0)
            for column in range(width):
                total[column] = fold(total[column], part[column])
        tail = rows - lines * many_rows
        _finish_columns(
            x, base + lines * stride, tail, columns, many_rows, parameter, divisor, total, 0, out, block * inner + first
        )


def fold_columns_of_tile(
    x, length, inner, parameters, initial, divisor, out: InOut, first, part: InOut, total: InOut
):  # fmt: skip
    """Continue ``fold_columns`` with the entries in ``x``, for ``outer`` of 1 and a single parameter.

    ``first`` is the number of the first entry.  The entries fill lines of one block, unless the middle axis ends.
    ``part`` and ``total`` keep the state from one tile of a block to the next.
    """
    many_rows = side_by_side(inner)
    span, entries = ROWS * many_rows, x.size // inner
    low = first % span
    rows = min(span, length - first + low)
    lines, begin = rows // many_rows, low // many_rows
    stop = min(lines, begin + entries // many_rows)
    parameter = local_array(COLUMNS, T)
    for column in range(COLUMNS):
        parameter[column] = parameters[0]
    for chunk in range(0, inner, COLUMNS):
        columns = min(COLUMNS, inner - chunk)
        width, stride, base = columns * many_rows, inner * many_rows, chunk - low * inner
        if low == 0:
            for column in range(width):
                total[chunk + column] = T(initial)
        line = begin
        while line < stop:
            if line % 64 == 0:
                for column in range(width):
                    part[chunk + column] = T(initial)
            end = min(stop, line // 64 * 64 + 64)
            _fold_lines(x, base, stride, width, line, end, parameter, part, chunk)
            if end % 64 == 0 or end == lines:
                for column in range(width):
                    total[chunk + column] = fold(total[chunk + column], part[chunk + column])
            line = end
        if low + entries == rows:
            tail, target = rows - lines * many_rows, first // span * inner + chunk
            _finish_columns(
                x, base + lines * stride, tail, columns, many_rows, parameter, divisor, total, chunk, out, target
            )
