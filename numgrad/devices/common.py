"""Parts that both devices share: pointwise programs, sizes and steps of kernels, checks of arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu import reductions
from numgrad_kernels.halves import computed, passed
from numgrad_kernels.pointwise import Operand, PointwiseProgram

from ..core.layout import Ints, contiguous_strides, numel
from .memory import NO_MEMORY, out_of_memory

__all__ = [
    "NUMBERS",
    "IndexSteps",
    "OutOfBoundsError",
    "check_sizes",
    "check_values",
    "copy_program",
    "evenly_spaced",
    "filler",
    "row_adder",
]

# -- pointwise programs -----------------------------------------------------------------------------------------------

#: Classes of the numbers that a kernel takes unchanged.
NUMBERS = frozenset({bool, int, float, complex})


def _same(value):
    return value


def _input(input):
    return input


def _sum_of(total, row):
    return total + row


@functools.cache
def filler(number: Any, dtype: np.dtype) -> PointwiseProgram:
    """Return the program that fills a buffer with a number of a Python class."""
    value = Operand("value", np.dtype(number), scalar=True)
    return PointwiseProgram("fill", computed(dtype), (value,), (("out", dtype),), (_same,))


@functools.cache
def row_adder(dtype: np.dtype) -> PointwiseProgram:
    """Return the program that adds two buffers."""
    operands = Operand("total", dtype), Operand("row", dtype)
    return PointwiseProgram("add_rows", computed(dtype), operands, (("out", dtype),), (_sum_of,))


@functools.cache
def copy_program(source: np.dtype, target: np.dtype) -> PointwiseProgram:
    """Return the program that copies elements of one dtype to elements of another."""
    if source == target:
        source = target = passed(target)  # the bits of float16 and bfloat16
    return PointwiseProgram("copy", computed(target), (Operand("input", source),), (("out", target),), (_input,))


#: Dtypes that stand for all dtypes of the same size in copies, by size, so that they share a kernel.
WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def word_of(dtype: np.dtype) -> np.dtype:
    """Return the unsigned integer type with the size of a dtype, for moving elements, or the dtype if there is none."""
    return WORDS.get(dtype.itemsize, dtype)


# -- reductions -------------------------------------------------------------------------------------------------------

#: Term and fold of each reduction, by name.
FOLDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (reductions.term, reductions.fold),
    "nansum": (reductions.number_or_zero, reductions.fold),
    "prod": (reductions.term, reductions.product),
    "max": (reductions.term, reductions.larger),
    "min": (reductions.term, reductions.smaller),
    "any": (reductions.nonzero, reductions.larger),
    "nanany": (reductions.nonzero_number, reductions.larger),
    "all": (reductions.nonzero, reductions.smaller),
    "nonzero": (reductions.nonzero, reductions.fold),
}


@functools.cache
def nothing(name: str, dtype: np.dtype) -> float:
    """Return the result of a reduction over no elements."""
    if name in ("prod", "all"):
        return 1
    if name not in ("max", "min"):
        return 0
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    return int(np.iinfo(dtype).min if name == "max" else np.iinfo(dtype).max)


def least_sure_norm(dtype: np.dtype, order: float) -> float:
    """Return the least norm for which underflow in the sum of powers costs no digits."""
    limits = np.finfo(dtype)
    return float(limits.tiny / limits.eps) ** (1 / order)


# -- elements at indices ----------------------------------------------------------------------------------------------


class IndexSteps(NamedTuple):
    """Steps and sizes of the elements at indices in a storage, as (outer, indices, inner); see the kernels."""

    outer_step: int
    step: int
    size: int
    inner_step: int
    outer: int
    inner: int


class OutOfBoundsError(IndexError):
    """Error of an index outside of a dimension."""

    def __init__(self, index: Any, size: int):
        super().__init__(f"index {index} is out of bounds for dimension with size {size}")
        self.index = index
        self.size = size


def check_sizes(count: int, indices: int, size: int, length: int, width: int) -> None:
    """Raise unless ``count`` values fit indices of shape (outer, width, inner) into (outer, length, inner) elements.

    Raises:
        RuntimeError: they do not.
    """
    if indices and (indices * length != size * width or count not in (1, indices)):
        raise RuntimeError(
            f"shape mismatch: {indices} indices, {width} along the dimension, of {size} elements, {length} along it, "
            f"and {count} values"
        )


def check_values(available: int, value_steps: tuple[int, int, int], steps: Any, count: int) -> None:
    """Raise unless ``available`` values suffice for ``count`` indices, read in ``value_steps``.

    Raises:
        RuntimeError: they do not.
    """
    outer, inner = steps.outer, steps.inner
    size = outer * count * inner
    last = (outer - 1) * value_steps[0] + (count - 1) * value_steps[1] + (inner - 1) * value_steps[2]
    if size and last >= available:
        raise RuntimeError(f"shape mismatch: {available} values for {size} elements at {count} indices")


def classes_of(shape: Ints) -> tuple[int, int]:
    """Return the number of classes, the second or only dimension, and the step from one class to the next."""
    return (shape[1], numel(shape[2:])) if len(shape) > 1 else (shape[0], 1)


def set_steps(channels: int, count: int, sets: int, across: bool) -> tuple[int, int, int]:
    """Return the number of channels of a set, the distance between two sets, and the distance between its channels.

    ``count`` is the number of channels of all examples.
    """
    members = count // max(sets, 1)
    return (members, 1, channels) if across else (members, members, 1)


def may_share_elements(left: np.ndarray, right: np.ndarray) -> bool:
    """Return True if two arrays have an element in common, or if that is too hard to decide."""
    try:
        return np.shares_memory(left, right, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def check_not_negative(least: int, count: int) -> None:
    """Raise unless the least of the ``count`` integers that ``bincount`` counts is 0 or more.

    Raises:
        RuntimeError: it is negative.
    """
    if least < 0:
        raise RuntimeError(f"bincount only supports 1-d non-negative integral inputs (shape [{count}]).")


def negative_repeats(count: int) -> RuntimeError:
    """Return the error for ``count`` numbers of repetitions of which one is negative."""
    return RuntimeError(f"repeats can not be negative (shape [{count}])")


# -- numbers at equal distances ---------------------------------------------------------------------------------------


def evenly_spaced(start: Any, end: Any, steps: int, dtype: np.dtype) -> np.ndarray:
    """Return ``steps`` numbers from start to end; each half is computed from its own end, so that both are exact."""
    if steps == 1:
        return np.array([start], dtype)
    compute = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    first, last = compute.type(start), compute.type(end)
    step = (last - first) / compute.type(steps - 1)
    try:
        numbers = np.arange(steps)
        upward = first + step * numbers.astype(compute)
        downward = last - step * numbers[::-1].astype(compute)
        return np.where(numbers < steps // 2, upward, downward)
    except NO_MEMORY:
        raise out_of_memory((steps,), dtype) from None


# -- matrix products --------------------------------------------------------------------------------------------------


class Factor(NamedTuple):
    """Matrices in a form that BLAS takes: contiguous rows, or contiguous columns if ``transposed``."""

    step: int  # elements from one row, or column, to the next
    batch: int  # elements from one matrix of a stack to the next
    transposed: bool  # True if the columns are contiguous
    copied: bool  # True if neither rows nor columns were contiguous: the numbers describe a contiguous copy


def factor(shape: tuple[int, ...], strides: tuple[int, ...] | None, transposed: bool) -> Factor:
    """Return a matrix or a stack of matrices, or their transposes if ``transposed``, in BLAS's form."""
    steps = contiguous_strides(shape) if strides is None else strides
    step = _step(shape, steps)
    copied = step is None
    if step is None:
        steps = contiguous_strides(shape)
        step = _step(shape, steps) or (1, False)
    return Factor(step[0], steps[0] if len(shape) == 3 else 0, step[1] != transposed, copied)


def _step(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, bool] | None:
    """Return the step between a matrix's contiguous rows, or, with True, columns; None if neither are contiguous."""
    (rows, columns), (down, right) = shape[-2:], strides[-2:]
    if (right == 1 or columns == 1) and (rows == 1 or down >= columns):
        return max(columns if rows == 1 else down, 1), False
    if (down == 1 or rows == 1) and (columns == 1 or right >= rows):
        return max(rows if columns == 1 else right, 1), True
    return None


def product_sizes(
    left: tuple[int, ...], right: tuple[int, ...], transposed: tuple[bool, bool]
) -> tuple[int, int, int, int]:
    """Return the number of matrices, and m, n and k, of a product of (m, k) and (k, n) matrices."""
    count = left[0] if len(left) == 3 else 1
    m, k = left[:-3:-1] if transposed[0] else left[-2:]
    return count, m, right[-2] if transposed[1] else right[-1], k
