"""Steps of attention, by kernels that call BLAS for each block of queries and keys."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import attention as kernels

from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["attention", "attention_backward", "attention_is_fused"]

#: Number of multiplications in a head that take as long as one element of a pointwise kernel.
_MULTIPLICATIONS = 8


def attention_is_fused(type: Any) -> bool:
    """Return True if there is a kernel for tensors of this type, which needs the addresses of BLAS's functions."""
    return type.numpy in blas_addresses()


def attention(
    p: Plan, query: TensorRef, key: TensorRef, value: TensorRef, out: TensorRef, causal: bool, scale: float
) -> Buffer:
    """Add the steps that write the attention of (b, h, l, e) queries to (b, h, s, e) keys and values to ``out``.

    A score is ``scale`` times the product of a query and a key.  Return the buffer of the (b, h, l, 2) statistics.
    """
    statistics = p.new(2 * out.size // out.shape[3], out.type.numpy)
    _run(p, kernels.attention, (query, key, value, out), statistics, causal, scale)
    return statistics


def attention_backward(
    p: Plan, tensors: Sequence[TensorRef], grads: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    """Add the steps that write ``grads``, the gradients of query, key and value.

    ``tensors`` are the query, the key, the value, the output and the gradient of the output.
    """
    _run(p, kernels.attention_backward, (*tensors, *grads), statistics, causal, scale)


def _run(
    p: Plan, function: Callable[..., None], tensors: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    stacks, heads, queries, width = tensors[0].shape
    keys, dtype = tensors[1].shape[2], tensors[0].type.numpy
    operands = [tensor if _is_for_blas(tensor) else p.packed(tensor) for tensor in tensors]
    steps = [(*tensor.layout.strides[:2], max(tensor.layout.strides[2], width)) for tensor in operands]
    plan = np.array([stacks, heads, queries, keys, width, int(causal), *itertools.chain(*steps)], np.int64)
    p.run(
        function, dtype, blas_addresses()[dtype], plan, *map(p.onward, operands), statistics, float(scale),
        work=stacks * heads * queries * keys * width // _MULTIPLICATIONS, one_thread=True,
    )


def _is_for_blas(heads: TensorRef) -> bool:
    """Return True if the rows of each head are contiguous, and follow one another in memory."""
    (*_, rows, width), (*_, down, right) = heads.shape, heads.layout.strides
    return (right == 1 or width == 1) and (down >= width or rows == 1)
