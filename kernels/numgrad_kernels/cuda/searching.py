"""Places in sorted rows, by bisection, and elements counted by value."""

from __future__ import annotations

import numpy as np

from .adapter import cuda
from .language import atomic_add

#: Placeholder: the dtype in which elements are compared and added.
T = np.float32

#: Placeholder: the threads of a block.
THREADS = 256


def search_rows(rows, length, values, size, count, right, out):
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


def count_numbers(numbers, size, counts):
    """Count how often each number occurs."""
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        atomic_add(counts, numbers[place], 1)


def add_weights(numbers, weights, size, sums):
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


def add_weights_in_order(sorted_numbers, places, weights, size, sums):
    """For each number, one block's, the sum of its weights; ``places`` is where the sorted numbers stood."""
    part = cuda.shared.array(THREADS, T)
    thread = cuda.threadIdx.x
    number = cuda.blockIdx.x
    low = _first_of(sorted_numbers, size, number)
    high = _first_of(sorted_numbers, size, number + 1)
    total = T(0)
    for place in range(low + thread, high, THREADS):
        total += weights[places[place]]
    part[np.uint64(thread)] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half:
        if thread < half:
            total += part[np.uint64(thread + half)]
            part[np.uint64(thread)] = total
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        sums[number] = total


def count_bins(x, size, bins, low, high, span, counts):
    """Count the elements in each of ``bins`` equally wide bins from ``low`` to ``high``, which is in the last one.

    ``span`` is how far apart the two are.
    """
    first, last, scale, width = T(low), T(high), T(bins), T(span)
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        value = x[place]
        if value >= first and value <= last:
            atomic_add(counts, min(np.int64((value - first) * scale / width), bins - 1), 1)


def convert_counts(counts, size, out):
    """The counts as numbers of type T."""
    for place in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[place] = T(counts[place])
