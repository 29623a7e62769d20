"""Attention by kernels that call BLAS for each block of queries and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import attention as kernels

from ...core.layout import contiguous_strides
from .blas import blas_addresses, one_thread
from .launching import kernel_for
from .products import factor_copy

__all__ = ["attention", "attention_backward", "attention_is_fused"]

_INT64 = np.dtype(np.int64)

#: Multiplications, in a head, that take as long as a pointwise kernel over one element.
_MULTIPLICATIONS = 8


def attention_is_fused(type: Any) -> bool:
    """Whether there is a kernel for tensors of this type: BLAS's functions must be known."""
    return type.numpy in blas_addresses()


def attention(tensors: Sequence[Any], statistics: Any, causal: bool, scale: float) -> None:
    """Fill the last of ``tensors``: query, key, value, output, and ``statistics``, of shape (b, h, l, 2), for scores
    ``scale`` times the products of (b, h, l, e) queries and (b, h, s, e) keys.
    """
    _run(kernels.attention, tensors, statistics, causal, scale)


def attention_backward(
    tensors: Sequence[Any], grads: Sequence[Any], statistics: Any, causal: bool, scale: float
) -> None:
    """Fill ``grads``, those of query, key and value, from ``tensors``: query, key, value, output, its gradient."""
    _run(kernels.attention_backward, [*tensors, *grads], statistics, causal, scale)


def _run(function: Callable[..., None], tensors: Sequence[Any], statistics: Any, causal: bool, scale: float) -> None:
    stacks, heads, queries, width = tensors[0]._layout.shape
    keys = tensors[1]._layout.shape[2]
    plan = [stacks, heads, queries, keys, width, int(causal)]
    rows = []
    for tensor in tensors:
        row, start, steps = _for_blas(tensor)
        rows.append(row)
        plan += [start, *steps]
    work = stacks * heads * queries * keys * width
    dtype = tensors[0]._layout.type.numpy
    signature = int, _INT64, *[dtype] * (len(rows) + 1), float
    run = kernel_for(function, dtype, signature, work // _MULTIPLICATIONS)().entry
    with one_thread():
        run(blas_addresses()[dtype], np.array(plan, _INT64), *rows, statistics._flat, float(scale))


def _for_blas(tensor: Any) -> tuple[np.ndarray, int, tuple[int, ...]]:
    """The memory of a stack of heads, where it starts, and the steps; copied unless the rows lie in one piece each."""
    strides = tensor._layout.strides
    rows, width = tensor._layout.shape[-2:]
    if (strides[3] == 1 or width == 1) and (strides[2] >= width or rows == 1):
        return tensor._storage, tensor._offset, (*strides[:2], max(strides[2], width))
    return factor_copy(tensor._layout)(tensor), 0, contiguous_strides(tensor._layout.shape)[:3]
