"""Attention on GPUs without its matrix of weights in memory: a tile of queries meets a tile of keys at a time.

The weights of a row are ``exp(score - top)`` divided by their sum; where a later tile has a larger score, what was
summed so far is scaled down (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
"FlashAttention", 2022).  Backward computes the weights again, from the logarithm of each row's sum: once for the
gradient for the queries, where a block has a tile of queries, and once for those for keys and values, where it has a
tile of keys.  So no two blocks write to the same place, and the order of all sums is fixed.

A block's threads stand in a square of SIDE by SIDE, each at a place ``across`` on a ``line``.  Each has 4 x 4 elements
of a tile, SIDE apart, and reads no others unless all threads have waited.  Tiles in shared memory are transposed.  Of
each array of stacks of heads the kernels get the steps from stack to stack, from head to head and from row to row.
"""

from __future__ import annotations

import numpy as np

from ..scalar import exp, log
from .adapter import cuda

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholders: threads of a block, the side of their square, and that of a tile, which is four times as long.
THREADS = 256
SIDE = 16
TILE = 64

#: Placeholders: elements in shared memory of a tile, of SIDE lines of one, and of SIDE numbers for each of its lines.
#: Every line has one more, which spreads them over the banks of the memory.
AREA = 4160
PART = 1040
FOUND = 1088


def attention(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, out, out_stack, out_head, out_row,
    lse, heads, queries, keys, width, causal, scale,
):  # fmt: skip
    """``out`` becomes the mean of the values for each query, ``lse`` the logarithm of the sum of its weights."""
    left = cuda.shared.array(PART, T)
    right = cuda.shared.array(PART, T)
    weights = cuda.shared.array(AREA, T)
    found = cuda.shared.array(FOUND, T)
    tops = cuda.shared.array(TILE, T)
    sums = cuda.shared.array(TILE, T)
    shrinks = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = _square(thread)
    head, first = _tile(queries)
    rows = min(TILE, queries - first)
    seen = min(keys, first + rows) if causal else keys
    q_start = _start(head, heads, q_stack, q_head) + first * q_row
    k_start = _start(head, heads, k_stack, k_head)
    v_start = _start(head, heads, v_stack, v_head)
    out_start = _start(head, heads, out_stack, out_head) + first * out_row
    factor = T(scale)
    for row in range(thread, TILE, THREADS):
        tops[np.uint64(row)] = T(-np.inf)
        sums[np.uint64(row)] = T(0)
    _clear(out, out_start, out_row, rows, width, line, across)
    for begin in range(0, seen, TILE):
        columns = min(TILE, seen - begin)
        k_place, v_place = k_start + begin * k_row, v_start + begin * v_row
        _scores(weights, left, right, line, across, q, q_start, q_row, rows, k, k_place, k_row, columns, width)
        for i in range(4):
            row = line + i * SIDE
            visible = min(columns, first + row - begin + 1) if causal else columns
            top = T(-np.inf)
            for j in range(4):
                column = across + j * SIDE
                at = np.uint64(column * (TILE + 1) + row)
                score = weights[at] * factor if column < visible else T(-np.inf)
                weights[at] = score
                top = _larger(score, top)
            found[np.uint64(row * (SIDE + 1) + across)] = top
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            own = np.uint64(row)
            top = tops[own]
            for i in range(SIDE):
                top = _larger(found[np.uint64(row * (SIDE + 1) + i)], top)
            shrinks[own] = exp(tops[own] - _finite(top))
            tops[own] = top
        cuda.syncthreads()
        for i in range(4):
            row = line + i * SIDE
            shift = _finite(tops[np.uint64(row)])
            total = T(0)
            for j in range(4):
                column = across + j * SIDE
                at = np.uint64(column * (TILE + 1) + row)
                weight = exp(weights[at] - shift)
                weights[at] = weight
                total += weight
            found[np.uint64(row * (SIDE + 1) + across)] = total
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            own = np.uint64(row)
            sums[own] = sums[own] * shrinks[own] + _total(found, row)
        _add_products(
            weights, right, line, across, v, v_place, v_row, columns, width, out, out_start, out_row, rows, shrinks, 1
        )
    cuda.syncthreads()
    for row in range(line, rows, SIDE):
        total = sums[np.uint64(row)]
        share = T(1) / total if total != T(0) else T(0)
        for column in range(across, width, SIDE):
            out[out_start + row * out_row + column] *= share
    for row in range(thread, rows, THREADS):
        own = np.uint64(row)
        total = sums[own]
        lse[head * queries + first + row] = tops[own] + log(total) if total != T(0) else T(np.inf)


def attention_queries(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, out, out_stack, out_head, out_row,
    grad, grad_stack, grad_head, grad_row, grad_q, grad_q_stack, grad_q_head, grad_q_row, lse, means, heads, queries,
    keys, width, causal, scale,
):  # fmt: skip
    """The gradient for the queries from that of the result, ``grad``.

    ``means`` becomes what softmax's gradient takes off each slope: the mean of the slopes, which is grad times out.
    """
    left = cuda.shared.array(PART, T)
    right = cuda.shared.array(PART, T)
    weights = cuda.shared.array(AREA, T)
    slopes = cuda.shared.array(AREA, T)
    found = cuda.shared.array(FOUND, T)
    shifts = cuda.shared.array(TILE, T)
    centres = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = _square(thread)
    head, first = _tile(queries)
    rows = min(TILE, queries - first)
    seen = min(keys, first + rows) if causal else keys
    q_start = _start(head, heads, q_stack, q_head) + first * q_row
    k_start = _start(head, heads, k_stack, k_head)
    v_start = _start(head, heads, v_stack, v_head)
    out_start = _start(head, heads, out_stack, out_head) + first * out_row
    grad_start = _start(head, heads, grad_stack, grad_head) + first * grad_row
    grad_q_start = _start(head, heads, grad_q_stack, grad_q_head) + first * grad_q_row
    factor = T(scale)
    for row in range(line, rows, SIDE):
        mean = T(0)
        for column in range(across, width, SIDE):
            mean += grad[grad_start + row * grad_row + column] * out[out_start + row * out_row + column]
        found[np.uint64(row * (SIDE + 1) + across)] = mean
    cuda.syncthreads()
    for row in range(thread, rows, THREADS):
        own = np.uint64(row)
        shifts[own] = lse[head * queries + first + row]
        centres[own] = _total(found, row)
        means[head * queries + first + row] = centres[own]
    _clear(grad_q, grad_q_start, grad_q_row, rows, width, line, across)
    for begin in range(0, seen, TILE):
        columns = min(TILE, seen - begin)
        k_place, v_place = k_start + begin * k_row, v_start + begin * v_row
        _scores(weights, left, right, line, across, q, q_start, q_row, rows, k, k_place, k_row, columns, width)
        _scores(slopes, left, right, line, across, grad, grad_start, grad_row, rows, v, v_place, v_row, columns, width)
        for i in range(4):
            row = line + i * SIDE
            visible = min(columns, first + row - begin + 1) if causal else columns
            for j in range(4):
                column = across + j * SIDE
                at = np.uint64(column * (TILE + 1) + row)
                weight = exp(weights[at] * factor - shifts[np.uint64(row)])
                slope = weight * (slopes[at] - centres[np.uint64(row)]) * factor
                slopes[at] = slope if column < visible else T(0)
        cuda.syncthreads()
        _add_products(
            slopes, right, line, across, k, k_place, k_row, columns, width, grad_q, grad_q_start, grad_q_row, rows,
            shifts, 0,
        )  # fmt: skip


def attention_keys(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, grad, grad_stack, grad_head,
    grad_row, grad_k, grad_k_stack, grad_k_head, grad_k_row, grad_v, grad_v_stack, grad_v_head, grad_v_row, lse, means,
    heads, queries, keys, width, causal, scale,
):  # fmt: skip
    """The gradients for keys and values from that of the result, ``grad``, and the ``means`` of the slopes."""
    left = cuda.shared.array(PART, T)
    right = cuda.shared.array(PART, T)
    weights = cuda.shared.array(AREA, T)
    slopes = cuda.shared.array(AREA, T)
    shifts = cuda.shared.array(TILE, T)
    centres = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = _square(thread)
    head, first = _tile(keys)
    rows = min(TILE, keys - first)
    q_start = _start(head, heads, q_stack, q_head)
    k_start = _start(head, heads, k_stack, k_head) + first * k_row
    v_start = _start(head, heads, v_stack, v_head) + first * v_row
    grad_start = _start(head, heads, grad_stack, grad_head)
    grad_k_start = _start(head, heads, grad_k_stack, grad_k_head) + first * grad_k_row
    grad_v_start = _start(head, heads, grad_v_stack, grad_v_head) + first * grad_v_row
    factor = T(scale)
    _clear(grad_k, grad_k_start, grad_k_row, rows, width, line, across)
    _clear(grad_v, grad_v_start, grad_v_row, rows, width, line, across)
    for begin in range(first if causal else 0, queries, TILE):
        columns = min(TILE, queries - begin)
        q_place, grad_place = q_start + begin * q_row, grad_start + begin * grad_row
        for column in range(thread, columns, THREADS):
            shifts[np.uint64(column)] = lse[head * queries + begin + column]
            centres[np.uint64(column)] = means[head * queries + begin + column]
        _scores(weights, left, right, line, across, k, k_start, k_row, rows, q, q_place, q_row, columns, width)
        _scores(slopes, left, right, line, across, v, v_start, v_row, rows, grad, grad_place, grad_row, columns, width)
        for i in range(4):
            row = line + i * SIDE
            hidden = first + row - begin if causal else 0  # the queries before the key
            for j in range(4):
                column = across + j * SIDE
                at = np.uint64(column * (TILE + 1) + row)
                counts = hidden <= column and column < columns
                weight = exp(weights[at] * factor - shifts[np.uint64(column)])
                slope = weight * (slopes[at] - centres[np.uint64(column)]) * factor
                weights[at] = weight if counts else T(0)
                slopes[at] = slope if counts else T(0)
        cuda.syncthreads()
        _add_products(
            weights, right, line, across, grad, grad_place, grad_row, columns, width, grad_v, grad_v_start, grad_v_row,
            rows, shifts, 0,
        )  # fmt: skip
        _add_products(
            slopes, right, line, across, q, q_place, q_row, columns, width, grad_k, grad_k_start, grad_k_row, rows,
            shifts, 0,
        )  # fmt: skip


# -- parts of the kernels ---------------------------------------------------------------------------------------------


def _tile(length):
    """The head that a block works on, and the first row of its tile: the last tiles, which have most to do, begin."""
    tiles = (length + TILE - 1) // TILE
    block = np.int64(cuda.blockIdx.x)
    return block // tiles, (tiles - 1 - block % tiles) * TILE


def _start(head, heads, stack_step, head_step):
    """The place of the first element of a head."""
    return head // heads * stack_step + head % heads * head_step


def _square(thread):
    """Where a thread stands: on which line, and how far across."""
    return np.int64(np.uint64(thread) // np.uint64(SIDE)), np.int64(np.uint64(thread) % np.uint64(SIDE))


def _larger(score, top):
    return score if score > top else top


def _finite(top):
    """What is taken off scores of which this is the largest."""
    return T(0) if top == T(-np.inf) else top


def _total(found, row):
    """The sum of what the threads of a row have found."""
    total = T(0)
    for i in range(SIDE):
        total += found[np.uint64(row * (SIDE + 1) + i)]
    return total


def _clear(out, start, step, rows, width, line, across):
    """Zeros in a tile's rows."""
    for row in range(line, rows, SIDE):
        for column in range(across, width, SIDE):
            out[start + row * step + column] = T(0)


def _scores(tile, left, right, line, across, x, x_start, x_step, rows, y, y_start, y_step, columns, width):
    """The products of ``rows`` rows of ``x`` and ``columns`` rows of ``y``, as a tile."""
    sums = _zeros()
    for start in range(0, width, SIDE):
        cuda.syncthreads()
        _stage(left, line, across, x, x_start + start, x_step, rows, width - start)
        _stage(right, line, across, y, y_start + start, y_step, columns, width - start)
        cuda.syncthreads()
        sums = _multiplied(sums, left, np.uint64(line), right, np.uint64(across))
    at = np.uint64(across * (TILE + 1) + line)
    _put4(tile, at, SIDE * (TILE + 1), sums[0], sums[1], sums[2], sums[3])
    _put4(tile, at + np.uint64(SIDE), SIDE * (TILE + 1), sums[4], sums[5], sums[6], sums[7])
    _put4(tile, at + np.uint64(2 * SIDE), SIDE * (TILE + 1), sums[8], sums[9], sums[10], sums[11])
    _put4(tile, at + np.uint64(3 * SIDE), SIDE * (TILE + 1), sums[12], sums[13], sums[14], sums[15])


def _add_products(
    tile, right, line, across, y, y_start, y_step, columns, width, out, out_start, out_step, rows, shrinks, shrinking
):  # fmt: skip
    """Add the products of a tile and ``columns`` rows of ``y`` to ``rows`` rows of ``out``, which may shrink first."""
    for offset in range(0, width, TILE):
        sums = _zeros()
        for start in range(0, columns, SIDE):
            cuda.syncthreads()
            _stage_across(
                right, line, across, y, y_start + start * y_step + offset, y_step, columns - start, width - offset
            )
            cuda.syncthreads()
            sums = _multiplied(sums, tile, np.uint64(start * (TILE + 1) + line), right, np.uint64(across))
        place = out_start + line * out_step + offset + across
        left = width - offset - across
        own = np.uint64(line)
        if line < rows:
            shrink = shrinks[own] if shrinking else T(1)
            _add4(out, place, left, shrink, sums[0], sums[1], sums[2], sums[3])
        if line + SIDE < rows:
            shrink = shrinks[own + np.uint64(SIDE)] if shrinking else T(1)
            _add4(out, place + SIDE * out_step, left, shrink, sums[4], sums[5], sums[6], sums[7])
        if line + 2 * SIDE < rows:
            shrink = shrinks[own + np.uint64(2 * SIDE)] if shrinking else T(1)
            _add4(out, place + 2 * SIDE * out_step, left, shrink, sums[8], sums[9], sums[10], sums[11])
        if line + 3 * SIDE < rows:
            shrink = shrinks[own + np.uint64(3 * SIDE)] if shrinking else T(1)
            _add4(out, place + 3 * SIDE * out_step, left, shrink, sums[12], sums[13], sums[14], sums[15])


def _add4(out, place, left, shrink, a, b, c, d):
    """Add to elements SIDE apart, of which as many are there as are less than ``left`` away."""
    if left > 0:
        out[place] = out[place] * shrink + a
    if left > SIDE:
        out[place + SIDE] = out[place + SIDE] * shrink + b
    if left > 2 * SIDE:
        out[place + 2 * SIDE] = out[place + 2 * SIDE] * shrink + c
    if left > 3 * SIDE:
        out[place + 3 * SIDE] = out[place + 3 * SIDE] * shrink + d


def _stage(part, line, across, x, start, step, rows, width):
    """Bring SIDE elements of each of the rows into shared memory, transposed, with zeros beyond rows and width."""
    place = start + min(across, width - 1)
    a = x[place + min(line, rows - 1) * step]  # all four are on their way before the first is waited for
    b = x[place + min(line + SIDE, rows - 1) * step]
    c = x[place + min(line + 2 * SIDE, rows - 1) * step]
    d = x[place + min(line + 3 * SIDE, rows - 1) * step]
    rows = rows if across < width else 0
    a = a if line < rows else T(0)
    b = b if line + SIDE < rows else T(0)
    c = c if line + 2 * SIDE < rows else T(0)
    d = d if line + 3 * SIDE < rows else T(0)
    _put4(part, np.uint64(across * (TILE + 1) + line), SIDE, a, b, c, d)


def _stage_across(part, line, across, y, start, step, rows, width):
    """Bring SIDE rows into shared memory, as much of their width as a tile has, with zeros beyond rows and width."""
    place = start + min(line, rows - 1) * step
    a = y[place + min(across, width - 1)]
    b = y[place + min(across + SIDE, width - 1)]
    c = y[place + min(across + 2 * SIDE, width - 1)]
    d = y[place + min(across + 3 * SIDE, width - 1)]
    width = width if line < rows else 0
    a = a if across < width else T(0)
    b = b if across + SIDE < width else T(0)
    c = c if across + 2 * SIDE < width else T(0)
    d = d if across + 3 * SIDE < width else T(0)
    _put4(part, np.uint64(line * (TILE + 1) + across), SIDE, a, b, c, d)


def _put4(part, at, step, a, b, c, d):
    """Four elements in shared memory, a step apart."""
    part[at] = a
    part[at + np.uint64(step)] = b
    part[at + np.uint64(2 * step)] = c
    part[at + np.uint64(3 * step)] = d


def _zeros():
    """Sixteen sums, of the elements that a thread has of a tile."""
    zero = T(0)
    return zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero


def _multiplied(sums, left, i, right, j):
    """The sums with SIDE products added to each, of what is in shared memory from ``left[i]`` and ``right[j]``."""
    t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33 = sums
    for _ in range(SIDE):
        a0, a1 = left[i], left[i + np.uint64(SIDE)]
        a2, a3 = left[i + np.uint64(2 * SIDE)], left[i + np.uint64(3 * SIDE)]
        b0, b1 = right[j], right[j + np.uint64(SIDE)]
        b2, b3 = right[j + np.uint64(2 * SIDE)], right[j + np.uint64(3 * SIDE)]
        t00, t01, t02, t03 = t00 + a0 * b0, t01 + a0 * b1, t02 + a0 * b2, t03 + a0 * b3
        t10, t11, t12, t13 = t10 + a1 * b0, t11 + a1 * b1, t12 + a1 * b2, t13 + a1 * b3
        t20, t21, t22, t23 = t20 + a2 * b0, t21 + a2 * b1, t22 + a2 * b2, t23 + a2 * b3
        t30, t31, t32, t33 = t30 + a3 * b0, t31 + a3 * b1, t32 + a3 * b2, t33 + a3 * b3
        i += np.uint64(TILE + 1)
        j += np.uint64(TILE + 1)
    return t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33
