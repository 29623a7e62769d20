"""Sorting, searching and counting on a GPU.

Lines are sorted by merging: first tiles of a line in the shared memory of a block, then runs of tiles.  A line is
sorted in runs of equal width, each next to the one that it is merged with.  Every element finds its position by itself:
its index in its own run, plus the number of elements of the other run that precede it, found by bisection.  Equal
elements of the left run come first, so that the order is stable; it depends only on the elements.

Lines are the middle axis of (outer, length, inner), flattened; sorted lines are contiguous.
"""

from __future__ import annotations

import numpy as np

from ..cpu.sorting import before, descending, position
from ..facts import InOut, Out
from ..scalar import from_bfloat16, from_float16
from .adapter import cuda
from .language import atomic_add
from .lines import fold_line, fold_pairs, sum_of

#: Placeholder: the dtype of the elements, in which they are compared and added.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256

#: Placeholders: the elements that a block sorts, and twice as many.
TILE = 1024
TWO_TILES = 2048

#: The largest number of bins that a block counts by itself.
FEW = 2048

# -- the order --------------------------------------------------------------------------------------------------------

ascending = before


def number(bits):
    """The number with these bits of a float16."""
    return from_float16(bits)


def bfloat16_number(bits):
    """Replacement of :func:`number` for the bits of a bfloat16."""
    return from_bfloat16(bits)


def halves_before(left, right):
    """Replacement of ``before`` for numbers that are given by their bits."""
    return ascending(number(left), number(right))


def halves_descending(left, right):
    """The reverse of :func:`halves_before`, where a NaN is larger than everything, too."""
    return descending(number(left), number(right))


def _preceding(values, low, high, value, ties):
    """The end of the elements of a sorted part that precede a value or, with ``ties``, equal it."""
    while low < high:
        middle = (low + high) >> 1
        element = values[np.uint64(middle)]
        behind = not before(value, element) if ties else before(element, value)
        if behind:
            low = middle + 1
        else:
            high = middle
    return low


def other_run(position, width, length):
    """True if an index is in the left one of two runs of ``width``, and the beginning and end of the other run."""
    low = position & (-2 * width)
    middle, high = min(low + width, length), min(low + 2 * width, length)
    left = position < middle
    return left, middle if left else low, high if left else middle


# -- tiles ------------------------------------------------------------------------------------------------------------


def own_origin(origins, index, position):
    """The original index of an element in an unsorted line: its position."""
    return position


def given_origin(origins, index, position):
    """The original index of an element that has been moved."""
    return origins[index]


def sort_tiles(x, origins, lines, length, inner, chunk, shift, keep, kept, out: Out, out_origins: Out):
    """Sort, in each block, a chunk of a line, or as many whole lines of ``2 ** shift`` elements as fit into the block.

    The first ``keep`` elements of each chunk are written after those of the line's earlier chunks: ``kept`` elements
    for a line.
    """
    values = cuda.shared.array(TWO_TILES, T)
    tile_origins = cuda.shared.array(TWO_TILES, np.int32)  # the index of each value in its chunk
    thread = cuda.threadIdx.x
    chunks = (length + chunk - 1) // chunk
    group = TILE >> shift  # 1 if lines have several chunks
    first = cuda.blockIdx.x * group // chunks
    begin = cuda.blockIdx.x * group % chunks
    present = min(group, lines - first) << shift
    count = min(chunk, length - begin * chunk)
    inside = (1 << shift) - 1
    for slot in range(thread, present, THREADS):
        in_line = slot & inside
        if in_line < count:
            line = first + (slot >> shift)
            position = begin * chunk + in_line
            values[np.uint64(slot)] = x[(line // inner * length + position) * inner + line % inner]
            tile_origins[np.uint64(slot)] = in_line
    cuda.syncthreads()
    source, width = 0, 1
    while width < chunk:
        for slot in range(thread, present, THREADS):
            in_line = slot & inside
            if in_line < count:
                start = source + slot - in_line
                left, low, high = other_run(in_line, width, count)
                value = values[np.uint64(source + slot)]
                rank = _preceding(values, start + low, start + high, value, not left) - start - low
                target = TILE - source + slot + rank - (0 if left else width)
                values[np.uint64(target)] = value
                tile_origins[np.uint64(target)] = tile_origins[np.uint64(source + slot)]
        source = TILE - source
        width *= 2
        cuda.syncthreads()
    for slot in range(thread, present, THREADS):
        in_line = slot & inside
        if in_line < keep and in_line < count:
            line = first + (slot >> shift)
            position = begin * chunk + tile_origins[np.uint64(source + slot)]
            index = (line // inner * length + position) * inner + line % inner
            target = line * kept + begin * keep + in_line
            out[target] = values[np.uint64(source + slot)]
            out_origins[target] = own_origin(origins, index, position)


# -- runs -------------------------------------------------------------------------------------------------------------


def merge_runs(values, origins, size, length, width, out: Out, out_origins: Out):
    """Merge each pair of neighbouring runs of ``width`` elements, a power of two, of each line."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        position = index % length
        start = index - position
        left, low, high = other_run(position, width, length)
        value = values[index]
        rank = _preceding(values, start + low, start + high, value, not left) - start - low
        target = index + rank - (0 if left else width)
        out[target] = value
        out_origins[target] = origins[index]


# -- elements by their rank -------------------------------------------------------------------------------------------


def take_first(values, origins, size, length, count, inner, out: Out, indices: Out):
    """The first ``count`` elements of each sorted line, laid out as (outer, count, inner)."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        outer_index = index // inner
        line = outer_index // count * inner + index % inner
        source = line * length + outer_index % count
        out[index] = values[source]
        indices[index] = origins[source]


def take_kth(values, origins, lines, length, k, out: Out, indices: Out):
    """The first of the elements equal to element ``k`` of each sorted line, and its original index."""
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        start = line * length
        first = _preceding(values, start, start + length, values[start + k], False)
        out[line] = values[first]
        indices[line] = origins[first]


def take_median(values, origins, lines, length, past_nan, out: Out, indices: Out):
    """The first of the elements equal to the lower middle element of each sorted line, and its original index.

    NaN is not counted.  If there is a NaN it is the median, unless ``past_nan``.
    """
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        start = line * length
        numbers = _preceding(values, start, start + length, T(np.nan), False) - start
        middle = max((numbers - 1) >> 1, 0)
        if numbers < length and not past_nan:
            middle = length - 1
        first = _preceding(values, start, start + length, values[start + middle], False)
        out[line] = values[first]
        indices[line] = origins[first]


def _longer(run, end, other, other_end):
    """The longer of two runs, of equally long ones the first."""
    if other > run or (other == run and other_end < end):
        run, end = other, other_end
    return run, end


def longest_runs(values, length, parts, runs: Out, ends: Out):
    """For each part of a sorted line, the largest number of equal elements before an element, and that element.

    Each line has ``parts`` parts.  No NaN equals another.
    """
    most = cuda.shared.array(THREADS, np.int64)
    where = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    start = cuda.blockIdx.x // parts * length
    run, end = -1, length
    for index in range(cuda.blockIdx.x % parts * THREADS + thread, length, parts * THREADS):
        value = values[start + index]
        last = True
        if index + 1 < length:
            last = value != values[start + index + 1]
        if last:
            begin = index
            if value == value:
                begin = _preceding(values, start, start + index, value, False) - start
            if index - begin > run:
                run, end = index - begin, index
    run, end = fold_pairs(_longer, most, where, thread, thread, THREADS, 1, run, end)
    if thread == 0:
        runs[cuda.blockIdx.x] = run
        ends[cuda.blockIdx.x] = end


def take_mode(values, origins, lines, length, parts, runs, ends, out: Out, indices: Out):
    """The element at the end of the first longest run of each sorted line, and its original index."""
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        run, end = runs[line * parts], ends[line * parts]
        for part in range(line * parts + 1, (line + 1) * parts):
            run, end = _longer(run, end, runs[part], ends[part])
        out[line] = values[line * length + end]
        indices[line] = origins[line * length + end]


# -- values in sorted rows --------------------------------------------------------------------------------------------


def search_rows(rows, length, values, size, count, right, out: Out):
    """The positions of ``count`` values in a sorted row: after equal elements if ``right``, else before them."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = position(rows, i // count * length, length, T(values[i]), right)


# -- counts -----------------------------------------------------------------------------------------------------------


def bin_of(value, bins, low, high, span):
    """The bin of a whole number, which is the number itself."""
    return np.int64(value)


def bin_between(value, bins, low, high, span):
    """The bin of an element among ``bins`` equal parts of the range from ``low`` to ``high``; -1 outside the range."""
    i = -1
    if value >= low and value <= high:
        i = min(np.int64((value - low) * T(bins) / span), bins - 1)
    return i


def count_many(x, size, bins, low, high, counts: InOut):
    """Count the elements in each bin."""
    low, high = T(low), T(high)
    span = T(high - low)
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        i = bin_of(x[index], bins, low, high, span)
        if i >= 0:
            atomic_add(counts, i, np.int64(1))


def count_few(x, size, bins, low, high, counts: InOut):
    """Count the elements in each of at most FEW bins: first in each block, since many elements share a bin."""
    local_counts = cuda.shared.array(FEW, np.int32)
    low, high = T(low), T(high)
    span = T(high - low)
    for i in range(cuda.threadIdx.x, bins, THREADS):
        local_counts[np.uint64(i)] = 0
    cuda.syncthreads()
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        i = bin_of(x[index], bins, low, high, span)
        if i >= 0:
            atomic_add(local_counts, i, np.int32(1))
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, bins, THREADS):
        count = local_counts[np.uint64(i)]
        if count:
            atomic_add(counts, i, np.int64(count))


def convert_counts(counts, size, out: Out):
    """The counts as numbers of type T."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = T(counts[i])


# -- sums of weights --------------------------------------------------------------------------------------------------


def add_weights(numbers, weights, size, sums: InOut):
    """Add the weights of each number, in arbitrary order."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        atomic_add(sums, numbers[i], weights[i])


def add_weights_in_order(sorted_numbers, origins, weights, size, sums: Out):
    """For each number, one per block, the sum of its weights; ``origins`` are the original indices of the numbers."""
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    number = cuda.blockIdx.x
    low = _preceding(sorted_numbers, 0, size, number, False)
    high = _preceding(sorted_numbers, 0, size, number + 1, False)
    total = T(0)
    for i in range(low + thread, high, THREADS):
        total += weights[origins[i]]
    total = fold_line(sum_of, part, thread, thread, THREADS, 1, total)
    if thread == 0:
        sums[number] = total
