"""Convolutions as products of matrices, where BLAS's functions are known; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cpu import convolution, direct_convolution
from numgrad_kernels.cpu.convolution import (
    BACK,
    BACK_STEP,
    CHANNEL_STEP,
    CHANNELS,
    COLUMN_STEP,
    COLUMNS,
    DOWN,
    DOWN_STEP,
    FILTERS,
    GROUPS,
    IMAGES,
    LAYERS,
    RIGHT,
    RIGHT_STEP,
    ROWS,
    STRAIGHT,
    TALL,
    WIDE,
)  # fmt: skip
from numgrad_kernels.libm import variant

from ...core.layout import Ints, numel
from ..memory import no_row
from ..padding import three
from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["correlation", "spread_products", "window_products"]

#: Bytes of windows that are multiplied at a time, about: half of what the caches nearest to a core hold.
BYTES = 1 << 18

#: Bytes of a vector register, by the instruction set that libm finds; 16 if none.
_REGISTERS = {"e": 64, "d": 32}

#: Up to how many times the windows of a line may be computed, where blocks of them overlap, and how many windows there
#: must be at least, for a kernel that copies none to be quicker than BLAS.
_AGAIN, _MANY = 1.4, 128

#: Windows over which such a kernel sums products one after the other, about; a line may have four times as many.
_SUMMED = 256

#: How many windows of a line are multiplied at a time, at least.
_LEAST = 64

#: How many parts of the work have memory of their own, at most.
_WORKERS = 16

#: Into how many parts the gradient for filters is summed, at most, and how many elements they have together.
_PARTS, _SUMS = 8, 1 << 22


def correlation(
    p: Plan, image: TensorRef, filters: Buffer, bias: Buffer | None, out: Ints, kernel: Ints, stride: Ints,
    dilation: Ints, groups: int,
) -> Buffer:  # fmt: skip
    """The products of filters with the windows of images, plus a number for each filter, of the shape ``out``."""
    dtype, plan = image.type.numpy, _plan(image, out, kernel, stride, dilation, groups)
    made, added, work = p.new(numel(out), dtype), _row(bias, dtype), numel(out) * int(convolution.height(plan)) // 8
    lanes = _lanes(plan, dtype)
    if lanes:
        steps = _steps(plan)
        sets = -(-int(plan[FILTERS]) // direct_convolution.TOGETHER)
        room = p.new(int(plan[GROUPS]) * sets * direct_convolution.TOGETHER * steps.size, dtype)
        p.run(
            direct_convolution.direct_convolution, dtype, plan, steps, *p.strided(image), filters, added, room, made,
            work=work, LANES=lanes,
        )  # fmt: skip
        return made
    workers = min(_WORKERS, int(convolution.pieces(plan)))
    room = p.new(workers * _room(plan), dtype)
    _by_blas(p, convolution.convolution, dtype, work, plan, workers, *p.strided(image), filters, added, room, made)
    return made


def spread_products(
    p: Plan, grad: Buffer, filters: Buffer, bias: Buffer | None, windows: Ints, out: TensorRef, kernel: Ints,
    stride: Ints, dilation: Ints, groups: int,
) -> None:  # fmt: skip
    """Add up filters times gradients, of the shape ``windows``, where their windows lie in contiguous images ``out``.

    A bias for each channel is added, too.
    """
    dtype, plan = grad.dtype, _plan(out, windows, kernel, stride, dilation, groups)
    workers = min(_WORKERS, int(plan[IMAGES] * plan[GROUPS]))
    room = p.new(workers * _matrix(plan), dtype)
    work = grad.size * int(convolution.height(plan)) // 8
    given = grad, filters, _row(bias, dtype), room, p.contiguous(out)
    _by_blas(p, convolution.convolution_input, dtype, work, plan, workers, *given)


def window_products(
    p: Plan, image: TensorRef, grad: Buffer, windows: Ints, out: Ints, stride: Ints, dilation: Ints, groups: int
) -> Buffer:
    """The products of gradients, of the shape ``windows``, with the windows of images."""
    dtype, plan = grad.dtype, _plan(image, windows, out[2:], stride, dilation, groups)
    made, work = p.new(numel(out), dtype), grad.size * int(convolution.height(plan)) // 8
    lanes = _lanes_of_filters(plan, dtype)
    if not lanes:
        parts = int(min(_PARTS, convolution.pieces(plan), max(1, _SUMS // made.size)))
        sums, room = p.new(parts * made.size, dtype), p.new(parts * _room(plan), dtype)
        given = parts, grad, *p.strided(image), room, sums, made
        _by_blas(p, convolution.convolution_weight, dtype, work, plan, *given)
        return made
    steps = _steps(plan)
    steps = np.concatenate([steps, np.repeat(steps[-1:], -steps.size % direct_convolution.TOGETHER)])
    lines, columns = int(plan[LAYERS] * plan[ROWS]), int(plan[COLUMNS])
    tall = min(lines, max(1, _SUMMED // columns))
    blocks = int(plan[GROUPS]) * -(-int(plan[FILTERS]) // lanes)
    own = blocks * steps.size * lanes
    parts = int(min(_PARTS, plan[IMAGES] * -(-lines // tall), max(1, _SUMS // own)))
    room, sums = p.new(parts * blocks * tall * columns * lanes, dtype), p.new(parts * own, dtype)
    p.run(
        direct_convolution.direct_convolution_weight, dtype, plan, steps, parts, tall, grad, *p.strided(image), room,
        sums, made, work=work, LANES=lanes,
    )  # fmt: skip
    return made


def _by_blas(p: Plan, function: Callable[..., None], dtype: np.dtype, work: int, *given: Any) -> None:
    """Add the run of a kernel of products by BLAS, or by its own loops where BLAS's functions are not known."""
    address = blas_addresses("complex gemm" if dtype.kind == "c" else "gemm").get(dtype)
    parts: dict[str, Any] = {} if address else {"gemm": convolution.gemm_of_any}
    p.run(function, dtype, address or 0, *given, work=work, one_thread=bool(address), **parts)


def _row(bias: Buffer | None, dtype: np.dtype) -> Any:
    return no_row(dtype) if bias is None else bias


def _lanes(plan: np.ndarray, dtype: np.dtype) -> int:
    """Windows of a block in kernels that copy none; 0 where products of matrices are quicker."""
    columns, windows = int(plan[COLUMNS]), int(np.prod(plan[[IMAGES, LAYERS, ROWS, COLUMNS]]))
    if dtype.kind != "f" or plan[STRAIGHT] or plan[COLUMN_STEP] != 1 or windows < _MANY:
        return 0
    most = _REGISTERS.get(variant(), 16) // dtype.itemsize
    computed, lanes = min([(-(-columns // lanes) * lanes, -lanes) for lanes in (most, most // 2)])
    return -lanes if -lanes <= columns and computed <= _AGAIN * columns else 0


def _lanes_of_filters(plan: np.ndarray, dtype: np.dtype) -> int:
    """Filters of a block in the kernel that copies no windows for their gradients; 0 where BLAS is quicker."""
    filters, most = int(plan[FILTERS]), _REGISTERS.get(variant(), 16) // dtype.itemsize
    if dtype.kind != "f" or plan[STRAIGHT] or plan[COLUMNS] > 4 * _SUMMED:
        return 0
    computed, lanes = min([(-(-filters // lanes) * lanes, -lanes) for lanes in (most, most // 2)])
    return 0 if computed > _AGAIN * filters else -lanes


def _steps(plan: np.ndarray) -> np.ndarray:
    """How far each element of a window lies from its beginning."""
    elements = np.indices(plan[[CHANNELS, BACK, DOWN, RIGHT]].tolist()).reshape(4, -1)
    return plan[[CHANNEL_STEP, BACK_STEP, DOWN_STEP, RIGHT_STEP]] @ elements


def _plan(
    image: TensorRef, windows: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The kernels' plan for contiguous results of the shape ``windows``."""
    strides = image.layout.strides
    (images, filters, *each), channels = windows, image.shape[1] // groups
    counts, extents = three(each, 1), three(kernel, 1)
    within = three([step * gap for step, gap in zip(strides[2:], dilation, strict=True)], 0)
    across = three([step * gap for step, gap in zip(strides[2:], stride, strict=True)], 0)
    lines, columns = counts[0] * counts[1], counts[2]
    most = max(BYTES // (channels * math.prod(extents) * image.type.numpy.itemsize), 1)  # windows
    tall, wide = min(lines, max(1, most // columns)), min(columns, max(most, _LEAST))
    follow = zip(counts, across, (counts[1] * columns, columns, 1), strict=True)
    straight = math.prod(extents) == 1 and strides[1] >= lines * columns
    straight = straight and all(count == 1 or step == own for count, step, own in follow)
    numbers = images, groups, channels, filters // groups, tall, *extents, *counts, *strides[:2], *within, *across
    return np.array([*numbers, straight, wide], np.int64)


def _matrix(plan: np.ndarray) -> int:
    """Elements of the windows of a piece."""
    return int(convolution.height(plan) * plan[TALL] * plan[WIDE])


def _room(plan: np.ndarray) -> int:
    """Of these, how many are copied."""
    return 0 if plan[STRAIGHT] else _matrix(plan)
