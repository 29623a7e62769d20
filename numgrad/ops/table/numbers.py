"""Python's numbers as operands: which a dtype can hold, and in which form a kernel takes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.types import dtype, float32, real_of

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def check_fits(value: complex, kind: dtype) -> None:
    """Raise if a number is too large for a dtype.

    Raises:
        RuntimeError: it is.
    """
    if not _holds(kind, value):
        raise RuntimeError(f"value {value} cannot be converted to type {kind.name} without overflow")


def bounds(number: type, kind: dtype) -> tuple[float, float]:
    """Between which two a number of this class, not a complex one, surely fits into a dtype."""
    if kind.kind == "i":
        info = np.iinfo(kind.numpy)
        return info.min or -info.max, info.max
    if number is not float:
        return -(2**63), 2**63 - 1
    return (-LARGEST_FLOAT32, LARGEST_FLOAT32) if real_of(kind) is float32 else (-math.inf, math.inf)


def plain_number(value: Any) -> Any:
    """A number of a subclass of Python's, such as an enum's, as Python's own."""
    classes: tuple[Any, ...] = (bool, int, float, complex)
    return next(plain(value) for plain in classes if isinstance(value, plain))


def _holds(kind: dtype, value: complex) -> bool:
    """Whether ``kind`` has a number near ``value``; a negative one may wrap around to become unsigned."""
    if isinstance(value, complex):
        return kind.kind == "b" or ((kind.is_complex or not value.imag) and _holds(real_of(kind), value.real))
    if kind.kind == "i":
        low, high = bounds(int, kind)
        return low <= value <= high
    return real_of(kind) is not float32 or not math.isfinite(value) or abs(value) <= LARGEST_FLOAT32
