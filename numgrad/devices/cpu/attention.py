"""Attention by kernels that call BLAS for each block of queries and keys."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import attention as kernels

from ..plan import Buffer, Plan, TensorRef
from .blas import blas_addresses

__all__ = ["attention", "attention_backward", "attention_is_fused"]

#: Multiplications, in a head, that take as long as a pointwise kernel over one element.
_MULTIPLICATIONS = 8


def attention_is_fused(type: Any) -> bool:
    """Whether there is a kernel for tensors of this type: BLAS's functions must be known."""
    return type.numpy in blas_addresses()


def attention(
    p: Plan, query: TensorRef, key: TensorRef, value: TensorRef, out: TensorRef, causal: bool, scale: float
) -> Buffer:
    """Write attention of (b, h, l, e) queries to (b, h, s, e) keys and values to ``out``, and return its statistics.

    These are (b, h, l, 2) elements.  Scores are ``scale`` times the products of queries and keys.
    """
    statistics = p.new(2 * out.size // out.shape[3], out.type.numpy)
    _run(p, kernels.attention, (query, key, value, out), statistics, causal, scale)
    return statistics


def attention_backward(
    p: Plan, tensors: Sequence[TensorRef], grads: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    """Write ``grads``, those of query, key and value, from ``tensors``: query, key, value, output, its gradient."""
    _run(p, kernels.attention_backward, (*tensors, *grads), statistics, causal, scale)


def _run(
    p: Plan, function: Callable[..., None], tensors: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    stacks, heads, queries, width = tensors[0].shape
    keys, dtype = tensors[1].shape[2], tensors[0].type.numpy
    given = [one if _is_for_blas(one) else p.packed(one) for one in tensors]
    steps = [(*one.layout.strides[:2], max(one.layout.strides[2], width)) for one in given]
    plan = np.array([stacks, heads, queries, keys, width, int(causal), *itertools.chain(*steps)], np.int64)
    p.run(
        function, dtype, blas_addresses()[dtype], plan, *map(p.onward, given), statistics, float(scale),
        work=stacks * heads * queries * keys * width // _MULTIPLICATIONS, one_thread=True,
    )


def _is_for_blas(heads: TensorRef) -> bool:
    """Return whether the rows of each head lie in one piece, and one after the other."""
    (*_, rows, width), (*_, down, right) = heads.shape, heads.layout.strides
    return (right == 1 or width == 1) and (down >= width or rows == 1)
