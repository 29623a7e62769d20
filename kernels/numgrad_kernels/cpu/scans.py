"""Running sums, products and extremes along one axis of arrays seen as (outer, length, inner), flattened.

``fold`` combines the result so far with the next element; a launch chooses it.  A scan runs forwards, or backwards from
the last element.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..facts import InOut, Out
from ..local import local_array
from ..scalar import exp, isnan, log
from .reductions import fold
from .segments import strip, strips

#: Placeholder: the dtype that the kernel computes in.
T = np.float32

#: Elements of a row that are summed separately; CHAINS runs of CHAIN elements each.
BLOCK = 4096
CHAINS = 8
CHAIN = 512

#: Columns that are scanned together.
COLUMNS = 256

# -- sums: by blocks, so that rounding errors do not grow with the length, and threads can share a row -----------------


def _sum_block(row, backwards, out):
    """The running sums of up to BLOCK elements; a whole block is summed in eight chains, which are then joined."""
    if row.size < BLOCK:
        total = T(0)
        for i in range(row.size):
            offset = row.size - 1 - i if backwards else i
            total += T(row[offset])
            out[offset] = total
        return total
    totals = local_array(CHAINS, T)
    totals[:] = T(0)
    for i in range(CHAIN):
        for chain in range(CHAINS):
            offset = chain * CHAIN + (CHAIN - 1 - i if backwards else i)
            totals[chain] += T(row[offset])
            out[offset] = totals[chain]
    total = T(0)
    for i in range(CHAINS):
        chain = CHAINS - 1 - i if backwards else i
        _add_to(out[chain * CHAIN : (chain + 1) * CHAIN], total)
        total += totals[chain]
    return total


def _add_to(out, value):
    """Add a number to every element."""
    for i in range(out.size):
        out[i] += value


def cumsum_rows(x, length, backwards, out: Out):
    """The running sums of each row."""
    blocks = (length + BLOCK - 1) // BLOCK
    for row in prange(x.size // length):
        total = T(0)
        for i in range(blocks):
            low = row * length + (blocks - 1 - i if backwards else i) * BLOCK
            high = min(low + BLOCK, (row + 1) * length)
            block = _sum_block(x[low:high], backwards, out[low:high])
            if i:
                _add_to(out[low:high], total)
            total += block


def cumsum_short_rows(x, length, backwards, out: Out):
    """The running sums of rows shorter than BLOCK, of CHAINS rows at the same time.

    Within a single row, each addition would have to wait for the previous one.
    """
    rows = x.size // length
    for group in prange((rows + CHAINS - 1) // CHAINS):
        base = group * CHAINS * length
        chains = min(CHAINS, rows - group * CHAINS)
        totals = local_array(CHAINS, T)
        totals[:] = T(0)
        for i in range(length):
            first = base + (length - 1 - i if backwards else i)
            if chains == CHAINS:
                for chain in range(CHAINS):
                    offset = first + chain * length
                    totals[chain] += T(x[offset])
                    out[offset] = totals[chain]
            else:
                for chain in range(chains):
                    offset = first + chain * length
                    totals[chain] += T(x[offset])
                    out[offset] = totals[chain]


def cumsum_blocks(x, backwards, totals: Out, out: Out):
    """The running sums of each block of a single row separately, and the sum of each block."""
    for block in prange(totals.size):
        low, high = block * BLOCK, min((block + 1) * BLOCK, x.size)
        totals[block] = _sum_block(x[low:high], backwards, out[low:high])


def join_blocks(totals: InOut, backwards, out: InOut):
    """Turn the result of ``cumsum_blocks`` into running sums of the row, and each total into the sum before it."""
    before = T(0)
    for i in range(totals.size):
        following = totals.size - 1 - i if backwards else i
        total = totals[following]
        totals[following] = before
        before += total
    for block in prange(totals.size):
        _add_to(out[block * BLOCK : (block + 1) * BLOCK], totals[block])


def cumsum_columns(x, length, inner, backwards, out: Out):
    """The running sums along the middle axis."""
    for piece in prange(x.size // (length * inner) * strips(inner, COLUMNS)):
        base, width = strip(piece, length, inner, COLUMNS)
        many = local_array(COLUMNS, T)
        few = local_array(COLUMNS, T)
        many[:] = T(0)
        few[:] = T(0)
        for i in range(length):
            offset = base + (length - 1 - i if backwards else i) * inner
            line, sums = x[offset : offset + width], out[offset : offset + width]
            for column in range(width):
                few[column] += T(line[column])
                sums[column] = many[column] + few[column]
            if i % 64 == 63:
                for column in range(width):
                    many[column] += few[column]
                    few[column] = T(0)


# -- other scans: one element after the other --------------------------------------------------------------------------


def scan_rows(x, length, backwards, out: Out):
    """The running results of each row."""
    for row in prange(x.size // length):
        line, results = x[row * length : (row + 1) * length], out[row * length : (row + 1) * length]
        offset = length - 1 if backwards else 0
        total = T(line[offset])
        results[offset] = total
        for i in range(1, length):
            offset = length - 1 - i if backwards else i
            total = fold(total, T(line[offset]))
            results[offset] = total


def scan_columns(x, length, inner, backwards, out: Out):
    """The running results along the middle axis."""
    for line in prange(x.size // (length * inner)):
        for i in range(length):
            low = (line * length + (length - 1 - i if backwards else i)) * inner
            before = low + inner if backwards else low - inner
            values, results = x[low : low + inner], out[low : low + inner]
            if i == 0:
                for column in range(inner):
                    results[column] = T(values[column])
            else:
                earlier = out[before : before + inner]
                for column in range(inner):
                    results[column] = fold(earlier[column], T(values[column]))


def logcumsumexp_axis(x, length, inner, backwards, out: Out):
    """The logarithm of the running sums of the exponentials along the middle axis.

    The sum is kept relative to the largest element so far, together with its rounding error.
    """
    for line in prange(x.size // length):
        base = line // inner * length * inner + line % inner
        largest, total, lost = T(-np.inf), T(0), T(0)
        for i in range(length):
            offset = base + (length - 1 - i if backwards else i) * inner
            value = T(x[offset])
            if value > largest:
                factor = exp(largest - value)
                total, lost, largest, added = total * factor, lost * factor, value, T(1)
            else:
                added = T(1) if value == largest else exp(value - largest)
            added -= lost
            following = total + added
            lost = (following - total) - added
            total = following
            out[offset] = largest + log(total)


def later_larger(left, right):
    """True if the next element replaces the largest so far; an equal element replaces it."""
    return isnan(right) or (not isnan(left) and right >= left)


def later_smaller(left, right):
    """True if the next element replaces the smallest so far; an equal element replaces it."""
    return isnan(right) or (not isnan(left) and right <= left)


def scan_extremes(x, length, inner, out: Out, indices: Out):
    """The extreme so far and its index along the middle axis; ``fold`` is true if the next element replaces it."""
    for line in prange(x.size // (length * inner)):
        for i in range(length):
            low = (line * length + i) * inner
            for offset in range(low, low + inner):
                changes = i == 0 or fold(out[offset - inner], x[offset])
                out[offset] = x[offset] if changes else out[offset - inner]
                indices[offset] = i if changes else indices[offset - inner]


def recurrence_axis(x, factors, length, inner, backwards, out: Out):
    """``out[i] = x[i] + factors[i] * out[i - 1]`` along the middle axis, or with ``out[i + 1]`` if backwards."""
    for line in prange(x.size // (length * inner)):
        for i in range(length):
            low = (line * length + (length - 1 - i if backwards else i)) * inner
            before = low + inner if backwards else low - inner
            for offset in range(low, low + inner):
                out[offset] = x[offset] + factors[offset] * out[before + offset - low] if i else x[offset]
