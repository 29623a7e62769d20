"""Steps of convolutions, as products of matrices where the addresses of BLAS's functions are known; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import convolution as kernels
from numgrad_kernels.cpu import direct_convolution as direct
from numgrad_kernels.libm import variant

from ...core.layout import Ints, numel
from ..memory import or_empty
from ..padding import three
from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["correlation", "spread_products", "window_products"]

#: Approximate number of bytes of the windows that are multiplied at a time: about half of a core's own cache.
BYTES = 1 << 18

#: Bytes of a vector register, by the instruction set that libm finds; 16 if none.
_REGISTERS = {"e": 64, "d": 32}

#: Limits within which the kernels that copy no windows are faster than BLAS: the greatest ratio of computed windows,
#: some of them twice, to the windows of a line, and the least number of windows.
_AGAIN, _MANY = 1.4, 128

#: Approximate number of windows over which such a kernel sums sequentially; a line may have four times as many.
_SUMMED = 256

#: Least number of windows of a line that are multiplied at a time.
_LEAST = 64

#: Greatest number of parts of the work, each of which has its own scratch memory.
_WORKERS = 16

#: The gradient of the filters is summed in parts: their greatest number, and the greatest number of their elements.
_PARTS, _SUMS = 8, 1 << 22


def correlation(
    p: Plan, image: TensorRef, filters: Buffer, bias: Buffer | None, out: Ints, kernel: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Buffer:  # fmt: skip
    """Return the buffer of the products of filters and the windows of images, plus the bias; its shape is ``out``."""
    dtype, plan = image.type.numpy, _plan(image, out, kernel, stride, dilation, groups)
    results, added = p.new(numel(out), dtype), or_empty(bias, dtype)
    work, lanes = results.size * kernels.height(plan) // 8, _lanes(plan, dtype)
    if lanes:
        steps = _steps(plan)
        sets = -(-plan[kernels.FILTERS] // direct.TOGETHER)
        scratch = p.new(plan[kernels.GROUPS] * sets * direct.TOGETHER * steps.size, dtype)
        operands = np.array(plan, np.int64), steps, *p.strided(image), filters, added, scratch, results
        p.run(direct.direct_convolution, dtype, *operands, work=work, LANES=lanes)
        return results
    workers = min(_WORKERS, kernels.pieces(plan))
    scratch = p.new(workers * _copied(plan), dtype)
    _by_blas(p, kernels.convolution, dtype, work, plan, workers, *p.strided(image), filters, added, scratch, results)
    return results


def spread_products(
    p: Plan, grad: Buffer, filters: Buffer, bias: Buffer | None, windows: Ints, out: TensorRef, kernel: Ints,
    stride: Ints, dilation: Ints, groups: int,
) -> None:  # fmt: skip
    """Add the steps that add filters times gradients to the windows of ``out``; the gradients have the shape
    ``windows``.

    The images ``out`` are contiguous.  A bias of each channel is added to them.
    """
    dtype, plan = grad.dtype, _plan(out, windows, kernel, stride, dilation, groups)
    workers = min(_WORKERS, plan[kernels.IMAGES] * plan[kernels.GROUPS])
    scratch = p.new(workers * _multiplied(plan), dtype)
    operands = grad, filters, or_empty(bias, dtype), scratch, p.contiguous(out)
    work = grad.size * kernels.height(plan) // 8
    _by_blas(p, kernels.convolution_input, dtype, work, plan, workers, *operands)


def window_products(
    p: Plan, image: TensorRef, grad: Buffer, windows: Ints, out: Ints, stride: Ints, dilation: Ints, groups: int
) -> Buffer:
    """Return the buffer of the products of gradients, of the shape ``windows``, and the windows of images."""
    dtype, plan = grad.dtype, _plan(image, windows, out[2:], stride, dilation, groups)
    results, work = p.new(numel(out), dtype), grad.size * kernels.height(plan) // 8
    lanes = _lanes_of_filters(plan, dtype)
    if not lanes:
        parts = min(_PARTS, kernels.pieces(plan), max(1, _SUMS // results.size))
        sums, scratch = p.new(parts * results.size, dtype), p.new(parts * _copied(plan), dtype)
        operands = parts, grad, *p.strided(image), scratch, sums, results
        _by_blas(p, kernels.convolution_weight, dtype, work, plan, *operands)
        return results
    steps = _steps(plan)
    steps = np.concatenate([steps, np.repeat(steps[-1:], -steps.size % direct.TOGETHER)])
    lines, columns = plan[kernels.LAYERS] * plan[kernels.ROWS], plan[kernels.COLUMNS]
    tall = min(lines, max(1, _SUMMED // columns))
    blocks = plan[kernels.GROUPS] * -(-plan[kernels.FILTERS] // lanes)
    summed = blocks * steps.size * lanes
    parts = min(_PARTS, plan[kernels.IMAGES] * -(-lines // tall), max(1, _SUMS // summed))
    scratch, sums = p.new(parts * blocks * tall * columns * lanes, dtype), p.new(parts * summed, dtype)
    arguments = np.array(plan, np.int64), steps, parts, tall, grad, *p.strided(image), scratch, sums, results
    p.run(direct.direct_convolution_weight, dtype, *arguments, work=work, LANES=lanes)
    return results


def _by_blas(
    p: Plan, function: Callable[..., None], dtype: np.dtype, work: int, plan: Ints, *operands: Any
) -> None:
    """Add the run of a kernel of products by BLAS, or by its own loops if the address of BLAS's function is unknown."""
    address = blas_addresses("complex gemm" if dtype.kind == "c" else "gemm").get(dtype)
    parts: dict[str, Any] = {} if address else {"gemm": kernels.gemm_of_any}
    operands = np.array(plan, np.int64), *operands
    p.run(function, dtype, address or 0, *operands, work=work, one_thread=bool(address), **parts)


def _lanes(plan: Ints, dtype: np.dtype) -> int:
    """Return the number of windows of a block in kernels that copy none; 0 if products of matrices are faster."""
    columns, windows = plan[kernels.COLUMNS], plan[kernels.IMAGES] * plan[kernels.LAYERS] * plan[kernels.ROWS]
    if dtype.kind != "f" or plan[kernels.STRAIGHT] or plan[kernels.COLUMN_STEP] != 1 or windows * columns < _MANY:
        return 0
    lanes = _best_lanes(columns, dtype)
    return lanes if lanes <= columns else 0


def _lanes_of_filters(plan: Ints, dtype: np.dtype) -> int:
    """Return the number of filters of a block in the kernel of their gradients that copies no windows; 0 for BLAS."""
    if dtype.kind != "f" or plan[kernels.STRAIGHT] or plan[kernels.COLUMNS] > 4 * _SUMMED:
        return 0
    return _best_lanes(plan[kernels.FILTERS], dtype)


def _best_lanes(count: int, dtype: np.dtype) -> int:
    """Return a vector's lanes, or half of them if this wastes fewer lanes on ``count``; 0 if both waste too many."""
    most = _REGISTERS.get(variant(), 16) // dtype.itemsize
    computed, lanes = min([(-(-count // lanes) * lanes, -lanes) for lanes in (most, most // 2)])
    return -lanes if computed <= _AGAIN * count else 0


def _steps(plan: Ints) -> np.ndarray:
    """Return the distance of each element of a window from its first element."""
    sizes, steps = [[plan[number] for number in numbers] for numbers in (
        (kernels.CHANNELS, kernels.BACK, kernels.DOWN, kernels.RIGHT),
        (kernels.CHANNEL_STEP, kernels.BACK_STEP, kernels.DOWN_STEP, kernels.RIGHT_STEP),
    )]
    return np.array(steps) @ np.indices(sizes).reshape(4, -1)


def _plan(
    image: TensorRef, windows: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> Ints:
    """Return the plan of the kernels for contiguous results of the shape ``windows``."""
    strides = image.layout.strides
    (images, filters, *positions), channels = windows, image.shape[1] // groups
    counts, extents = three(positions, 1), three(kernel, 1)
    within = three([step * gap for step, gap in zip(strides[2:], dilation, strict=True)], 0)
    across = three([step * gap for step, gap in zip(strides[2:], stride, strict=True)], 0)
    lines, columns = counts[0] * counts[1], counts[2]
    most = max(BYTES // (channels * math.prod(extents) * image.type.numpy.itemsize), 1)  # windows
    tall, wide = min(lines, max(1, most // columns)), min(columns, max(most, _LEAST))
    follow = zip(counts, across, (counts[1] * columns, columns, 1), strict=True)
    straight = math.prod(extents) == 1 and strides[1] >= lines * columns
    straight = straight and all(count == 1 or step == dense for count, step, dense in follow)
    numbers = images, groups, channels, filters // groups, tall, *extents, *counts, *strides[:2], *within, *across
    return *numbers, int(straight), wide


def _multiplied(plan: Ints) -> int:
    """Return the number of elements of the windows that are multiplied at a time."""
    return kernels.height(plan) * plan[kernels.TALL] * plan[kernels.WIDE]


def _copied(plan: Ints) -> int:
    """Return the number of these elements that are copied first."""
    return 0 if plan[kernels.STRAIGHT] else _multiplied(plan)
