"""Convolutions as products of matrices, where BLAS's functions are known; see the kernels."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numba
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
)  # fmt: skip
from numgrad_kernels.libm import variant

from ...core.layout import Ints, Layout, is_contiguous
from ..memory import no_row
from .blas import blas_addresses, one_thread
from .launching import empty, kernel_for
from .threads import worth_threads

__all__ = ["correlation_launcher", "spread_products_launcher", "window_products_launcher"]

#: Bytes of windows that are multiplied at a time, about: half of what the caches nearest to a core hold.
BYTES = 1 << 18

#: Bytes of the windows of one line, above which there is no kernel: it does not cut lines.
_LINE = 1 << 22

#: Bytes of a vector register, by the instruction set that libm finds; 16 if none.
_REGISTERS = {"e": 64, "d": 32}

#: Up to how many times the windows of a line may be computed, where blocks of them overlap, and how many windows there
#: must be at least, for a kernel that copies none to be quicker than BLAS.
_AGAIN, _MANY = 1.4, 128

#: Windows over which such a kernel sums products one after the other, about; a line may have four times as many.
_SUMMED = 256

#: Into how many parts the gradient for filters is summed, at most, and how many elements they have together.
_PARTS, _SUMS = 8, 1 << 22

_INT64 = np.dtype(np.int64)


def correlation_launcher(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, bias: Layout | None
) -> Callable[..., np.ndarray] | None:
    """What multiplies filters with the windows of images: ``launch(images, filters, bias)`` returns memory for ``out``.

    ``filters`` is a row; there is none where BLAS's functions are not known or the layouts are not what they take.
    """
    plan = _plan(image, out, kernel, stride, dilation, groups)
    if plan is None or not _is_row(bias):
        return None
    lanes = _lanes(plan, out.type.numpy)
    if lanes:
        return _directly(plan, lanes, out, bias)
    return _by_workers(convolution.convolution, plan, out.size, out, bias, _room(plan))


def _lanes(plan: np.ndarray, dtype: np.dtype) -> int:
    """Windows of a block in kernels that copy none; 0 where products by BLAS are quicker."""
    columns, windows = int(plan[COLUMNS]), int(np.prod(plan[[IMAGES, LAYERS, ROWS, COLUMNS]]))
    if plan[STRAIGHT] or plan[COLUMN_STEP] != 1 or windows < _MANY:
        return 0
    most = _REGISTERS.get(variant(), 16) // dtype.itemsize
    computed, lanes = min([(-(-columns // lanes) * lanes, -lanes) for lanes in (most, most // 2)])
    return -lanes if -lanes <= columns and computed <= _AGAIN * columns else 0


def _steps(plan: np.ndarray) -> np.ndarray:
    """How far each element of a window lies from its beginning."""
    elements = np.indices(plan[[CHANNELS, BACK, DOWN, RIGHT]].tolist()).reshape(4, -1)
    return plan[[CHANNEL_STEP, BACK_STEP, DOWN_STEP, RIGHT_STEP]] @ elements


def _directly(plan: np.ndarray, lanes: int, out: Layout, bias: Layout | None) -> Callable[..., np.ndarray]:
    """What runs the kernel that copies no windows: see ``correlation_launcher``."""
    dtype, work = out.type.numpy, out.size * int(convolution.height(plan)) // 8
    steps, none = _steps(plan), no_row(dtype)
    sets = -(-int(plan[FILTERS]) // direct_convolution.TOGETHER)
    room = int(plan[GROUPS]) * sets * direct_convolution.TOGETHER * steps.size
    signature = _INT64, _INT64, dtype, int, dtype, dtype, int, dtype, dtype
    kernel_of = kernel_for(direct_convolution.direct_convolution, dtype, signature, work, LANES=lanes)

    def launch(tensor: Any, filters: np.ndarray, bias: Any) -> np.ndarray:
        row = empty(out.shape, out.type)
        added = (none, 0) if bias is None else (bias._storage, bias._offset)
        kernel_of().entry(plan, steps, tensor._storage, tensor._offset, filters, *added, np.empty(room, dtype), row)
        return row

    return launch


def spread_products_launcher(
    grad: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, bias: Layout | None
) -> Callable[..., np.ndarray] | None:
    """What adds up filters times gradients where their windows lie: ``launch(grad, filters, bias)`` returns memory.

    ``out`` is the layout of the images, contiguous.
    """
    plan = _plan(out, grad, kernel, stride, dilation, groups)
    if plan is None or not _is_row(bias):
        return None
    room, most = _matrix(plan), int(plan[IMAGES] * groups)
    return _by_workers(convolution.convolution_input, plan, grad.size, out, bias, room, most)


def window_products_launcher(
    image: Layout, grad: Layout, out: Layout, stride: Ints, dilation: Ints, groups: int
) -> Callable[..., np.ndarray] | None:
    """What multiplies gradients with the windows of images: ``launch(images, grad)`` returns memory for ``out``."""
    dtype, plan = image.type.numpy, _plan(image, grad, out.shape[2:], stride, dilation, groups)
    if plan is None or not out.size:
        return None
    lanes = _lanes_of_filters(plan, dtype)
    if lanes:
        return _weight_directly(plan, lanes, grad, out)
    address, work = blas_addresses()[dtype], grad.size * int(convolution.height(plan)) // 8
    rows = dtype, int, dtype, int, dtype, dtype, dtype
    kernel_of = kernel_for(convolution.convolution_weight, dtype, (int, _INT64, int, *rows), work)
    parts = int(min(_PARTS, convolution.pieces(plan), max(1, _SUMS // out.size)))
    room = parts * _room(plan)

    def launch(images: Any, grads: Any) -> np.ndarray:
        row = empty(out.shape, out.type)
        sums, windows = np.empty(parts * out.size, dtype), np.empty(room, dtype)
        given = grads._storage, grads._offset, images._storage, images._offset
        with one_thread():
            kernel_of().entry(address, plan, parts, *given, windows, sums, row)
        return row

    return launch


def _lanes_of_filters(plan: np.ndarray, dtype: np.dtype) -> int:
    """Filters of a block in the kernel that copies no windows for their gradients; 0 where BLAS is quicker."""
    filters, most = int(plan[FILTERS]), _REGISTERS.get(variant(), 16) // dtype.itemsize
    computed, lanes = min([(-(-filters // lanes) * lanes, -lanes) for lanes in (most, most // 2)])
    return 0 if plan[STRAIGHT] or plan[COLUMNS] > 4 * _SUMMED or computed > _AGAIN * filters else -lanes


def _weight_directly(plan: np.ndarray, lanes: int, grad: Layout, out: Layout) -> Callable[..., np.ndarray]:
    """What runs the kernel that copies no windows: see ``window_products_launcher``."""
    dtype, work, together = out.type.numpy, grad.size * int(convolution.height(plan)) // 8, direct_convolution.TOGETHER
    steps = _steps(plan)
    steps = np.concatenate([steps, np.repeat(steps[-1:], -steps.size % together)])
    lines, columns = int(plan[LAYERS] * plan[ROWS]), int(plan[COLUMNS])
    tall = min(lines, max(1, _SUMMED // columns))
    blocks = int(plan[GROUPS]) * -(-int(plan[FILTERS]) // lanes)
    own = blocks * steps.size * lanes
    parts = int(min(_PARTS, plan[IMAGES] * -(-lines // tall), max(1, _SUMS // own)))
    signature = _INT64, _INT64, int, int, dtype, int, dtype, int, dtype, dtype, dtype
    kernel_of = kernel_for(direct_convolution.direct_convolution_weight, dtype, signature, work, LANES=lanes)

    def launch(images: Any, grads: Any) -> np.ndarray:
        row, sums = empty(out.shape, out.type), np.empty(parts * own, dtype)
        room = np.empty(parts * blocks * tall * columns * lanes, dtype)
        given = grads._storage, grads._offset, images._storage, images._offset
        kernel_of().entry(plan, steps, parts, tall, *given, room, sums, row)
        return row

    return launch


def _is_row(bias: Layout | None) -> bool:
    return bias is None or bias.strides == (1,)


def _by_workers(
    function: Callable[..., None], plan: np.ndarray, windows: int, out: Layout, bias: Layout | None, room: int,
    most: int = sys.maxsize,
) -> Callable[..., np.ndarray]:
    """What runs one of the two kernels for so many filters' ``windows``: ``launch(tensor, filters, bias)``.

    There are ``most`` workers at most, each with ``room`` for so many elements of windows.
    """
    dtype, work = out.type.numpy, windows * int(convolution.height(plan)) // 8
    address, none = blas_addresses()[dtype], no_row(dtype)
    kernel_of = kernel_for(function, dtype, (int, _INT64, int, dtype, int, dtype, dtype, int, dtype, dtype), work)

    def launch(tensor: Any, filters: np.ndarray, bias: Any) -> np.ndarray:
        workers = min(numba.get_num_threads(), most) if worth_threads(work) else 1
        row, rooms = empty(out.shape, out.type), np.empty(workers * room, dtype)
        added = (none, 0) if bias is None else (bias._storage, bias._offset)
        with one_thread():
            kernel_of().entry(address, plan, workers, tensor._storage, tensor._offset, filters, *added, rooms, row)
        return row

    return launch


def _plan(
    image: Layout, windows: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> np.ndarray | None:
    """The kernels' plan for results of this layout, None if they cannot compute them."""
    if image.type.numpy not in blas_addresses() or not windows.size or not image.size:
        return None
    if not is_contiguous(windows.shape, windows.strides):
        return None
    (images, filters, *counts), channels = windows.shape, image.shape[1] // groups
    counts, extents = [_three(each, 1) for each in (counts, kernel)]
    within = _three([step * gap for step, gap in zip(image.strides[2:], dilation, strict=True)], 0)
    across = _three([step * gap for step, gap in zip(image.strides[2:], stride, strict=True)], 0)
    height, lines, columns = channels * math.prod(extents), counts[0] * counts[1], counts[2]
    line = height * columns * windows.type.numpy.itemsize
    if line > _LINE:
        return None
    tall = min(lines, max(1, BYTES // line))
    follow = zip(counts, across, (counts[1] * columns, columns, 1), strict=True)
    straight = math.prod(extents) == 1 and image.strides[1] >= lines * columns
    straight = straight and all(count == 1 or step == own for count, step, own in follow)
    numbers = images, groups, channels, filters // groups, tall, *extents, *counts, *image.strides[:2], *within, *across
    return np.array([*numbers, straight], np.int64)


def _three(numbers: Sequence[int], otherwise: int) -> list[int]:
    """The numbers of three dimensions, of one to three that there are."""
    return [otherwise] * (3 - len(numbers)) + list(numbers)


def _matrix(plan: np.ndarray) -> int:
    """Elements of the windows of a piece."""
    return int(convolution.height(plan) * plan[TALL] * plan[COLUMNS])


def _room(plan: np.ndarray) -> int:
    """Of these, how many are copied."""
    return 0 if plan[STRAIGHT] else _matrix(plan)
