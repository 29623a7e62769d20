"""Elements of a tensor in little room."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["dtype_name", "shape_text", "values_text"]

#: Tensors of more elements than this show the first ones alone.
FEW, FIRST = 12, 3


def shape_text(shape: Any) -> str:
    """A shape as tensors print it: ``[3, 5]``."""
    return f"[{', '.join(map(str, shape))}]"


def dtype_name(dtype: Any) -> str:
    """A dtype without the name of the package: ``float32``."""
    return str(dtype).rpartition(".")[2]


def values_text(tensor: Any) -> list[str]:
    """The elements in lines: all of a small tensor, of a large one the first, the least and the greatest."""
    array = np.asarray(tensor.detach()._array())
    if array.size == 0:
        return ["no elements"]
    if array.size <= FEW and array.ndim <= 2:
        rows = [_row(row) for row in array] if array.ndim == 2 else [_row(array)]
        return [f"{'[' if n == 0 else ' '}{row}{']' if n == len(rows) - 1 else ','}" for n, row in enumerate(rows)] if (
            array.ndim == 2
        ) else rows
    first = ", ".join(map(_number, array.reshape(-1)[:FIRST].tolist()))
    if array.dtype.kind == "c" or array.dtype.kind == "b":
        return [f"{first}, …"]
    return [f"{first}, … from {_number(array.min().item())} to {_number(array.max().item())}"]


def _row(array: np.ndarray) -> str:
    return _number(array.item()) if array.ndim == 0 else f"[{', '.join(map(_number, array.tolist()))}]"


def _number(value: Any) -> str:
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.3g}{value.imag:+.3g}j"
    return f"{value:.4g}"
