"""Sorting of long lines on a GPU by the digits of the elements, from the least significant digit to the most.

A pass orders the elements by one digit of 8 bits, and keeps the order of those with the same digit.  Each line is
divided into parts, one for a block, of ``PART`` elements; each warp of a block has a segment of its part.  A part's
counts of the digits, after those of smaller digits in all parts and of the same digit in earlier parts, say where its
elements go.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from .adapter import cuda
from .language import as_word, atomic_add
from .lines import ALL

#: Placeholder: the dtype of the elements.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256

#: Placeholders: the elements of a part, and the counts of a block: 256 for each warp.
PART, COUNTS = 4096, 2048

#: Placeholder: the bits of an element, of which the highest is that of the sign.
BITS = 32

#: Placeholder: the bits of the infinity of float16 or bfloat16.
INFINITY = 0x7C00

#: Placeholders: the warps of a block, and the threads of each.
WARPS, LANES = 8, 32

#: The number of different digits.
DIGITS = 256


def digit(value, shift, descending):
    """The digit of a signed integer, whose negative numbers come first."""
    word = np.uint64(np.int64(value)) ^ np.uint64(1 << (BITS - 1))
    return _of_word(word, shift, descending)


def digit_of_unsigned(value, shift, descending):
    """The digit of an unsigned integer."""
    return _of_word(np.uint64(value), shift, descending)


def digit_of_float(value, shift, descending):
    """The digit of a float: zeros are equal, and NaN is larger than everything."""
    return _of_float_word(np.uint64(as_word(value)), value == T(0), value != value, shift, descending)


def digit_of_half(value, shift, descending):
    """The digit of a float16 or bfloat16 with these bits, like that of other floats."""
    size = value & 0x7FFF
    return _of_float_word(np.uint64(value), size == 0, size > INFINITY, shift, descending)


def _of_float_word(word, is_zero, is_nan, shift, descending):
    sign = np.uint64(1 << (BITS - 1))
    ordered = ~word if word & sign else word | sign
    ordered = sign if is_zero else ordered
    ordered = ~np.uint64(0) if is_nan else ordered
    return _of_word(ordered, shift, descending)


def _of_word(word, shift, descending):
    part = np.int64((word >> np.uint64(shift)) & np.uint64(DIGITS - 1))
    return DIGITS - 1 - part if descending else part


def count_digits(x, length, inner, parts, shift, descending, counts: Out):
    """For each line, digit and part, the number of elements with this digit."""
    of_block = cuda.shared.array(DIGITS, np.int32)
    thread = cuda.threadIdx.x
    line = np.int64(cuda.blockIdx.x) // parts
    part = np.int64(cuda.blockIdx.x) - line * parts
    base = line // inner * length * inner + line % inner
    for i in range(thread, DIGITS, THREADS):
        of_block[np.uint64(i)] = 0
    cuda.syncthreads()
    for i in range(part * PART + thread, min(length, (part + 1) * PART), THREADS):
        atomic_add(of_block, digit(x[base + i * inner], shift, descending), np.int32(1))
    cuda.syncthreads()
    for i in range(thread, DIGITS, THREADS):
        counts[(line * DIGITS + i) * parts + part] = of_block[np.uint64(i)]


def own_origin(origins, index, position):
    """The original index of an element in an unsorted line: its position."""
    return position


def given_origin(origins, index, position):
    """The original index of an element that has been moved."""
    return origins[index]


def move_by_digit(
    x, origins, length, inner, parts, shift, descending, counts, totals, out: Out, out_origins: Out
):  # fmt: skip
    """Move elements, and their original indices, by a digit; ``totals`` are the running sums of ``counts``.

    The result has contiguous lines.
    """
    places = cuda.shared.array(COUNTS, np.int64)  # for each warp and digit, where its next element goes
    thread = cuda.threadIdx.x
    warp = thread // LANES
    lane = thread - warp * LANES
    line = np.int64(cuda.blockIdx.x) // parts
    part = np.int64(cuda.blockIdx.x) - line * parts
    base = line // inner * length * inner + line % inner
    begin = part * PART + warp * (PART // WARPS)
    end = min(length, begin + PART // WARPS)
    for i in range(thread, COUNTS, THREADS):
        places[np.uint64(i)] = 0
    cuda.syncthreads()
    for i in range(begin + lane, end, LANES):
        atomic_add(places, warp * DIGITS + digit(x[base + i * inner], shift, descending), np.int64(1))
    cuda.syncthreads()
    for i in range(thread, DIGITS, THREADS):
        source = (line * DIGITS + i) * parts + part
        place = np.int64(totals[source] - counts[source])
        for other in range(WARPS):
            slot = np.uint64(other * DIGITS + i)
            count = places[slot]
            places[slot] = place
            place += count
    cuda.syncthreads()
    for first in range(begin, end, LANES):
        i = first + lane
        value = x[base + min(i, end - 1) * inner]
        own = digit(value, shift, descending)
        same = cuda.match_any_sync(ALL, np.int32(own if i < end else DIGITS))  # the lanes with this digit
        slot = np.uint64(warp * DIGITS + own)
        place = places[slot]
        cuda.syncwarp()
        if i < end:
            earlier = cuda.popc(same & ((1 << lane) - 1))
            if earlier == 0:
                places[slot] = place + cuda.popc(same)
            target = line * length + place + earlier
            out[target] = value
            out_origins[target] = own_origin(origins, base + i * inner, i)
        cuda.syncwarp()
