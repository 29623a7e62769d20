"""New tensors on memory of their own: uninitialised, zeroed, filled with a number or with given elements."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.device import CPU
from ...core.tensor import Tensor, fresh
from ...core.types import TensorType


def empty_of(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A tensor on uninitialised memory."""
    return fresh(type.backend.empty(shape, type), shape, type)


def zeros_of(shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A tensor of zeros."""
    return fresh(type.backend.zeros(shape, type), shape, type)


def filled_of(shape: tuple[int, ...], value: Any, type: TensorType) -> Tensor:
    """A tensor that repeats a number, which its dtype can hold."""
    return fresh(type.backend.filled(shape, value, type), shape, type)


def from_row(row: Any, shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A tensor with the elements of a NumPy row of its dtype: on that memory, or on a copy where it lies elsewhere."""
    return fresh(row if type.device is CPU else devices.moved(row, type.device), shape, type)
