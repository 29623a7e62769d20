"""Layer normalization of rows, and its gradients, on GPUs.

Each row is read twice.  The first pass computes its mean and variance together: those of four elements are joined with
those so far (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
1979).  The second pass computes the result.  See ``lines.py`` for how threads share rows.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from ..scalar import sqrt
from .adapter import cuda
from .lines import ALL, PACKED, WARP, line_totals, position, read4, up_to4, write4

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Placeholder: threads in a block.
THREADS = 256

#: Placeholder: sums over columns that a block keeps; a multiple of 4 * THREADS not less than the length.
KEPT = 1024


def _given4(row, is_given, column, step, length, instead):
    """Four elements of a weight or a bias if it is ``is_given``, else ``instead``."""
    if is_given:
        return read4(row, column, step, length - 1)
    return instead, instead, instead, instead


def _join(count, mean, spread, more, centre, around):
    """The number, the mean and the squared distances of the union of two sets of elements."""
    share = more / (count + more) if more > T(0) else T(0)
    distance = centre - mean if more > T(0) else T(0)
    return count + more, mean + distance * share, spread + around + distance * distance * (count * share)


def _moments_of_row(counts, centres, spreads, thread, level, depth, count, mean, spread):
    """The mean and the squared distances of a row, for all its threads: see ``lines.pair_of_line``."""
    half = min(depth, WARP) >> 1
    while half:
        more, centre = cuda.shfl_xor_sync(ALL, count, half), cuda.shfl_xor_sync(ALL, mean, half)
        around = cuda.shfl_xor_sync(ALL, spread, half)
        count, mean, spread = _join(count, mean, spread, more, centre, around)
        half >>= 1
    if depth > WARP:
        if level % WARP == 0:
            slot = np.uint64(thread // WARP)
            counts[slot], centres[slot], spreads[slot] = count, mean, spread
        cuda.syncthreads()
        begin = (thread - level) // WARP
        first = np.uint64(begin)
        count, mean, spread = counts[first], centres[first], spreads[first]
        for warp in range(begin + 1, begin + depth // WARP):
            slot = np.uint64(warp)
            count, mean, spread = _join(count, mean, spread, counts[slot], centres[slot], spreads[slot])
    else:
        lane = thread % WARP - level
        mean, spread = cuda.shfl_sync(ALL, mean, lane), cuda.shfl_sync(ALL, spread, lane)
    return mean, spread


def layer_norm_rows(
    x, lines, length, weight, weighted, bias, biased, eps, columns, depth, shift, out: Out, means: Out, scales: Out
):  # fmt: skip
    """``(x - mean) * scale * weight + bias``, for each row."""
    counts = cuda.shared.array(THREADS, T)
    centres = cuda.shared.array(THREADS, T)
    spreads = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, column, _ = position(thread, shift, 1)
    line = np.int64(cuda.blockIdx.x) * columns + column
    base = min(line, lines - 1) * length  # threads without a row read the last one
    last = base + length - 1
    step = 1 if PACKED else depth
    first = base + level * (4 if PACKED else 1)
    count, mean, spread = T(0), T(0), T(0)
    offset = first
    while offset <= last:
        a, b, c, d = up_to4(last, offset, step, T(1), T(1), T(1), T(1), T(0))
        four = (a + b) + (c + d)
        a, b, c, d = read4(x, offset, step, last)
        a, b, c, d = up_to4(last, offset, step, a, b, c, d, T(0))
        centre = ((a + b) + (c + d)) / four
        a, b, c, d = up_to4(last, offset, step, a - centre, b - centre, c - centre, d - centre, T(0))
        share = four / (count + four)
        distance = centre - mean
        mean += distance * share
        spread += (a * a + b * b) + (c * c + d * d) + distance * (distance * (count * share))
        count += four
        offset += 4 * depth
    mean, spread = _moments_of_row(counts, centres, spreads, thread, level, depth, count, mean, spread)
    scale = T(1) / sqrt(spread / T(length) + T(eps))
    if line < lines:
        if level == 0:
            means[line] = mean
            scales[line] = scale
        offset = first
        while offset <= last:
            a, b, c, d = read4(x, offset, step, last)
            e, f, g, h = _given4(weight, weighted, offset - base, step, length, T(1))
            i, j, k, l = _given4(bias, biased, offset - base, step, length, T(0))  # noqa: E741
            write4(
                out, offset, step, last, (a - mean) * scale * e + i, (b - mean) * scale * f + j,
                (c - mean) * scale * g + k, (d - mean) * scale * h + l,
            )  # fmt: skip
            offset += 4 * depth


# -- gradients --------------------------------------------------------------------------------------------------------


def _projections(grad, weight, weighted, x, mean, base, first, last, step, stride, length):
    """The sums of ``grad * weight`` and of ``grad * weight * (x - mean)`` over a thread's part of a row."""
    shift, slope = T(0), T(0)
    offset = first
    while offset <= last:
        a, b, c, d = read4(grad, offset, step, last)
        e, f, g, h = read4(x, offset, step, last)
        p, q, r, s = _given4(weight, weighted, offset - base, step, length, T(1))
        a, b, c, d = up_to4(last, offset, step, a * p, b * q, c * r, d * s, T(0))
        e, f, g, h = up_to4(last, offset, step, e, f, g, h, mean)
        shift += (a + b) + (c + d)
        slope += (a * (e - mean) + b * (f - mean)) + (c * (g - mean) + d * (h - mean))
        offset += stride
    return shift, slope


def _of_input(grad, weight, normal, scale, shift, slope):
    """The gradient for an element of the normalized input."""
    return scale * (grad * weight - shift - normal * slope)


def layer_norm_backward_rows(
    grad, x, means, scales, lines, length, weight, weighted, columns, depth, shift, out: Out
):  # fmt: skip
    """``scale * (g - mean(g) - y * mean(g * y))`` with ``g = grad * weight`` and ``y`` the normalized row."""
    shifts = cuda.shared.array(THREADS, T)
    slopes = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, column, apart = position(thread, shift, 1)
    line = np.int64(cuda.blockIdx.x) * columns + column
    read = min(line, lines - 1)
    base = read * length
    last = base + length - 1
    step = 1 if PACKED else depth
    first = base + level * (4 if PACKED else 1)
    mean, scale = means[read], scales[read]
    of_thread = _projections(grad, weight, weighted, x, mean, base, first, last, step, 4 * depth, length)
    total, slope = line_totals(shifts, slopes, thread, level, depth, apart, of_thread[0], of_thread[1])
    total /= T(length)
    slope *= scale / T(length)
    if line < lines:
        offset = first
        while offset <= last:
            a, b, c, d = read4(grad, offset, step, last)
            e, f, g, h = read4(x, offset, step, last)
            p, q, r, s = _given4(weight, weighted, offset - base, step, length, T(1))
            write4(
                out, offset, step, last, _of_input(a, p, (e - mean) * scale, scale, total, slope),
                _of_input(b, q, (f - mean) * scale, scale, total, slope),
                _of_input(c, r, (g - mean) * scale, scale, total, slope),
                _of_input(d, s, (h - mean) * scale, scale, total, slope),
            )  # fmt: skip
            offset += 4 * depth


def layer_norm_gradients(grad, x, means, scales, lines, length, weight, weighted, rows, out: Out, parts: Out):
    """The result of ``layer_norm_backward_rows``, and the gradients for weight and bias over pieces of ``rows`` rows.

    Each piece is processed by one block.  For piece ``p``, ``parts[p, 0]`` becomes the sum of ``grad * y``, and
    ``parts[p, 1]`` the sum of ``grad``.  The block accumulates both in shared memory, each thread in its own columns.
    """
    shifts = cuda.shared.array(THREADS, T)
    slopes = cuda.shared.array(THREADS, T)
    factors = cuda.shared.array(KEPT, T)
    terms = cuda.shared.array(KEPT, T)
    thread = cuda.threadIdx.x
    piece = np.int64(cuda.blockIdx.x)
    step = 1 if PACKED else THREADS
    column = thread * (4 if PACKED else 1)
    for i in range(thread, KEPT, THREADS):
        factors[np.uint64(i)] = T(0)
        terms[np.uint64(i)] = T(0)
    for line in range(piece * rows, min(lines, (piece + 1) * rows)):
        base = line * length
        last = base + length - 1
        first = base + column
        mean, scale = means[line], scales[line]
        of_thread = _projections(grad, weight, weighted, x, mean, base, first, last, step, 4 * THREADS, length)
        total, slope = line_totals(shifts, slopes, thread, thread, THREADS, 1, of_thread[0], of_thread[1])
        total /= T(length)
        slope *= scale / T(length)
        slot = np.uint64(thread)
        offset = first
        while offset <= last:
            a, b, c, d = read4(grad, offset, step, last)
            e, f, g, h = read4(x, offset, step, last)
            p, q, r, s = _given4(weight, weighted, offset - base, step, length, T(1))
            e, f, g, h = (e - mean) * scale, (f - mean) * scale, (g - mean) * scale, (h - mean) * scale
            write4(
                out, offset, step, last,
                _of_input(a, p, e, scale, total, slope), _of_input(b, q, f, scale, total, slope),
                _of_input(c, r, g, scale, total, slope), _of_input(d, s, h, scale, total, slope),
            )  # fmt: skip
            # The sums beyond the row are never used.
            factors[slot] += a * e
            factors[slot + np.uint64(THREADS)] += b * f
            factors[slot + np.uint64(2 * THREADS)] += c * g
            factors[slot + np.uint64(3 * THREADS)] += d * h
            terms[slot] += a
            terms[slot + np.uint64(THREADS)] += b
            terms[slot + np.uint64(2 * THREADS)] += c
            terms[slot + np.uint64(3 * THREADS)] += d
            slot += np.uint64(4 * THREADS)
            offset += 4 * THREADS
        cuda.syncthreads()  # before the next row's sums
    _write_sums(parts, piece * 2 * length, length, thread, column, step, factors)
    _write_sums(parts, (piece * 2 + 1) * length, length, thread, column, step, terms)


def _write_sums(parts, base, length, thread, column, step, sums):
    """Write a thread's sums over its columns."""
    slot = np.uint64(thread)
    offset = base + column
    while offset < base + length:
        write4(
            parts, offset, step, base + length - 1, sums[slot], sums[slot + np.uint64(THREADS)],
            sums[slot + np.uint64(2 * THREADS)], sums[slot + np.uint64(3 * THREADS)],
        )  # fmt: skip
        slot += np.uint64(4 * THREADS)
        offset += 4 * THREADS


def layer_norm_columns(grad, x, means, scales, lines, length, rows, strips, depth, shift, parts: Out):
    """The ``parts`` of ``layer_norm_gradients``, for rows too long or too short for it.

    A row is divided into ``strips``, and a block processes a strip of ``1 << shift`` columns, with ``depth`` threads
    for each column.
    """
    factors = cuda.shared.array(THREADS, T)
    terms = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    level, near, apart = position(thread, shift, 0)
    piece = np.int64(cuda.blockIdx.x) // strips
    column = np.int64(cuda.blockIdx.x) % strips * apart + near
    factor, term = T(0), T(0)
    if column < length:
        for line in range(piece * rows + level, min(lines, (piece + 1) * rows), depth):
            offset = line * length + column
            factor += grad[offset] * ((x[offset] - means[line]) * scales[line])
            term += grad[offset]
    factor, term = line_totals(factors, terms, thread, level, depth, apart, factor, term)
    if level == 0 and column < length:
        parts[piece * 2 * length + column] = factor
        parts[(piece * 2 + 1) * length + column] = term
