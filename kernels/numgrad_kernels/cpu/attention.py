"""Attention without its matrix of weights in memory: it combines one block of 64 queries and 64 keys at a time.

The weights of a row are ``exp(score - top)`` divided by their sum.  If a later block has a larger score, the sums so
far are scaled down (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
"FlashAttention", 2022).  Backward recomputes the weights from each row's largest score and the reciprocal of its sum.
The logarithm of the sum, of which the largest score is a part, would round away the digits of the weights.

Scores are the products of queries and keys.  ``scale`` multiplies their differences from the largest, whose rounding
does not depend on whether a multiplication and a subtraction are done in one instruction.

``plan`` holds the numbers of stacks, heads, queries and keys, the width of the heads and whether a query sees only the
keys up to its own position; then for each array, in the order of the arguments, its steps from stack to stack, from
head to head and from row to row.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..blocks import between, block, larger, put, repeated, tree_largest, tree_total
from ..facts import Blas, Out, reaches
from ..foreign import gemm
from ..local import local_array
from ..scalar import exp

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Rows of a block of queries and of a block of keys; the number of their products.
TILE, TILE_SQUARED = 64, 4096

#: Scores of a row that are computed together.
LANES = 32

#: Entries of the plan before those of the arrays, and entries per array.
HEADER, ENTRIES = 6, 3


def _heads_starts(plan, arrays, head, starts):
    """Set ``starts`` to the offsets of the first element of a head in each of the ``arrays``."""
    for array in range(arrays):
        entry = HEADER + array * ENTRIES
        starts[array] = head // plan[1] * plan[entry] + head % plan[1] * plan[entry + 1]


def _step(plan, array):
    """The step from row to row."""
    return plan[HEADER + array * ENTRIES + 2]


def _whole_lanes(count):
    """The count rounded up to a multiple of the scores that loops over a row process together."""
    return min(TILE, (count + LANES - 1) // LANES * LANES)


def _largest(args):
    stacks, heads, queries, keys, width, *_ = args.plan.tolist()
    return stacks * heads * max(queries, keys) * width


@reaches(_largest)
def attention(address: Blas, plan, q, k, v, out: Out, statistics: Out, scale):
    """``out`` becomes the mean of the values for each query.

    ``statistics`` becomes, for each query, its largest score and the reciprocal of the sum of its weights.
    """
    sign, factor = T(-1) if scale < 0 else T(1), T(abs(scale))
    queries, keys, width = plan[2], plan[3], plan[4]
    blocks = (queries + TILE - 1) // TILE
    for piece in prange(plan[0] * plan[1] * blocks):
        head = piece // blocks
        first = piece % blocks * TILE
        rows = min(TILE, queries - first)
        seen = min(keys, first + rows) if plan[5] else keys
        starts = local_array(4, np.int64)
        _heads_starts(plan, 4, head, starts)
        q_start = starts[0] + first * _step(plan, 0)
        out_start = starts[3] + first * _step(plan, 3)
        scores = local_array(TILE_SQUARED, T)
        tops = local_array(TILE, T)
        sums = local_array(TILE, T)
        tops[:] = T(-np.inf)
        sums[:] = T(0)
        for begin in range(0, seen, TILE):
            columns = min(TILE, seen - begin)
            k_start = starts[1] + begin * _step(plan, 1)
            v_start = starts[2] + begin * _step(plan, 2)
            gemm(
                address, rows, columns, width, q, q_start, _step(plan, 0), 0, k, k_start, _step(plan, 1), 1,
                0, scores, 0, TILE,
            )  # fmt: skip
            for row in range(rows):
                visible = min(columns, first + row - begin + 1) if plan[5] else columns
                lanes = _whole_lanes(visible)
                line = row * TILE
                highest = repeated(tops[row], LANES)
                for j in range(0, lanes, LANES):
                    scaled = between(block(scores, line + j, LANES) * sign, 0, visible - j, T(-np.inf))
                    put(scores, line + j, scaled)
                    highest = larger(scaled, highest)
                top = tree_largest(highest, LANES)
                shift = T(0) if top == T(-np.inf) else top
                added = repeated(T(0), LANES)
                for j in range(0, lanes, LANES):
                    weights = exp((block(scores, line + j, LANES) - shift) * factor)
                    weights = between(weights, 0, visible - j, T(0))
                    put(scores, line + j, weights)
                    added = added + weights
                for j in range(lanes, columns):
                    scores[line + j] = T(0)
                shrink = T(0) if tops[row] == T(-np.inf) else exp((tops[row] - shift) * factor)
                sums[row] = sums[row] * shrink + tree_total(added, LANES)
                tops[row] = top
                if begin:
                    offset = out_start + row * _step(plan, 3)
                    for j in range(width):
                        out[offset + j] *= shrink
            gemm(
                address, rows, width, columns, scores, 0, TILE, 0, v, v_start, _step(plan, 2), 0,
                1 if begin else 0, out, out_start, _step(plan, 3),
            )  # fmt: skip
        for row in range(rows):
            empty = sums[row] == T(0)
            share = T(0) if empty else T(1) / sums[row]
            offset = out_start + row * _step(plan, 3)
            for j in range(width):
                out[offset + j] *= share
            pair = 2 * (head * queries + first + row)
            statistics[pair] = T(np.inf) if empty else tops[row]
            statistics[pair + 1] = share


@reaches(_largest)
def attention_backward(
    address: Blas, plan, q, k, v, out, grad, grad_q: Out, grad_k: Out, grad_v: Out, statistics, scale
):  # fmt: skip
    """The gradients for queries, keys and values, from that of the result, ``grad``."""
    sign, factor = T(-1) if scale < 0 else T(1), T(abs(scale))
    queries, keys, width = plan[2], plan[3], plan[4]
    for head in prange(plan[0] * plan[1]):
        starts = local_array(8, np.int64)
        _heads_starts(plan, 8, head, starts)
        weights = local_array(TILE_SQUARED, T)
        slopes = local_array(TILE_SQUARED, T)
        means = local_array(TILE, T)
        for row in range(keys):
            k_offset = starts[6] + row * _step(plan, 6)
            v_offset = starts[7] + row * _step(plan, 7)
            for j in range(width):
                grad_k[k_offset + j] = T(0)
                grad_v[v_offset + j] = T(0)
        for first in range(0, queries, TILE):
            rows = min(TILE, queries - first)
            seen = min(keys, first + rows) if plan[5] else keys
            q_start = starts[0] + first * _step(plan, 0)
            grad_start = starts[4] + first * _step(plan, 4)
            grad_q_start = starts[5] + first * _step(plan, 5)
            for row in range(rows):
                # Softmax's gradient subtracts the mean of the slopes, grad times out, from each slope.
                offset = starts[3] + (first + row) * _step(plan, 3)
                grad_offset = grad_start + row * _step(plan, 4)
                lanes = repeated(T(0), LANES)
                for j in range(0, width - LANES + 1, LANES):
                    lanes = lanes + block(grad, grad_offset + j, LANES) * block(out, offset + j, LANES)
                mean = tree_total(lanes, LANES)
                for j in range(width // LANES * LANES, width):
                    mean += grad[grad_offset + j] * out[offset + j]
                means[row] = mean
            for begin in range(0, seen, TILE):
                columns = min(TILE, seen - begin)
                k_start = starts[1] + begin * _step(plan, 1)
                v_start = starts[2] + begin * _step(plan, 2)
                grad_k_start = starts[6] + begin * _step(plan, 6)
                grad_v_start = starts[7] + begin * _step(plan, 7)
                gemm(
                    address, rows, columns, width, q, q_start, _step(plan, 0), 0, k, k_start, _step(plan, 1), 1,
                    0, weights, 0, TILE,
                )  # fmt: skip
                gemm(
                    address, rows, columns, width, grad, grad_start, _step(plan, 4), 0, v, v_start, _step(plan, 2), 1,
                    0, slopes, 0, TILE,
                )  # fmt: skip
                for row in range(rows):
                    visible = min(columns, first + row - begin + 1) if plan[5] else columns
                    line = row * TILE
                    pair = 2 * (head * queries + first + row)
                    shift, share = statistics[pair], statistics[pair + 1]
                    mean = means[row]
                    for j in range(0, _whole_lanes(visible), LANES):
                        at = line + j
                        weight = exp((block(weights, at, LANES) * sign - shift) * factor) * share
                        slope = weight * (block(slopes, at, LANES) - mean) * T(scale)
                        put(weights, at, between(weight, 0, visible - j, T(0)))
                        put(slopes, at, between(slope, 0, visible - j, T(0)))
                    for j in range(_whole_lanes(visible), columns):
                        weights[line + j] = T(0)
                        slopes[line + j] = T(0)
                gemm(
                    address, columns, width, rows, weights, 0, TILE, 1, grad, grad_start, _step(plan, 4), 0,
                    1, grad_v, grad_v_start, _step(plan, 7),
                )  # fmt: skip
                gemm(
                    address, rows, width, columns, slopes, 0, TILE, 0, k, k_start, _step(plan, 1), 0,
                    1 if begin else 0, grad_q, grad_q_start, _step(plan, 5),
                )  # fmt: skip
                gemm(
                    address, columns, width, rows, slopes, 0, TILE, 1, q, q_start, _step(plan, 0), 0,
                    1, grad_k, grad_k_start, _step(plan, 6),
                )  # fmt: skip
