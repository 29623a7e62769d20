"""Attention on GPUs without its matrix of weights in memory: it combines one tile of queries and keys at a time.

The weights of a row are ``exp(score - top)`` divided by their sum.  If a later tile has a larger score, the sums so far
are scaled down (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
"FlashAttention", 2022).  Backward recomputes the weights from each row's largest score and the reciprocal of its sum:
once for the gradient for the queries, where a block has a tile of queries, and once for those for keys and values,
where it has a tile of keys.  No two blocks therefore write to the same element, and the order of all sums is fixed.  As
on the CPU, ``scale`` multiplies differences of scores.

See ``tiles.py`` for how threads share tiles: each has 4 x 4 elements, and reads others only after a barrier.  For each
array of stacks of heads the kernels take the steps from stack to stack, from head to head and from row to row.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from ..scalar import exp
from .adapter import cuda
from .softmax import finite, larger
from .tiles import (
    add_products,
    adjacent4,
    put4,
    shrunk,
    square,
    tile_of_products,
    with_products,
    write_held,
    zeros,
)

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholders: threads of a block, the side of the square they form, and the side of a tile, four times that.
THREADS = 256
SIDE = 16
TILE = 64

#: Placeholder: the number of tiles, 0 to 2, that hold the rows of a result in registers; 0 if rows are longer.
HELD = 0

#: Placeholders for shared memory: the step from one line of a tile to the next, the elements of a tile, the elements of
#: SIDE of its lines, and the elements of an array with SIDE numbers for each line, plus padding.
PITCH = 68
AREA = 4352
PART = 1088
FOUND = 1088


def attention(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, out: Out, out_stack, out_head,
    out_row, statistics: Out, heads, queries, keys, width, causal, scale
):  # fmt: skip
    """``out`` becomes the mean of the values for each query.

    ``statistics`` becomes, for each query, its largest score and the reciprocal of the sum of its weights.
    """
    left = cuda.shared.array(PART, T, alignment=16)
    right = cuda.shared.array(PART, T, alignment=16)
    weights = cuda.shared.array(AREA, T, alignment=16)
    partial = cuda.shared.array(FOUND, T)
    tops = cuda.shared.array(TILE, T)
    sums = cuda.shared.array(TILE, T)
    shrinks = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = square(thread)
    head, first = _tile(queries)
    rows = min(TILE, queries - first)
    seen = min(keys, first + rows) if causal else keys
    q_start = _start(head, heads, q_stack, q_head) + first * q_row
    k_start = _start(head, heads, k_stack, k_head)
    v_start = _start(head, heads, v_stack, v_head)
    out_start = _start(head, heads, out_stack, out_head) + first * out_row
    sign, factor = T(-1) if T(scale) < T(0) else T(1), abs(T(scale))
    for row in range(thread, TILE, THREADS):
        tops[np.uint64(row)] = T(-np.inf)
        sums[np.uint64(row)] = T(0)
    held, more = zeros(), zeros()
    if HELD == 0:
        _clear(out, out_start, out_row, rows, width, line, across)
    for begin in range(0, seen, TILE):
        columns = min(TILE, seen - begin)
        k_offset, v_offset = k_start + begin * k_row, v_start + begin * v_row
        tile_of_products(
            weights, left, right, line, across, q, q_start, q_row, rows, k, k_offset, k_row, columns, width
        )
        edge = first + 4 * across - begin if causal else TILE  # the last key visible to the first of four queries
        top0 = top1 = top2 = top3 = T(-np.inf)
        for j in range(4):
            column = 4 * line + j
            at = np.uint64(column * PITCH + 4 * across)
            a, b, c, d = adjacent4(weights, at)
            edge = edge if column < columns else -4
            a = a * sign if column <= edge else T(-np.inf)
            b = b * sign if column <= edge + 1 else T(-np.inf)
            c = c * sign if column <= edge + 2 else T(-np.inf)
            d = d * sign if column <= edge + 3 else T(-np.inf)
            put4(weights, at, 1, a, b, c, d)
            top0, top1, top2, top3 = larger(a, top0), larger(b, top1), larger(c, top2), larger(d, top3)
        put4(partial, np.uint64(4 * across * (SIDE + 1) + line), SIDE + 1, top0, top1, top2, top3)
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            line_index = np.uint64(row)
            top = tops[line_index]
            for i in range(SIDE):
                top = larger(partial[np.uint64(row * (SIDE + 1) + i)], top)
            shrinks[line_index] = _weight(tops[line_index], finite(top), factor)
            tops[line_index] = top
        cuda.syncthreads()
        top0, top1, top2, top3 = adjacent4(tops, np.uint64(4 * across))
        sum0 = sum1 = sum2 = sum3 = T(0)
        for j in range(4):
            at = np.uint64((4 * line + j) * PITCH + 4 * across)
            a, b, c, d = adjacent4(weights, at)
            a, b = _weight(a, finite(top0), factor), _weight(b, finite(top1), factor)
            c, d = _weight(c, finite(top2), factor), _weight(d, finite(top3), factor)
            put4(weights, at, 1, a, b, c, d)
            sum0, sum1, sum2, sum3 = sum0 + a, sum1 + b, sum2 + c, sum3 + d
        put4(partial, np.uint64(4 * across * (SIDE + 1) + line), SIDE + 1, sum0, sum1, sum2, sum3)
        cuda.syncthreads()
        for row in range(thread, TILE, THREADS):
            line_index = np.uint64(row)
            sums[line_index] = sums[line_index] * shrinks[line_index] + _total(partial, row)
        if HELD == 0:
            add_products(
                weights, right, line, across, v, v_offset, v_row, columns, width, out, out_start, out_row, rows,
                shrinks, 1,
            )  # fmt: skip
        else:
            a, b, c, d = adjacent4(shrinks, np.uint64(4 * across))
            held = with_products(
                shrunk(held, a, b, c, d), weights, right, line, across, v, v_offset, v_row, columns, width, 0
            )
            if HELD == 2:
                more = with_products(
                    shrunk(more, a, b, c, d), weights, right, line, across, v, v_offset, v_row, columns, width, TILE
                )
    cuda.syncthreads()
    if HELD == 0:
        for row in range(line, rows, SIDE):
            share = _share(sums[np.uint64(row)])
            for column in range(across, width, SIDE):
                out[out_start + row * out_row + column] *= share
    else:
        a, b, c, d = adjacent4(sums, np.uint64(4 * across))
        a, b, c, d = _share(a), _share(b), _share(c), _share(d)
        write_held(shrunk(held, a, b, c, d), out, out_start, out_row, rows, width, 0, line, across)
        if HELD == 2:
            write_held(shrunk(more, a, b, c, d), out, out_start, out_row, rows, width, TILE, line, across)
    for row in range(thread, rows, THREADS):
        line_index = np.uint64(row)
        total = sums[line_index]
        at = 2 * (head * queries + first + row)
        statistics[at] = tops[line_index] if total != T(0) else T(np.inf)
        statistics[at + 1] = _share(total)


def attention_queries(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, out, out_stack, out_head,
    out_row, grad, grad_stack, grad_head, grad_row, grad_q: Out, grad_q_stack, grad_q_head, grad_q_row, statistics,
    means: Out, heads, queries, keys, width, causal, scale
):  # fmt: skip
    """The gradient for the queries from that of the result, ``grad``.

    ``means`` becomes the mean of the slopes, grad times out, which softmax's gradient subtracts from each slope.
    """
    left = cuda.shared.array(PART, T, alignment=16)
    right = cuda.shared.array(PART, T, alignment=16)
    weights = cuda.shared.array(AREA, T, alignment=16)
    slopes = cuda.shared.array(AREA, T, alignment=16)
    partial = cuda.shared.array(FOUND, T)
    shifts = cuda.shared.array(TILE, T)
    shares = cuda.shared.array(TILE, T)
    centres = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = square(thread)
    head, first = _tile(queries)
    rows = min(TILE, queries - first)
    seen = min(keys, first + rows) if causal else keys
    q_start = _start(head, heads, q_stack, q_head) + first * q_row
    k_start = _start(head, heads, k_stack, k_head)
    v_start = _start(head, heads, v_stack, v_head)
    out_start = _start(head, heads, out_stack, out_head) + first * out_row
    grad_start = _start(head, heads, grad_stack, grad_head) + first * grad_row
    grad_q_start = _start(head, heads, grad_q_stack, grad_q_head) + first * grad_q_row
    sign, factor = T(-1) if T(scale) < T(0) else T(1), abs(T(scale))
    for row in range(line, rows, SIDE):
        mean = T(0)
        for column in range(across, width, SIDE):
            mean += grad[grad_start + row * grad_row + column] * out[out_start + row * out_row + column]
        partial[np.uint64(row * (SIDE + 1) + across)] = mean
    cuda.syncthreads()
    for row in range(thread, rows, THREADS):
        line_index = np.uint64(row)
        at = 2 * (head * queries + first + row)
        shifts[line_index], shares[line_index] = statistics[at], statistics[at + 1]
        centres[line_index] = _total(partial, row)
        means[head * queries + first + row] = centres[line_index]
    held, more = zeros(), zeros()
    if HELD == 0:
        _clear(grad_q, grad_q_start, grad_q_row, rows, width, line, across)
    for begin in range(0, seen, TILE):
        columns = min(TILE, seen - begin)
        k_offset, v_offset = k_start + begin * k_row, v_start + begin * v_row
        tile_of_products(
            weights, left, right, line, across, q, q_start, q_row, rows, k, k_offset, k_row, columns, width
        )
        tile_of_products(
            slopes, left, right, line, across, grad, grad_start, grad_row, rows, v, v_offset, v_row, columns, width
        )
        edge = first + 4 * across - begin if causal else TILE
        shift0, shift1, shift2, shift3 = adjacent4(shifts, np.uint64(4 * across))
        share0, share1, share2, share3 = adjacent4(shares, np.uint64(4 * across))
        centre0, centre1, centre2, centre3 = adjacent4(centres, np.uint64(4 * across))
        for j in range(4):
            column = 4 * line + j
            at = np.uint64(column * PITCH + 4 * across)
            a, b, c, d = adjacent4(weights, at)
            e, f, g, h = adjacent4(slopes, at)
            edge = edge if column < columns else -4
            a = _weight(a * sign, shift0, factor) * share0
            e = a * (e - centre0) * T(scale) if column <= edge else T(0)
            b = _weight(b * sign, shift1, factor) * share1
            f = b * (f - centre1) * T(scale) if column <= edge + 1 else T(0)
            c = _weight(c * sign, shift2, factor) * share2
            g = c * (g - centre2) * T(scale) if column <= edge + 2 else T(0)
            d = _weight(d * sign, shift3, factor) * share3
            h = d * (h - centre3) * T(scale) if column <= edge + 3 else T(0)
            put4(slopes, at, 1, e, f, g, h)
        cuda.syncthreads()
        if HELD == 0:
            add_products(
                slopes, right, line, across, k, k_offset, k_row, columns, width, grad_q, grad_q_start, grad_q_row,
                rows, shifts, 0,
            )  # fmt: skip
        else:
            held = with_products(held, slopes, right, line, across, k, k_offset, k_row, columns, width, 0)
            if HELD == 2:
                more = with_products(more, slopes, right, line, across, k, k_offset, k_row, columns, width, TILE)
    if HELD > 0:
        write_held(held, grad_q, grad_q_start, grad_q_row, rows, width, 0, line, across)
    if HELD == 2:
        write_held(more, grad_q, grad_q_start, grad_q_row, rows, width, TILE, line, across)


def attention_keys(
    q, q_stack, q_head, q_row, k, k_stack, k_head, k_row, v, v_stack, v_head, v_row, grad, grad_stack, grad_head,
    grad_row, grad_k: Out, grad_k_stack, grad_k_head, grad_k_row, grad_v: Out, grad_v_stack, grad_v_head, grad_v_row,
    statistics, means, heads, queries, keys, width, causal, scale
):  # fmt: skip
    """The gradients for keys and values from that of the result, ``grad``, and the ``means`` of the slopes."""
    left = cuda.shared.array(PART, T, alignment=16)
    right = cuda.shared.array(PART, T, alignment=16)
    weights = cuda.shared.array(AREA, T, alignment=16)
    slopes = cuda.shared.array(AREA, T, alignment=16)
    shifts = cuda.shared.array(TILE, T)
    shares = cuda.shared.array(TILE, T)
    centres = cuda.shared.array(TILE, T)
    thread = np.int64(cuda.threadIdx.x)
    line, across = square(thread)
    head, first = _tile(keys)
    rows = min(TILE, keys - first)
    q_start = _start(head, heads, q_stack, q_head)
    k_start = _start(head, heads, k_stack, k_head) + first * k_row
    v_start = _start(head, heads, v_stack, v_head) + first * v_row
    grad_start = _start(head, heads, grad_stack, grad_head)
    grad_k_start = _start(head, heads, grad_k_stack, grad_k_head) + first * grad_k_row
    grad_v_start = _start(head, heads, grad_v_stack, grad_v_head) + first * grad_v_row
    sign, factor = T(-1) if T(scale) < T(0) else T(1), abs(T(scale))
    held_k, more_k, held_v, more_v = zeros(), zeros(), zeros(), zeros()
    if HELD == 0:
        _clear(grad_k, grad_k_start, grad_k_row, rows, width, line, across)
        _clear(grad_v, grad_v_start, grad_v_row, rows, width, line, across)
    for begin in range(first if causal else 0, queries, TILE):
        columns = min(TILE, queries - begin)
        q_offset, grad_offset = q_start + begin * q_row, grad_start + begin * grad_row
        for column in range(thread, columns, THREADS):
            at = 2 * (head * queries + begin + column)
            shifts[np.uint64(column)], shares[np.uint64(column)] = statistics[at], statistics[at + 1]
            centres[np.uint64(column)] = means[head * queries + begin + column]
        tile_of_products(
            weights, left, right, line, across, k, k_start, k_row, rows, q, q_offset, q_row, columns, width
        )
        tile_of_products(
            slopes, left, right, line, across, v, v_start, v_row, rows, grad, grad_offset, grad_row, columns, width
        )
        for j in range(4):
            column = 4 * line + j
            at = np.uint64(column * PITCH + 4 * across)
            line_index = np.uint64(column)
            # The last of the four keys visible to the query; 3 if all are visible.
            edge = column + begin - first - 4 * across if causal else 3
            edge = edge if column < columns else -1
            a, b, c, d = adjacent4(weights, at)
            e, f, g, h = adjacent4(slopes, at)
            a = _weight(a * sign, shifts[line_index], factor) * shares[line_index] if edge >= 0 else T(0)
            b = _weight(b * sign, shifts[line_index], factor) * shares[line_index] if edge >= 1 else T(0)
            c = _weight(c * sign, shifts[line_index], factor) * shares[line_index] if edge >= 2 else T(0)
            d = _weight(d * sign, shifts[line_index], factor) * shares[line_index] if edge >= 3 else T(0)
            put4(weights, at, 1, a, b, c, d)
            e, f = (e - centres[line_index]) * T(scale), (f - centres[line_index]) * T(scale)
            g, h = (g - centres[line_index]) * T(scale), (h - centres[line_index]) * T(scale)
            put4(
                slopes, at, 1, a * e if edge >= 0 else T(0), b * f if edge >= 1 else T(0),
                c * g if edge >= 2 else T(0), d * h if edge >= 3 else T(0),
            )  # fmt: skip
        cuda.syncthreads()
        if HELD == 0:
            add_products(
                weights, right, line, across, grad, grad_offset, grad_row, columns, width, grad_v, grad_v_start,
                grad_v_row, rows, shifts, 0,
            )  # fmt: skip
            add_products(
                slopes, right, line, across, q, q_offset, q_row, columns, width, grad_k, grad_k_start, grad_k_row,
                rows, shifts, 0,
            )  # fmt: skip
        else:
            held_v = with_products(held_v, weights, right, line, across, grad, grad_offset, grad_row, columns, width, 0)
            held_k = with_products(held_k, slopes, right, line, across, q, q_offset, q_row, columns, width, 0)
            if HELD == 2:
                more_v = with_products(
                    more_v, weights, right, line, across, grad, grad_offset, grad_row, columns, width, TILE
                )
                more_k = with_products(more_k, slopes, right, line, across, q, q_offset, q_row, columns, width, TILE)
    if HELD > 0:
        write_held(held_v, grad_v, grad_v_start, grad_v_row, rows, width, 0, line, across)
        write_held(held_k, grad_k, grad_k_start, grad_k_row, rows, width, 0, line, across)
    if HELD == 2:
        write_held(more_v, grad_v, grad_v_start, grad_v_row, rows, width, TILE, line, across)
        write_held(more_k, grad_k, grad_k_start, grad_k_row, rows, width, TILE, line, across)


# -- parts of the kernels ---------------------------------------------------------------------------------------------


def _tile(length):
    """The head of a block, and the first row of its tile; the last tiles, which take the most work, come first."""
    tiles = (length + TILE - 1) // TILE
    block = np.int64(cuda.blockIdx.x)
    return block // tiles, (tiles - 1 - block % tiles) * TILE


def _start(head, heads, stack_step, head_step):
    """The offset of the first element of a head."""
    return head // heads * stack_step + head % heads * head_step


def _weight(score, top, factor):
    """The weight of a score before division by their sum: 0 if the key is not visible, even if factor is 0."""
    return exp((score - top) * factor) if score != T(-np.inf) else T(0)


def _share(total):
    """The reciprocal of a sum of weights, 0 if there are none."""
    return T(1) / total if total != T(0) else T(0)


def _total(partial, row):
    """The sum of the values found by the threads of a row."""
    total = T(0)
    for i in range(SIDE):
        total += partial[np.uint64(row * (SIDE + 1) + i)]
    return total


def _clear(out, start, step, rows, width, line, across):
    """Set a tile's rows to zero."""
    for row in range(line, rows, SIDE):
        for column in range(across, width, SIDE):
            out[start + row * step + column] = T(0)
