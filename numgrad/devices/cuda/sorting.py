"""Steps of sorting, and of functions of sorted elements, along the middle axis of a buffer, on a GPU; see the CPU's."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu.sorting import descending as reversed_order
from numgrad_kernels.cuda import radix, sorting, unique
from numgrad_kernels.halves import BFLOAT16, FLOAT16, passed

from ...core.deterministic import are_deterministic_algorithms_enabled
from ..buffers import DeviceBuffer
from ..common import check_not_negative
from ..plan import Buffer, Plan
from .launching import INT64, THREADS, blocks_for, launch
from .memory import as_numbers, empty_buffer, no_buffer, zero_buffer
from .reductions import fold_axis
from .scans import scan_axis

__all__ = [
    "bincount", "histogram", "kth_axis", "median_axis", "mode_axis", "search_rows", "sort_axis", "unique_slices",
]


#: Number of elements that one block sorts.
TILE = 4 * THREADS

#: Greatest number of blocks that search one line for its longest run.
PARTS = 256

#: Bits of a digit by which long lines are sorted, and constants of the kernels that do so.
_DIGIT = 8
_LANES = min(THREADS, 32)
_DIGITS: dict[str, Any] = {
    "PART": 16 * THREADS, "COUNTS": radix.DIGITS * (THREADS // _LANES), "WARPS": THREADS // _LANES, "LANES": _LANES
}  # fmt: skip

#: The bits of the infinity of each dtype that is sorted by its bits.
_INFINITIES = {FLOAT16: 0x7C00, BFLOAT16: 0x7F80}


def _pair(p: Plan, x: Buffer, size: int) -> tuple[Buffer, Buffer]:
    """Return new buffers of elements of the dtype of ``x``, and of their indices."""
    return p.new(size, x.dtype), p.new(size, INT64)


def _merges(length: int) -> int:
    """Return how often the sorted chunks of a line are merged."""
    return (-(-length // TILE) - 1).bit_length()


def _sorted_lines(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, descending: bool = False, count: int | None = None
) -> tuple[Buffer, Buffer, int]:
    """Return the buffers of sorted lines and of their indices, and the length of the lines: ``count`` or more.

    A block sorts a chunk of a line, or several short ones.  Only ``count`` elements of a chunk are kept, as long as
    that makes lines much shorter.  Lines of so many chunks that these are merged more often than an element has bytes
    are sorted by digits instead.
    """
    lines = outer * inner
    if _merges(length) > x.dtype.itemsize and (count is None or 2 * count > length):
        return *_by_digits(p, x, lines, length, inner, descending), length
    order: dict[str, Any] = {"before": reversed_order if descending else sorting.before}
    if x.dtype in _INFINITIES:
        order = {"before": sorting.halves_descending if descending else sorting.halves_before}
        order["number"] = sorting.bfloat16_number if x.dtype == BFLOAT16 else sorting.number
        x = x.view(passed(x.dtype))
    origins: Any = no_buffer(INT64)
    values, origin_of = x, sorting.own_origin
    while True:
        chunk = min(length, TILE)
        chunks = -(-length // chunk)
        keep = chunk if count is None or (count > chunk // 2 and chunks > 1) else min(count, chunk)
        kept = (chunks - 1) * keep + min(keep, length - (chunks - 1) * chunk)
        shift = (chunk - 1).bit_length()
        out, out_origins = _pair(p, x, lines * kept)
        p.run(
            sorting.sort_tiles, x.dtype, values, origins, lines, length, inner, chunk, shift, keep, kept, out,
            out_origins, grid=(-(-lines * chunks // (TILE >> shift)), THREADS), TILE=TILE, TWO_TILES=2 * TILE,
            own_origin=origin_of, **order,
        )
        values, origins, length, inner, origin_of = out, out_origins, kept, 1, sorting.given_origin
        if chunks == 1:
            return values, origins, length
        if keep == chunk:
            break
    width = chunk
    while width < length:
        out, out_origins = _pair(p, x, values.size)
        operands = values, origins, values.size, length, width, out, out_origins
        p.run(sorting.merge_runs, x.dtype, *operands, work=values.size, **order)
        values, origins, width = out, out_origins, 2 * width
    return values, origins, length


def _by_digits(
    p: Plan, x: Buffer, lines: int, length: int, inner: int, descending: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of lines sorted by the digits of their elements, and of the original indices."""
    bits, index = 8 * x.dtype.itemsize, np.dtype(np.int32) if length < 1 << 31 else INT64
    own_digit = {"f": radix.digit_of_float, "i": radix.digit}.get(x.dtype.kind, radix.digit_of_unsigned)
    constants = {**_DIGITS, "BITS": bits, "digit": own_digit}
    if x.dtype in _INFINITIES:
        constants |= {"digit": radix.digit_of_half, "INFINITY": _INFINITIES[x.dtype]}
    x = x.view(passed(x.dtype))
    parts, values, origin_of = -(-length // _DIGITS["PART"]), x, radix.own_origin
    origins: Any = no_buffer(index)
    for shift in range(0, bits, _DIGIT):
        sizes, grid = (length, inner, parts, shift, descending), (lines * parts, THREADS)
        counts = p.new(lines * radix.DIGITS * parts, index)
        p.run(radix.count_digits, x.dtype, values, *sizes, counts, grid=grid, **constants)
        totals = scan_axis(p, counts, lines, radix.DIGITS * parts, 1, "sum", index)
        out, out_origins = p.new(values.size, x.dtype), p.new(values.size, INT64 if shift + _DIGIT == bits else index)
        p.run(
            radix.move_by_digit, x.dtype, values, origins, *sizes, counts, totals, out, out_origins, grid=grid,
            own_origin=origin_of, **constants,
        )
        values, origins, inner, origin_of = out, out_origins, 1, radix.given_origin
    return values, origins


def sort_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, descending: bool, count: int | None = None
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the sorted elements, or of the first ``count`` of them, and of their indices."""
    count = length if count is None else count
    size, dtype = outer * count * inner, x.dtype
    if not size:
        return _pair(p, x, 0)
    values, origins, kept = _sorted_lines(p, as_numbers(x), outer, length, inner, descending, count)
    if inner > 1 or kept > count:
        out, indices = _pair(p, values, size)
        operands = values, origins, size, kept, count, inner, out, indices
        p.run(sorting.take_first, values.dtype, *operands, work=size)
        values, origins = out, indices
    return values.view(dtype), origins


def _picked(
    p: Plan, kernel: Any, x: Buffer, outer: int, length: int, inner: int, number: int, count: int | None = None
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the elements that a kernel picks from sorted lines, and of their indices.

    The kernel takes a number, and needs the first ``count`` elements of a line.
    """
    lines = outer * inner
    out, indices = _pair(p, x, lines)
    if lines:
        values, origins, kept = _sorted_lines(p, as_numbers(x), outer, length, inner, count=count)
        operands = values, origins, lines, kept, number, as_numbers(out), indices
        p.run(kernel, values.dtype, *operands, work=lines)
    return out, indices


def kth_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int, k: int) -> tuple[Buffer, Buffer]:
    """Return the buffers of the elements that follow ``k`` others in sorted order, and of their first indices."""
    return _picked(p, sorting.take_kth, x, outer, length, inner, k, k + 1)


def median_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, past_nan: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the lower medians, and of their first indices.

    The median of a line with a NaN is NaN, or with ``past_nan`` the median of the numbers.
    """
    if x.dtype.kind != "f":
        return kth_axis(p, x, outer, length, inner, (length - 1) // 2)
    return _picked(p, sorting.take_median, x, outer, length, inner, past_nan)


def mode_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int) -> tuple[Buffer, Buffer]:
    """Return the buffers of the smallest of the most frequent elements, and of their last indices."""
    lines = outer * inner
    out, indices = _pair(p, x, lines)
    if lines:
        values, origins, _ = _sorted_lines(p, as_numbers(x), outer, length, inner)
        parts = min(-(-length // TILE), PARTS)
        runs, ends = p.new(lines * parts, INT64), p.new(lines * parts, INT64)
        grid = lines * parts, THREADS
        p.run(sorting.longest_runs, values.dtype, values, length, parts, runs, ends, grid=grid)
        operands = values, origins, lines, length, parts, runs, ends, as_numbers(out), indices
        p.run(sorting.take_mode, values.dtype, *operands, work=lines)
    return out, indices


# -- different elements -----------------------------------------------------------------------------------------------


def unique_slices(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, consecutive: bool
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the distinct slices along the middle axis, of the number of each slice among these, and of
    their counts; see the function of the CPU.
    """
    order, values, width = _numbers(p, length), as_numbers(x), 1
    if outer == inner == 1 and not consecutive:
        return _runs(p, *sort_axis(p, x, 1, length, 1, False), 1, length, 1, order)
    while width < length and not consecutive:
        merged = p.new(length, INT64)
        p.run(unique.merge_slices, values.dtype, values, order, outer, length, inner, width, merged, work=length)
        order, width = merged, 2 * width
    return _runs(p, x, order, outer, length, inner, order)


def _numbers(p: Plan, count: int) -> Buffer:
    """Return the buffer of the numbers from 0 on."""
    out = p.new(count, INT64)
    p.run(unique.count_up, INT64, out, count, work=count)
    return out


def _runs(
    p: Plan, x: Buffer, origin: Buffer, outer: int, length: int, inner: int, order: Buffer
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the distinct slices, of each slice's number among these, and of their counts."""
    values = as_numbers(x)
    changes, inverse, first, begins = [p.new(length, INT64) for _ in range(4)]
    p.run(unique.mark_changes, values.dtype, values, order, outer, length, inner, changes, work=length)
    numbers = scan_axis(p, changes, 1, length, 1, "sum", INT64)
    p.run(unique.list_runs, INT64, numbers, order, origin, length, first, begins, inverse, work=length)
    different, counts = p.host(
        _listed, [p.unsized(x.dtype), p.unsized(INT64)], x, numbers, first, begins, outer, length, inner
    )
    return different, inverse, counts


def _listed(
    flat: DeviceBuffer, numbers: DeviceBuffer, first: DeviceBuffer, begins: DeviceBuffer, outer: int, length: int,
    inner: int,
) -> tuple[DeviceBuffer, DeviceBuffer]:
    """Return the distinct slices and the lengths of their runs; their number is read from the GPU."""
    x, runs = as_numbers(flat), numbers.item(length - 1) + 1 if length else 0
    counts = empty_buffer(runs, INT64, x.device)
    launch(unique.count_runs, INT64, begins, runs, length, counts, blocks=blocks_for(runs))
    size = outer * runs * inner
    out = empty_buffer(size, x.dtype, x.device)
    launch(unique.take_slices, x.dtype, x, first, size, length, runs, inner, out, blocks=blocks_for(size))
    return out.view(flat.dtype), counts


# -- searching and counting -------------------------------------------------------------------------------------------


def search_rows(
    p: Plan, rows: Buffer, values: Buffer, length: int, count: int, right: bool, compute: np.dtype
) -> Buffer:
    """Return the buffer of the positions of ``count`` values in each sorted row, after equal elements if ``right``."""
    size = values.size
    out = p.new(size, INT64)
    p.run(sorting.search_rows, compute, rows, length, values, size, count, right, out, work=size)
    return out


def bincount(p: Plan, x: Buffer, weights: Buffer | None, minlength: int) -> Buffer:
    """Return the buffer of the number of occurrences of each number from 0 on, or of the sum of their weights.

    A launch waits for the largest number, and raises RuntimeError if a number is negative.
    """
    ends = [fold_axis(p, x, 1, x.size, 1, name, x.dtype) for name in ("min", "max")] if x.size else (None, None)
    ordered: Any = (None, None)
    if weights is not None and are_deterministic_algorithms_enabled():
        ordered = sort_axis(p, x, 1, x.size, 1, False)
    counts = [p.unsized(INT64 if weights is None else weights.dtype)]
    return p.host(_bincount, counts, x, weights, *ends, *ordered, minlength)[0]


def _bincount(
    flat: DeviceBuffer, weights: DeviceBuffer | None, least: DeviceBuffer | None, largest: DeviceBuffer | None,
    numbers: DeviceBuffer | None, origins: DeviceBuffer | None, minlength: int,
) -> tuple[DeviceBuffer]:  # fmt: skip
    """Return the counts, or the sums of the weights, in the order of ``origins`` if there are sorted ``numbers``."""
    size, bins = flat.size, minlength
    if least is not None and largest is not None:
        check_not_negative(least.item(0), size)
        bins = max(largest.item(0) + 1, minlength)
    out = zero_buffer(bins, INT64 if weights is None else weights.dtype, flat.device)
    if weights is None:
        kernel = sorting.count_few if bins <= sorting.FEW else sorting.count_many
        launch(kernel, flat.dtype, flat, size, bins, 0.0, 0.0, out, blocks=blocks_for(size))
    elif numbers is not None:
        launch(sorting.add_weights_in_order, weights.dtype, numbers, origins, weights, size, out, blocks=bins)
    else:
        launch(sorting.add_weights, weights.dtype, flat, weights, size, out, blocks=blocks_for(size))
    return (out,)


def histogram(p: Plan, x: Buffer, bins: int, low: Any, high: Any) -> Buffer:
    """Return the buffer of the number of elements in each of equally wide bins; the last bin includes ``high``."""
    counts, out = p.new(bins, INT64, zeroed=True), p.new(bins, x.dtype)
    kernel, operands = sorting.count_few if bins <= sorting.FEW else sorting.count_many, (x, x.size, bins, low, high)
    p.run(kernel, x.dtype, *operands, counts, work=x.size, bin_of=sorting.bin_between)
    p.run(sorting.convert_counts, x.dtype, counts, bins, out, work=bins)
    return out
