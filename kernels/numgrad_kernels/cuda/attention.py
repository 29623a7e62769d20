"""Attention on GPUs without its matrix of weights in memory: a tile of queries meets a tile of keys at a time.

The weights of a row are ``exp(score - top)`` divided by their sum; where a later tile has a larger score, what was
summed so far is scaled down (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
"FlashAttention", 2022).  Backward computes the weights again, from the logarithm of each row's sum: once for the
gradient for the queries, where a block has a tile of queries, and once for those for keys and values, where it has a
tile of keys.  So no two blocks write to the same place, and the order of all sums is fixed.

A block's threads stand in a square of SIDE by SIDE.  Each has 4 x 4 elements of a tile, SIDE apart, and reads no others
unless all threads have waited.  Tiles in shared memory are transposed.  Of each array of stacks of heads the kernels
get the steps from stack to stack, from head to head and from row to row.
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

#: Placeholder: how much of the rows is in shared memory at a time; it divides TILE.
DEPTH = 16

#: Placeholders: elements in shared memory of a tile, of DEPTH lines of one, and of SIDE numbers for each of its lines.
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
    line, across = thread // SIDE, thread % SIDE
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
        _scores(
            weights, left, right, thread, q, q_start, q_row, rows, k, k_start + begin * k_row, k_row, columns, width
        )
        for row in range(line, TILE, SIDE):
            visible = min(columns, first + row - begin + 1) if causal else columns
            top = T(-np.inf)
            for column in range(across, TILE, SIDE):
                at = np.uint64(column * (TILE + 1) + row)
                score = weights[at] * factor if column < visible else T(-np.inf)
                weights[at] = score
                top = score if score > top else top
            found[np.uint64(row * (SIDE + 1) + across)] = top
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            own = np.uint64(row)
            top = tops[own]
            for i in range(row * (SIDE + 1), row * (SIDE + 1) + SIDE):
                top = found[np.uint64(i)] if found[np.uint64(i)] > top else top
            shrinks[own] = exp(tops[own] - _finite(top))
            tops[own] = top
        cuda.syncthreads()
        for row in range(line, TILE, SIDE):
            shift = _finite(tops[np.uint64(row)])
            total = T(0)
            for column in range(across, TILE, SIDE):
                at = np.uint64(column * (TILE + 1) + row)
                weight = exp(weights[at] - shift)
                weights[at] = weight
                total += weight
            found[np.uint64(row * (SIDE + 1) + across)] = total
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            own = np.uint64(row)
            sums[own] = sums[own] * shrinks[own] + _total(found, row)
        for row in range(line, rows, SIDE):
            for column in range(across, width, SIDE):
                out[out_start + row * out_row + column] *= shrinks[np.uint64(row)]
        _add_products(
            weights, right, thread, v, v_start + begin * v_row, v_row, columns, width, out, out_start, out_row, rows
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
    line, across = thread // SIDE, thread % SIDE
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
        _scores(weights, left, right, thread, q, q_start, q_row, rows, k, k_place, k_row, columns, width)
        _scores(slopes, left, right, thread, grad, grad_start, grad_row, rows, v, v_place, v_row, columns, width)
        for row in range(line, rows, SIDE):
            visible = min(columns, first + row - begin + 1) if causal else columns
            for column in range(across, TILE, SIDE):
                at = np.uint64(column * (TILE + 1) + row)
                weight = exp(weights[at] * factor - shifts[np.uint64(row)])
                slope = weight * (slopes[at] - centres[np.uint64(row)]) * factor
                slopes[at] = slope if column < visible else T(0)
        cuda.syncthreads()
        _add_products(
            slopes, right, thread, k, k_place, k_row, columns, width, grad_q, grad_q_start, grad_q_row, rows
        )


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
    line, across = thread // SIDE, thread % SIDE
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
        _scores(weights, left, right, thread, k, k_start, k_row, rows, q, q_place, q_row, columns, width)
        _scores(slopes, left, right, thread, v, v_start, v_row, rows, grad, grad_place, grad_row, columns, width)
        for row in range(line, rows, SIDE):
            hidden = first + row - begin if causal else 0  # the queries before the key
            for column in range(across, TILE, SIDE):
                at = np.uint64(column * (TILE + 1) + row)
                counts = hidden <= column and column < columns
                weight = exp(weights[at] * factor - shifts[np.uint64(column)])
                slope = weight * (slopes[at] - centres[np.uint64(column)]) * factor
                weights[at] = weight if counts else T(0)
                slopes[at] = slope if counts else T(0)
        cuda.syncthreads()
        _add_products(
            weights, right, thread, grad, grad_place, grad_row, columns, width, grad_v, grad_v_start, grad_v_row, rows
        )
        _add_products(
            slopes, right, thread, q, q_place, q_row, columns, width, grad_k, grad_k_start, grad_k_row, rows
        )


# -- parts of the kernels ---------------------------------------------------------------------------------------------


def _tile(length):
    """The head that a block works on, and the first row of its tile: the last tiles, which have most to do, begin."""
    tiles = (length + TILE - 1) // TILE
    block = np.int64(cuda.blockIdx.x)
    return block // tiles, (tiles - 1 - block % tiles) * TILE


def _start(head, heads, stack_step, head_step):
    """The place of the first element of a head."""
    return head // heads * stack_step + head % heads * head_step


def _finite(top):
    """What is taken off scores of which this is the largest."""
    return T(0) if top == T(-np.inf) else top


def _total(found, row):
    """The sum of what the threads of a row have found."""
    total = T(0)
    for i in range(row * (SIDE + 1), row * (SIDE + 1) + SIDE):
        total += found[np.uint64(i)]
    return total


def _clear(out, start, step, rows, width, line, across):
    """Zeros in a tile's rows."""
    for row in range(line, rows, SIDE):
        for column in range(across, width, SIDE):
            out[start + row * step + column] = T(0)


def _scores(tile, left, right, thread, x, x_start, x_step, rows, y, y_start, y_step, columns, width):
    """The products of ``rows`` rows of ``x`` and ``columns`` rows of ``y``, as a tile."""
    line, across = thread // SIDE, thread % SIDE
    sums = _zeros()
    for start in range(0, width, DEPTH):
        depth = min(DEPTH, width - start)
        cuda.syncthreads()
        _stage(left, thread, x, x_start + start, x_step, rows, depth)
        _stage(right, thread, y, y_start + start, y_step, columns, depth)
        cuda.syncthreads()
        sums = _multiplied(sums, left, np.uint64(line), right, np.uint64(across))
    at = np.uint64(across * (TILE + 1) + line)
    _put4(tile, at, sums[0], sums[1], sums[2], sums[3])
    _put4(tile, at + np.uint64(SIDE), sums[4], sums[5], sums[6], sums[7])
    _put4(tile, at + np.uint64(2 * SIDE), sums[8], sums[9], sums[10], sums[11])
    _put4(tile, at + np.uint64(3 * SIDE), sums[12], sums[13], sums[14], sums[15])


def _put4(tile, at, a, b, c, d):
    """Four elements of a row of a tile."""
    tile[at] = a
    tile[at + np.uint64(SIDE * (TILE + 1))] = b
    tile[at + np.uint64(2 * SIDE * (TILE + 1))] = c
    tile[at + np.uint64(3 * SIDE * (TILE + 1))] = d


def _add_products(tile, right, thread, y, y_start, y_step, columns, width, out, out_start, out_step, rows):
    """Add the products of a tile and ``columns`` rows of ``y`` to ``rows`` rows of ``out``."""
    line, across = thread // SIDE, thread % SIDE
    for offset in range(0, width, TILE):
        sums = _zeros()
        for start in range(0, columns, DEPTH):
            cuda.syncthreads()
            _stage_across(right, thread, y, y_start + start * y_step + offset, y_step, columns - start, width - offset)
            cuda.syncthreads()
            sums = _multiplied(sums, tile, np.uint64(start * (TILE + 1) + line), right, np.uint64(across))
        place = out_start + line * out_step + offset
        left = width - offset
        _add4(out, place, line < rows, across, left, sums[0], sums[1], sums[2], sums[3])
        place += SIDE * out_step
        _add4(out, place, line + SIDE < rows, across, left, sums[4], sums[5], sums[6], sums[7])
        place += SIDE * out_step
        _add4(out, place, line + 2 * SIDE < rows, across, left, sums[8], sums[9], sums[10], sums[11])
        place += SIDE * out_step
        _add4(out, place, line + 3 * SIDE < rows, across, left, sums[12], sums[13], sums[14], sums[15])


def _add4(out, place, inside, across, width, a, b, c, d):
    """Add to four elements of a row of ``width`` elements from ``place``, if it is inside."""
    if inside:
        if across < width:
            out[place + across] += a
        if across + SIDE < width:
            out[place + across + SIDE] += b
        if across + 2 * SIDE < width:
            out[place + across + 2 * SIDE] += c
        if across + 3 * SIDE < width:
            out[place + across + 3 * SIDE] += d


def _stage(part, thread, x, start, step, rows, depth):
    """Bring ``depth`` elements of each of the rows into shared memory, transposed, with zeros beyond."""
    for number in range(thread, TILE * DEPTH, THREADS):
        row = np.int64(np.uint64(number) // np.uint64(DEPTH))
        inner = np.int64(np.uint64(number) % np.uint64(DEPTH))
        value = T(0)
        if row < rows and inner < depth:
            value = x[start + row * step + inner]
        part[np.uint64(inner * (TILE + 1) + row)] = value


def _stage_across(part, thread, y, start, step, rows, width):
    """Bring DEPTH rows into shared memory, as much of their ``width`` as a tile has, with zeros beyond."""
    for number in range(thread, TILE * DEPTH, THREADS):
        row = np.int64(np.uint64(number) // np.uint64(TILE))
        column = np.int64(np.uint64(number) % np.uint64(TILE))
        value = T(0)
        if row < rows and column < width:
            value = y[start + row * step + column]
        part[np.uint64(row * (TILE + 1) + column)] = value


def _zeros():
    """Sixteen sums, of the elements that a thread has of a tile."""
    zero = T(0)
    return zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero


def _multiplied(sums, left, i, right, j):
    """The sums with DEPTH products added to each, of what is in shared memory from ``left[i]`` and ``right[j]``."""
    t00, t01, t02, t03, t10, t11, t12, t13, t20, t21, t22, t23, t30, t31, t32, t33 = sums
    for _ in range(DEPTH):
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
