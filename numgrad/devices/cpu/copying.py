"""Elements copied to another layout, joined, rolled, copied on one side of a diagonal; numbers at equal distances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import copying

from ...core.layout import Layout, loop_nest, matrix_steps, numel
from ..common import WORDS, evenly_spaced, factor_copier, word_of
from ..memory import NO_MEMORY, check_countable, empty_row, out_of_memory
from ..plan import HandWritten, Plan, Step, TensorRef
from .launching import kernel_for
from .pointwise import pointwise_kernel
from .threads import worth_threads

__all__ = ["copy_step", "counted", "joiner", "roller", "spread", "triangle_writer"]


#: Elements from which a copy is worth finding out how it can be made in runs.
RUNS_FROM = 4096

def copy_step(p: Plan, program: Any, source: TensorRef, target: TensorRef) -> None:
    """Add the copy of a tensor, broadcast, into another; ``program`` copies one element."""
    dtype, size, runs = target.type.numpy, target.size, None
    if size >= RUNS_FROM and source.type.numpy is dtype and dtype.itemsize in WORDS:
        runs = _runs(source.layout, target.layout)
    if runs is None:
        p.pointwise(program, [source], target)
        return
    word = WORDS[dtype.itemsize]
    (x, first), (out, start), (steps, wanted, sizes) = p.strided(source), p.strided(target), runs
    p.steps.append(Step(
        HandWritten(copying.copy_runs, word),
        (x._replace(dtype=word), first, *steps, out._replace(dtype=word), start, *wanted, *sizes), size,
    ))  # fmt: skip


def _runs(
    source: Layout, target: Layout
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """The steps through a source and a target, and the sizes, for ``copy_runs``; None if that cannot do it."""
    if source.contiguous and target.contiguous and source.shape == target.shape:
        return (0, 0, 0, 1), (0, 0, 0), (1, 1, 1, target.size)
    geometry = (target.shape, target.strides), (source.shape, source.strides)
    sizes, (out, x) = loop_nest(target.shape, geometry)
    missing = (0,) * (4 - len(sizes))
    if len(sizes) > 4 or out[-1] != 1 or x[-1] not in (0, 1):
        return None
    return missing + x, (missing + out)[:3], (1,) * len(missing) + sizes


def joiner(tensors: Sequence[Layout], dim: int, out: Layout) -> Callable[..., np.ndarray]:
    """What makes a row of the elements of tensors, given one by one, joined along a dimension.

    They are of one dtype and contiguous.  The work is one thread's.
    """
    size, dtype = out.size, out.type.numpy
    outer = numel(out.shape[:dim])
    widths = [layout.size // outer if outer else 0 for layout in tensors]
    stride = sum(widths)
    kernel_of = row_joiner(dtype)
    if len(tensors) == 2:
        width, other = widths

        def join_two(x: Any, y: Any) -> np.ndarray:
            row = np.empty(size, dtype)
            kernel_of().entry(
                x._storage, x._offset, width, width, y._storage, y._offset, other, other, outer, stride, 0, row
            )
            return row

        return join_two
    pairs = list(zip(itertools.accumulate(widths, initial=0), widths, strict=False))
    steps = []
    for first in range(0, len(pairs), 2):
        second = first + 1 if first + 1 < len(pairs) else first
        start, width = pairs[first]
        steps.append((first, width, second, pairs[second][1] if second > first else 0, start))

    def launch(*given: Any) -> np.ndarray:
        row = np.empty(size, dtype)
        join = kernel_of().entry
        for first, width, second, other, start in steps:
            x, y = given[first], given[second]
            join(x._storage, x._offset, width, width, y._storage, y._offset, other, other, outer, stride, start, row)
        return row

    return launch


def roller(layout: Layout, dim: int, shift: int) -> Callable[[Any], np.ndarray]:
    """What makes a row of a contiguous tensor's elements with those of a dimension moved on, the last to the front.

    The work is one thread's.
    """
    size, dtype = layout.size, layout.type.numpy
    outer, inner = numel(layout.shape[:dim]), numel(layout.shape[dim + 1 :])
    width, front = layout.shape[dim] * inner, shift * inner
    kernel_of = row_joiner(dtype)

    def launch(tensor: Any) -> np.ndarray:
        row, x, start = np.empty(size, dtype), tensor._storage, tensor._offset
        kernel_of().entry(
            x, start + width - front, width, front, x, start, width, width - front, outer, width, 0, row
        )
        return row

    return launch


def rearranger(
    dtype: np.dtype, sizes: tuple[int, int], steps: tuple[int, int], start: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """What makes a row of another one's elements, seen as a matrix: those in these steps from ``start`` on."""
    size, program = math.prod(sizes), factor_copier(dtype)
    nest = np.array([*sizes, *steps, sizes[1], 1], np.int64)

    def launch(row: np.ndarray) -> np.ndarray:
        out = empty_row(size, dtype)
        if size:
            pointwise_kernel(program, 2, False, worth_threads(size), "aa").entry(row, start, out, 0, nest)
        return out

    return launch


def row_joiner(dtype: np.dtype) -> Callable[[], Any]:
    """The kernel that puts rows of elements of this dtype beside each other."""
    word = word_of(dtype)
    return kernel_for(copying.join_rows, word, (word, int, int, int) * 2 + (int, int, int, word), 0)


def triangle_writer(source: Layout, target: Layout, diagonal: int, above: bool) -> Callable[..., None]:
    """What copies matrices, in the last two dimensions, with zeros above (or below) a diagonal.

    It is given the memory and the first element of a tensor of the layout ``source``, then those of one of the layout
    ``target``, which is overwritten, and may be the same.
    """
    dtype = source.type.numpy
    word = word_of(dtype)
    starts, steps, count = matrix_steps(source, target)
    numbers = (count, *source.shape[-2:], diagonal, above)
    signature = (word, int, int, int, int) * 2 + (int, int, int, int, bool)
    kernel_of = kernel_for(copying.keep_triangle, word, signature, source.size)

    (x_step, x_row, x_column), (out_step, out_row, out_column) = steps

    def launch(x: np.ndarray, first: int, out: np.ndarray, offset: int) -> None:
        for start, goal in starts:
            kernel_of().entry(
                x, first + start, x_step, x_row, x_column, out, offset + goal, out_step, out_row, out_column, *numbers
            )

    return launch


def counted(start: float, step: float, count: int, type: Any) -> np.ndarray:
    """A row of ``count`` numbers from ``start``, ``step`` apart."""
    check_countable((count,), np.dtype(np.int64))  # of more NumPy's arange() gives none
    try:
        if type.numpy == np.int64 and abs(start) + abs(count * step) < 2**62:
            return np.arange(start, start + count * step, step)
        return (start + np.arange(count) * step).astype(type.numpy)
    except NO_MEMORY:
        raise out_of_memory((count,), type.numpy) from None


def spread(start: Any, end: Any, count: int, type: Any) -> np.ndarray:
    """A row of ``count`` numbers from ``start`` to ``end``."""
    check_countable((count,), np.dtype(np.int64))
    return evenly_spaced(start, end, count, type.numpy).astype(type.numpy)
