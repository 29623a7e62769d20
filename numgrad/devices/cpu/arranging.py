"""Elements put in their places by NumPy: triangles of matrices, small tensors joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..memory import empty_row

__all__ = ["clear_triangle", "joined"]


def clear_triangle(tensor: Any, diagonal: int, above: bool) -> None:
    """Zero what lies above (or below) a diagonal of each matrix in the last two dimensions, in place."""
    rows, columns = tensor._shape[-2:]
    outside = np.tri(rows, columns, diagonal if above else diagonal - 1, bool)
    np.copyto(tensor._array(), 0, where=~outside if above else outside, casting="unsafe")


def joined(tensors: Sequence[Any], dim: int, shape: tuple[int, ...], size: int) -> np.ndarray:
    """The elements, as one row, of tensors of one dtype joined along a dimension."""
    out = empty_row(size, tensors[0]._type.numpy)
    np.concatenate([tensor._array() for tensor in tensors], dim, out=out.reshape(shape))
    return out
