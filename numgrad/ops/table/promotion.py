"""PyTorch's type promotion: the dtype that an operation computes in, and the numbers that a dtype can hold."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.layout import Layout
from ...core.types import bool_, complex_of, dtype, finfo, float32, get_default_dtype, int64, real_of
from ...tensors.tensor import Tensor
from .checks import check
from .op import public


@public(method=False)
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that both can be converted to.

    It is the dtype of the higher category, or within one category the larger dtype.  The categories are bool, integers,
    floating-point and complex numbers.

    Raises:
        RuntimeError: both are integers, and one of them is uint16, uint32 or uint64.

    Example:
        >>> import numgrad
        >>> numgrad.promote_types(numgrad.int32, numgrad.float32)
        torch.float32
    """
    if type1 is type2:
        return type1
    lower, higher = (type1, type2) if type1.category <= type2.category else (type2, type1)
    if lower.category == higher.category or (higher.is_complex and lower.is_floating_point):
        if type1.is_half != type2.is_half:
            return type2 if type1.is_half else type1
        check(
            not (type1.is_limited or type2.is_limited), "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {type1.legacy} and {type2.legacy}",
        )
        return dtype.of_numpy[np.promote_types(lower.compute.numpy, higher.compute.numpy)]
    return higher


@public(method=False)
def can_cast(from_: dtype, to: dtype) -> bool:
    """Return True if type promotion may store numbers of one dtype in another.

    It never stores them in a dtype of a lower category.

    Example:
        >>> import numgrad
        >>> numgrad.can_cast(numgrad.float32, numgrad.int64)
        False
    """
    return from_.category <= to.category


def number_dtype(value: Any) -> dtype:
    """Return the dtype that a Python number stands for."""
    if value.__class__ is float:
        return get_default_dtype()
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return complex_of(get_default_dtype()) if isinstance(value, complex) else get_default_dtype()


def result_dtype(operands: Iterable[Any]) -> dtype:
    """Return the common dtype of tensors and Python numbers."""
    return meeting_dtype([
        value._layout if isinstance(value, Tensor) else plain_number(value).__class__ for value in operands
    ])


def meeting_dtype(kinds: Iterable[Any]) -> dtype:
    """Return the common dtype of tensors of these layouts and numbers of these classes.

    Tensors with dimensions decide.  A 0-d tensor, and after it a number, only counts if it is of a higher category
    (bool, integer, floating point, complex).
    """
    by_rank: list[dtype | None] = [None, None, None]  # numbers, 0-d tensors, tensors with dimensions
    for layout in kinds:
        if isinstance(layout, Layout):
            rank, element = (2 if layout.shape else 1), layout.type.dtype
        else:
            rank, element = 0, number_dtype(layout())
        present = by_rank[rank]
        by_rank[rank] = element if present is None else promote_types(present, element)
    result: dtype | None = None
    for element in reversed([element for element in by_rank if element is not None]):
        result = element if result is None else _outranked(result, element)
    assert result is not None
    return result


def _outranked(decisive: dtype, other: dtype) -> dtype:
    """Return the dtype of ``decisive`` combined with a dtype that only counts if its category is higher."""
    if other.category <= decisive.category:
        return decisive
    return complex_of(decisive) if decisive.is_floating_point else other


@public(method=False)
def result_type(tensor1: Tensor | complex, tensor2: Tensor | complex) -> dtype:
    """Return the dtype of the result of arithmetic between two tensors or numbers.

    Example:
        >>> import numgrad
        >>> numgrad.result_type(numgrad.tensor([1, 2]), 1.5)
        torch.float32
    """
    return result_dtype((tensor1, tensor2))


LARGEST_FLOAT32 = (2 - 2.0**-23) * 2.0**127


def check_fits(value: complex, target: dtype) -> None:
    """Raise if a number is too large for a dtype.

    Raises:
        RuntimeError: if it is.
    """
    check(_holds(target, value), "value {} cannot be converted to type {} without overflow", value, target.name)


def bounds(number: type, target: dtype) -> tuple[float, float]:
    """Return bounds between which any number of this class, not complex, fits into a dtype."""
    if target.kind == "i":
        info = np.iinfo(target.numpy)
        return info.min or -info.max, info.max
    if number is not float:
        return -(2**63), 2**63 - 1
    largest = math.inf if target.kind == "b" else _largest(real_of(target))
    return -largest, largest


@functools.cache
def _largest(target: dtype) -> float:
    """Return the largest number of a floating-point dtype; infinity for float64, which holds all of Python's."""
    return finfo(target).max if target.itemsize <= float32.itemsize else math.inf


def plain_number(value: Any) -> Any:
    """Return a number of a subclass, such as an enum's or a watched number, as a plain Python number."""
    watched = getattr(value, "plain", None)
    if watched is not None:
        return watched()
    classes: tuple[Any, ...] = (bool, int, float, complex)
    return next(plain(value) for plain in classes if isinstance(value, plain))


def _holds(target: dtype, value: complex) -> bool:
    """Return True if ``target`` has a number near ``value``; a negative one may wrap around to become unsigned."""
    if isinstance(value, complex):
        return target.kind == "b" or ((target.is_complex or not value.imag) and _holds(real_of(target), value.real))
    if target.kind == "i":
        low, high = bounds(int, target)
        return low <= value <= high
    return target.kind == "b" or not math.isfinite(value) or abs(value) <= _largest(real_of(target))
