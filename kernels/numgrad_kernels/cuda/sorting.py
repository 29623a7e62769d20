"""Sorting on a GPU, by merging: tiles of a line in the memory that a block's threads share, then runs of tiles.

A line is sorted in runs of equal width, each next to the one that it is merged with.  Every element finds its place
by itself: where it stands in its own run, and how many elements of the other run come before it, by bisection.  Of
equal elements those of the left run come first, so that the order is stable; it depends on nothing but the elements.

Lines are the middle axis of (outer, length, inner), flattened; sorted, they lie one after the other.
"""

from __future__ import annotations

import numpy as np

from ..facts import Out
from .adapter import cuda

#: Placeholder: the dtype of the elements.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256

#: Placeholders: the elements that a block sorts, and twice as many.
TILE = 1024
ROOM = 2048

# -- the order --------------------------------------------------------------------------------------------------------


def before(left, right):
    """Whether an element comes before another: if it is smaller, a NaN being larger than everything."""
    return left < right or (right != right and left == left)


def descending(left, right):
    """Whether an element comes before another: if it is larger, a NaN being larger than everything."""
    return left > right or (left != left and right == right)


def _preceding(values, low, high, value, ties):
    """The place in a sorted part behind the elements that come before a value, behind its equals, too, if ``ties``."""
    while low < high:
        middle = (low + high) >> 1
        element = values[np.uint64(middle)]
        behind = not before(value, element) if ties else before(element, value)
        if behind:
            low = middle + 1
        else:
            high = middle
    return low


def other_run(own, width, length):
    """Whether a place lies in the left of two neighbouring runs of ``width``, and where the other begins and ends."""
    low = own & (-2 * width)
    middle, high = min(low + width, length), min(low + 2 * width, length)
    left = own < middle
    return left, middle if left else low, high if left else middle


# -- tiles ------------------------------------------------------------------------------------------------------------


def own_place(places, index, place):
    """Where an element of a line that is yet unsorted stood: where it stands."""
    return place


def given_place(places, index, place):
    """Where an element that has been moved stood."""
    return places[index]


def sort_tiles(x, places, lines, length, inner, chunk, shift, keep, kept, out: Out, out_places: Out):
    """Sort a chunk of a line, or several whole lines, in each block: as many as it has room for, ``2 ** shift`` each.

    Of each chunk the first ``keep`` elements are written, behind those of the line's other chunks: ``kept`` of a line.
    """
    values = cuda.shared.array(ROOM, T)
    slots = cuda.shared.array(ROOM, np.int32)  # where in its chunk each of the values stood
    thread = cuda.threadIdx.x
    chunks = (length + chunk - 1) // chunk
    group = TILE >> shift  # 1 if lines are of several chunks
    first = cuda.blockIdx.x * group // chunks
    begin = cuda.blockIdx.x * group % chunks
    present = min(group, lines - first) << shift
    count = min(chunk, length - begin * chunk)
    inside = (1 << shift) - 1
    for place in range(thread, present, THREADS):
        own = place & inside
        if own < count:
            line = first + (place >> shift)
            position = begin * chunk + own
            values[np.uint64(place)] = x[(line // inner * length + position) * inner + line % inner]
            slots[np.uint64(place)] = own
    cuda.syncthreads()
    source, width = 0, 1
    while width < chunk:
        for place in range(thread, present, THREADS):
            own = place & inside
            if own < count:
                start = source + place - own
                left, low, high = other_run(own, width, count)
                value = values[np.uint64(source + place)]
                rank = _preceding(values, start + low, start + high, value, not left) - start - low
                target = TILE - source + place + rank - (0 if left else width)
                values[np.uint64(target)] = value
                slots[np.uint64(target)] = slots[np.uint64(source + place)]
        source = TILE - source
        width *= 2
        cuda.syncthreads()
    for place in range(thread, present, THREADS):
        own = place & inside
        if own < keep and own < count:
            line = first + (place >> shift)
            position = begin * chunk + slots[np.uint64(source + place)]
            index = (line // inner * length + position) * inner + line % inner
            target = line * kept + begin * keep + own
            out[target] = values[np.uint64(source + place)]
            out_places[target] = own_place(places, index, position)


# -- runs -------------------------------------------------------------------------------------------------------------


def merge_runs(values, places, size, length, width, out: Out, out_places: Out):
    """Merge each two neighbouring runs of ``width`` elements, a power of two, of each line."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        own = index % length
        start = index - own
        left, low, high = other_run(own, width, length)
        value = values[index]
        rank = _preceding(values, start + low, start + high, value, not left) - start - low
        target = index + rank - (0 if left else width)
        out[target] = value
        out_places[target] = places[index]


# -- what has a place in the order ------------------------------------------------------------------------------------


def take_first(values, places, size, length, count, inner, out: Out, indices: Out):
    """The first ``count`` elements of each sorted line, laid out as (outer, count, inner)."""
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        rest = index // inner
        line = rest // count * inner + index % inner
        source = line * length + rest % count
        out[index] = values[source]
        indices[index] = places[source]


def take_kth(values, places, lines, length, k, out: Out, indices: Out):
    """The first of the equals of element ``k`` of each sorted line, and where it stood."""
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        start = line * length
        first = _preceding(values, start, start + length, values[start + k], False)
        out[line] = values[first]
        indices[line] = places[first]


def take_median(values, places, lines, length, past_nan, out: Out, indices: Out):
    """The first of the equals of the lower middle element of each sorted line, NaN not counted, and where it stood.

    Where there is a NaN it is the median, unless ``past_nan``.
    """
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        start = line * length
        low, high = start, start + length
        while low < high:  # the numbers come before the NaN
            place = (low + high) >> 1
            element = values[place]
            if element == element:
                low = place + 1
            else:
                high = place
        numbers = low - start
        middle = max((numbers - 1) >> 1, 0)
        if numbers < length and not past_nan:
            middle = length - 1
        first = _preceding(values, start, start + length, values[start + middle], False)
        out[line] = values[first]
        indices[line] = places[first]


def longest_runs(values, length, parts, runs: Out, ends: Out):
    """In each of ``parts`` parts of each sorted line: the most equal elements before one, and the first such one.

    No NaN equals another.
    """
    most = cuda.shared.array(THREADS, np.int64)
    where = cuda.shared.array(THREADS, np.int64)
    thread = cuda.threadIdx.x
    start = cuda.blockIdx.x // parts * length
    run, end = -1, length
    for place in range(cuda.blockIdx.x % parts * THREADS + thread, length, parts * THREADS):
        value = values[start + place]
        last = True
        if place + 1 < length:
            last = value != values[start + place + 1]
        if last:
            begin = place
            if value == value:
                begin = _preceding(values, start, start + place, value, False) - start
            if place - begin > run:
                run, end = place - begin, place
    most[np.uint64(thread)] = run
    where[np.uint64(thread)] = end
    cuda.syncthreads()
    half = THREADS // 2
    while half:
        if thread < half:
            other = most[np.uint64(thread + half)]
            place = where[np.uint64(thread + half)]
            if other > run or (other == run and place < end):
                run, end = other, place
                most[np.uint64(thread)] = run
                where[np.uint64(thread)] = end
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        runs[cuda.blockIdx.x] = run
        ends[cuda.blockIdx.x] = end


def take_mode(values, places, lines, length, parts, runs, ends, out: Out, indices: Out):
    """The element at the end of the longest run of each sorted line, of several the first, and where it stood."""
    for line in range(cuda.grid(1), lines, cuda.gridsize(1)):
        run, end = runs[line * parts], ends[line * parts]
        for part in range(line * parts + 1, (line + 1) * parts):
            if runs[part] > run or (runs[part] == run and ends[part] < end):
                run, end = runs[part], ends[part]
        out[line] = values[line * length + end]
        indices[line] = places[line * length + end]
