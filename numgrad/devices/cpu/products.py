"""Matrix products, by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._layout import numel
from ..memory import empty_row
from .blas import one_thread_for

__all__ = ["add_to", "batch_product", "product"]


def product(left: Any, right: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The product, as one row, of two tensors that are matrices or vectors.

    A transposed operand is given to BLAS as it lies; one with gaps is copied.
    """
    out = empty_row(numel(shape), left._type.numpy)
    one, other = left._array(), right._array()
    with one_thread_for(one.size // max(one.shape[-1], 1), one.shape[-1], other.size // max(other.shape[0], 1)):
        np.dot(one, other, out.reshape(shape))
    return out


def batch_product(left: Any, right: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The products, as one row, of two stacks of matrices."""
    out = empty_row(numel(shape), left._type.numpy)
    one, other = _for_blas(left._array()), _for_blas(right._array())
    with one_thread_for(one.shape[-2], one.shape[-1], other.shape[-1]):
        np.matmul(one, other, out=out.reshape(shape))
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
