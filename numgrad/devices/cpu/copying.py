"""Steps that copy, join and roll tensors, keep triangles, and make equally spaced numbers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import copying
from numgrad_kernels.halves import computed

from ...core.halves import narrowed
from ...core.layout import Layout, loop_nest, matrix_steps, numel
from ..common import WORDS, evenly_spaced, word_of
from ..launches import run_kernel
from ..memory import NO_MEMORY, check_countable, out_of_memory
from ..plan import Buffer, HandWritten, Plan, Step, TensorRef
from .launching import hand_written

__all__ = ["copy_step", "counted", "join_rows", "keep_triangle", "roll_rows", "spread"]


#: Greatest number of tensors that are joined pair by pair, a step each: with more, the launcher's text would be long.
TOGETHER = 32

#: Number of elements from which a copy in runs is worth planning.
RUNS_FROM = 4096


def copy_step(p: Plan, program: Any, source: TensorRef, target: TensorRef) -> None:
    """Add the step that copies a tensor, broadcast, into another; ``program`` copies one element."""
    dtype, size, runs = target.type.numpy, target.size, None
    if size >= RUNS_FROM and source.type.numpy is dtype and dtype.itemsize in WORDS:
        runs = _runs(source.layout, target.layout)
    if runs is None:
        p.pointwise(program, [source], target)
        return
    word = WORDS[dtype.itemsize]
    (x, first), (out, start), (steps, out_steps, sizes) = p.strided(source), p.strided(target), runs
    operands = x.view(word), first, *steps, out.view(word), start, *out_steps, *sizes
    p.steps.append(Step(HandWritten(copying.copy_runs, word), operands, size))


def _runs(
    source: Layout, target: Layout
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Return the strides of source and target, and the sizes, for ``copy_runs``; None if it cannot make the copy."""
    if source.contiguous and target.contiguous and source.shape == target.shape:
        return (0, 0, 0, 1), (0, 0, 0), (1, 1, 1, target.size)
    geometry = (target.shape, target.strides), (source.shape, source.strides)
    sizes, (out, x) = loop_nest(target.shape, geometry)
    missing = (0,) * (4 - len(sizes))
    if len(sizes) > 4 or out[-1] != 1 or x[-1] not in (0, 1):
        return None
    return missing + x, (missing + out)[:3], (1,) * len(missing) + sizes


def join_rows(p: Plan, tensors: Sequence[TensorRef], dim: int, out: TensorRef) -> None:
    """Add the steps that concatenate contiguous tensors, of the dtype of the result, along a dimension.

    The kernels run on one thread.
    """
    outer = max(numel(out.shape[:dim]), 1)
    widths, stride = [tensor.size // outer for tensor in tensors], out.size // outer
    starts = [*itertools.accumulate(widths, initial=0)]
    parts = [p.strided(tensor) for tensor in tensors]
    if len(tensors) % 2:
        parts.append(parts[0])
        widths.append(0)
    pairs = [(n, widths[n], widths[n + 1], starts[n]) for n in range(0, len(widths), 2)]
    if len(tensors) > TOGETHER:
        word = word_of(out.type.numpy)
        target = Buffer(out.memory, out.size, out.type.numpy)
        join = functools.partial(_join_all, word, pairs, outer, stride)
        p.call(join, target, *itertools.chain(*parts), written=(target,))
        return
    for n, width, other, start in pairs:
        _join(p, (*parts[n], width, width), (*parts[n + 1], other, other), outer, stride, start, out)


def _join_all(
    word: np.dtype, pairs: Sequence[Any], outer: int, stride: int, out: np.ndarray, *parts: Any
) -> None:
    """Concatenate tensors, two at a time; ``parts`` alternate between their memory and their first elements."""
    kernel = hand_written(copying.join_rows, word, (word, int, int, int) * 2 + (int, int, int, word), 0, ())
    part = iter(parts)
    for (_, width, other, start), x, begin, y, other_begin in zip(pairs, part, part, part, part, strict=True):
        run_kernel(kernel, (x, begin, width, width, y, other_begin, other, other, outer, stride, start, out))


def roll_rows(p: Plan, input: TensorRef, dim: int, shift: int, out: TensorRef) -> None:
    """Add the step that copies a contiguous tensor with the elements of a dimension rolled, the last to the front.

    The kernel runs on one thread.
    """
    outer, inner = numel(input.shape[:dim]), numel(input.shape[dim + 1 :])
    width, front = input.shape[dim] * inner, shift * inner
    end = p.strided(input.viewed(input.layout, width - front))
    _join(p, (*end, width, front), (*p.strided(input), width, width - front), outer, width, 0, out)


def _join(
    p: Plan, left: Sequence[Any], right: Sequence[Any], outer: int, stride: int, start: int, out: TensorRef
) -> None:
    """Add one run of the kernel ``join_rows``."""
    word = word_of(out.type.numpy)
    (x, *x_place), (y, *y_place) = left, right
    operands = x.view(word), *x_place, y.view(word), *y_place
    p.run(copying.join_rows, word, *operands, outer, stride, start, Buffer(out.memory, out.size, word))


def keep_triangle(p: Plan, source: TensorRef, target: TensorRef, diagonal: int, above: bool) -> None:
    """Add the step that copies the triangle of matrices above (or below) a diagonal, with zeros elsewhere.

    The matrices are the last two dimensions, evenly spaced in both tensors, which may be the same.
    """
    if target.size:
        word, steps = word_of(source.type.numpy), matrix_steps(source.layout, target.layout)
        assert steps is not None
        (x, first), (out, start), sizes = p.strided(source), p.strided(target), target.shape[-2:]
        p.run(
            copying.keep_triangle, word, x.view(word), first, *steps[0], out.view(word), start,
            *steps[1], target.size // numel(sizes), *sizes, diagonal, above, work=target.size,
        )


def counted(start: float, step: float, count: int, type: Any) -> np.ndarray:
    """Return a buffer of ``count`` numbers from ``start``, spaced by ``step``."""
    check_countable((count,), np.dtype(np.int64))  # NumPy's arange() returns no elements for more
    try:
        if type.numpy == np.int64 and abs(start) + abs(count * step) < 2**62:
            return np.arange(start, start + count * step, step)
        return narrowed(start + np.arange(count) * step, type.numpy)
    except NO_MEMORY:
        raise out_of_memory((count,), type.numpy) from None


def spread(start: Any, end: Any, count: int, type: Any) -> np.ndarray:
    """Return a buffer of ``count`` numbers from ``start`` to ``end``, equally spaced."""
    check_countable((count,), np.dtype(np.int64))
    return narrowed(evenly_spaced(start, end, count, computed(type.numpy)), type.numpy)
