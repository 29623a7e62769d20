"""Arrays of float16 and bfloat16, and their elements, as float32.

NumPy has no bfloat16.  Arrays of it have the dtype ``V2``, two bytes without a meaning: NumPy computes nothing with
them, so a conversion that is missing raises an error instead of giving a wrong number.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

__all__ = ["BFLOAT16", "FLOAT16", "narrowed", "number_of", "widened"]

FLOAT16, BFLOAT16 = np.dtype(np.float16), np.dtype("V2")


def widened(array: np.ndarray) -> np.ndarray:
    """Return an array as one that NumPy can compute with: one of bfloat16 as float32, others unchanged."""
    if array.dtype != BFLOAT16:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def narrowed(array: Any, dtype: np.dtype) -> np.ndarray:
    """Return an array of numbers in a dtype: rounded by way of float32 if it is bfloat16 or float16.

    Numbers that are equally near are rounded to the even one.  NaN becomes the one positive quiet NaN.
    """
    if dtype not in (FLOAT16, BFLOAT16):
        return np.asarray(array).astype(dtype)
    with np.errstate(all="ignore"):
        numbers = np.asarray(array).astype(np.float32)
        if dtype == FLOAT16:
            bits = numbers.astype(FLOAT16).view(np.uint16)
        else:
            words = numbers.view(np.uint32)
            bits = (words + 0x7FFF + (words >> 16 & 1) >> 16).astype(np.uint16)
    bits = np.where(np.isnan(numbers), np.uint16(0x7E00 if dtype == FLOAT16 else 0x7FC0), bits)
    return bits.view(dtype)


def number_of(element: Any) -> Any:
    """Return an element of memory as a Python number: the bytes of a bfloat16 as a float."""
    if element.__class__ is not bytes:
        return element
    low, high = element if np.little_endian else element[::-1]
    return struct.unpack("<f", bytes((0, 0, low, high)))[0]
