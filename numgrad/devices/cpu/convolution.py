"""Convolutions as products of matrices, where BLAS's functions are known; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from numgrad_kernels.cpu import convolution
from numgrad_kernels.cpu.convolution import BACK, CHANNELS, COLUMNS, DOWN, IMAGES, LAYERS, RIGHT, ROWS, STRAIGHT, TALL

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

#: Into how many parts the gradient for filters is summed, at most, and how many elements they have together.
_PARTS, _SUMS = 8, 1 << 22

_INT64 = np.dtype(np.int64)


def correlation_launcher(
    image: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, bias: Layout | None
) -> Callable[..., np.ndarray] | None:
    """What multiplies filters with the windows of images: ``launch(images, filters, bias)`` returns memory for ``out``.

    ``filters`` is a row; there is none where BLAS's functions are not known or the layouts are not what they take.
    """
    dtype, plan = image.type.numpy, _plan(image, out, kernel, stride, dilation, groups)
    if plan is None or (bias is not None and bias.strides != (1,)):
        return None
    address, work = blas_addresses()[dtype], out.size * _height(plan) // 8
    rows = dtype, int, dtype, dtype, int, dtype, dtype
    kernel_of, room = kernel_for(convolution.convolution, dtype, (int, _INT64, int, *rows), work), _room(plan)
    none = no_row(dtype)

    def launch(images: Any, filters: np.ndarray, bias: Any) -> np.ndarray:
        workers = numba.get_num_threads() if worth_threads(work) else 1
        row = empty(out.shape, out.type)
        added = (none, 0) if bias is None else (bias._storage, bias._offset)
        windows = np.empty(workers * room, dtype)
        with one_thread():
            kernel_of().entry(
                address, plan, workers, images._storage, images._offset, filters, *added, windows, row
            )
        return row

    return launch


def spread_products_launcher(
    grad: Layout, out: Layout, kernel: Ints, stride: Ints, dilation: Ints, groups: int, bias: Layout | None
) -> Callable[..., np.ndarray] | None:
    """What adds up filters times gradients where their windows lie: ``launch(grad, filters, bias)`` returns memory.

    ``out`` is the layout of the images, contiguous.
    """
    dtype, plan = out.type.numpy, _plan(out, grad, kernel, stride, dilation, groups)
    if plan is None or (bias is not None and bias.strides != (1,)):
        return None
    address, work, pairs = blas_addresses()[dtype], grad.size * _height(plan) // 8, int(plan[IMAGES] * groups)
    rows = dtype, int, dtype, dtype, int, dtype, dtype
    kernel_of = kernel_for(convolution.convolution_input, dtype, (int, _INT64, int, *rows), work)
    none, room = no_row(dtype), _height(plan) * int(plan[TALL] * plan[COLUMNS])

    def launch(grads: Any, filters: np.ndarray, bias: Any) -> np.ndarray:
        workers = min(numba.get_num_threads(), pairs) if worth_threads(work) else 1
        row, windows = empty(out.shape, out.type), np.empty(workers * room, dtype)
        added = (none, 0) if bias is None else (bias._storage, bias._offset)
        with one_thread():
            kernel_of().entry(address, plan, workers, grads._storage, grads._offset, filters, *added, windows, row)
        return row

    return launch


def window_products_launcher(
    image: Layout, grad: Layout, out: Layout, stride: Ints, dilation: Ints, groups: int
) -> Callable[..., np.ndarray] | None:
    """What multiplies gradients with the windows of images: ``launch(images, grad)`` returns memory for ``out``."""
    dtype, plan = image.type.numpy, _plan(image, grad, out.shape[2:], stride, dilation, groups)
    if plan is None or not out.size:
        return None
    address, work = blas_addresses()[dtype], grad.size * _height(plan) // 8
    rows = dtype, int, dtype, int, dtype, dtype, dtype
    kernel_of = kernel_for(convolution.convolution_weight, dtype, (int, _INT64, int, *rows), work)
    pieces = plan[IMAGES] * groups * -(-plan[LAYERS] * plan[ROWS] // plan[TALL])
    parts = int(min(_PARTS, pieces, max(1, _SUMS // out.size)))
    room = parts * _room(plan)

    def launch(images: Any, grads: Any) -> np.ndarray:
        row = empty(out.shape, out.type)
        sums, windows = np.empty(parts * out.size, dtype), np.empty(room, dtype)
        given = grads._storage, grads._offset, images._storage, images._offset
        with one_thread():
            kernel_of().entry(address, plan, parts, *given, windows, sums, row)
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
    if height * columns * windows.type.numpy.itemsize > _LINE:
        return None
    tall = min(lines, max(1, BYTES // (height * columns * windows.type.numpy.itemsize)))
    follow = zip(counts, across, (counts[1] * columns, columns, 1), strict=True)
    straight = math.prod(extents) == 1 and image.strides[1] >= lines * columns
    straight = straight and all(count == 1 or step == own for count, step, own in follow)
    numbers = images, groups, channels, filters // groups, tall, *extents, *counts, *image.strides[:2], *within, *across
    return np.array([*numbers, straight], np.int64)


def _three(numbers: Sequence[int], otherwise: int) -> list[int]:
    """The numbers of three dimensions, of one to three that there are."""
    return [otherwise] * (3 - len(numbers)) + list(numbers)


def _height(plan: np.ndarray) -> int:
    return int(plan[CHANNELS] * plan[BACK] * plan[DOWN] * plan[RIGHT])


def _room(plan: np.ndarray) -> int:
    """Elements of the windows of a piece."""
    return 0 if plan[STRAIGHT] else int(_height(plan) * plan[TALL] * plan[COLUMNS])
