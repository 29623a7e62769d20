"""Places in sorted rows, by bisection, and elements counted by value."""

from __future__ import annotations

import numpy as np

from ..facts import InOut, Out
from .adapter import cuda
from .language import atomic_add
from .lines import line_total

#: Placeholder: the dtype in which elements are compared and added.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256

#: The bins that a block counts by itself at most.
FEW = 2048


def search_rows(rows, length, values, size, count, right, out: Out):
    """Where each of ``count`` values to a sorted row belongs: after its equals if ``right``, else before them."""
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        value = T(values[place])
        start = place // count * length
        low, high = 0, length
        while low < high:
            middle = (low + high) >> 1
            element = T(rows[start + middle])
            behind = not element > value if right else not element >= value  # to a NaN belongs the last place
            if behind:
                low = middle + 1
            else:
                high = middle
        out[place] = low


# -- counts -----------------------------------------------------------------------------------------------------------


def bin_of(value, bins, low, high, span):
    """The bin of a number that is to be counted: one for each number."""
    return np.int64(value)


def bin_between(value, bins, low, high, span):
    """The bin of an element, of ``bins`` equally wide ones from ``low`` to ``high``, ``span`` apart; or -1."""
    place = -1
    if value >= low and value <= high:
        place = min(np.int64((value - low) * T(bins) / span), bins - 1)
    return place


def count_many(x, size, bins, low, high, span, counts: InOut):
    """Count the elements in each bin."""
    low, high, span = T(low), T(high), T(span)
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        place = bin_of(x[index], bins, low, high, span)
        if place >= 0:
            atomic_add(counts, place, np.int64(1))


def count_few(x, size, bins, low, high, span, counts: InOut):
    """Count the elements in each of at most FEW bins: each block by itself first, since many meet in one bin."""
    own = cuda.shared.array(FEW, np.int32)
    low, high, span = T(low), T(high), T(span)
    for place in range(cuda.threadIdx.x, bins, THREADS):
        own[np.uint64(place)] = 0
    cuda.syncthreads()
    for index in range(cuda.grid(1), size, cuda.gridsize(1)):
        place = bin_of(x[index], bins, low, high, span)
        if place >= 0:
            atomic_add(own, place, np.int32(1))
    cuda.syncthreads()
    for place in range(cuda.threadIdx.x, bins, THREADS):
        count = own[np.uint64(place)]
        if count:
            atomic_add(counts, place, np.int64(count))


def convert_counts(counts, size, out: Out):
    """The counts as numbers of type T."""
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[place] = T(counts[place])


# -- sums of weights --------------------------------------------------------------------------------------------------


def add_weights(numbers, weights, size, sums: InOut):
    """Add the weights of each number, in no certain order."""
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        atomic_add(sums, numbers[place], weights[place])


def _first_of(sorted_numbers, size, number):
    """The first place of a sorted row whose element is not smaller than a number."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if sorted_numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


def add_weights_in_order(sorted_numbers, places, weights, size, sums: Out):
    """For each number, one block's, the sum of its weights; ``places`` is where the sorted numbers stood."""
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    number = cuda.blockIdx.x
    low = _first_of(sorted_numbers, size, number)
    high = _first_of(sorted_numbers, size, number + 1)
    total = T(0)
    for place in range(low + thread, high, THREADS):
        total += weights[places[place]]
    total = line_total(part, thread, thread, THREADS, 1, total)
    if thread == 0:
        sums[number] = total
