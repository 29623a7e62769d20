"""Matrix products, by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._layout import numel
from ..memory import empty_row

__all__ = ["add_to", "batch_product", "product"]


def product(left: Any, right: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The product, as one row, of two tensors that are matrices or vectors.

    A transposed operand is given to BLAS as it lies; one with gaps is copied.
    """
    out = empty_row(numel(shape), left._type.numpy)
    np.dot(left._array(), right._array(), out.reshape(shape))
    return out


def batch_product(left: Any, right: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The products, as one row, of two stacks of matrices."""
    out = empty_row(numel(shape), left._type.numpy)
    np.matmul(_for_blas(left._array()), _for_blas(right._array()), out=out.reshape(shape))
    return out


def add_to(product: Any, input: Any) -> None:
    """Add a tensor, which may have to be broadcast, to one of few elements in place."""
    out = product._array()
    np.add(out, input._array(), out=out)


def _for_blas(stack: np.ndarray) -> np.ndarray:
    """The matrices with rows or columns in one piece: of others NumPy makes products without BLAS, and slowly."""
    rows, columns = stack.shape[-2:]
    down, right = stack.strides[-2:]
    item = stack.itemsize
    if (right == item and down >= columns * item) or (down == item and right >= rows * item):
        return stack
    return np.ascontiguousarray(stack)
