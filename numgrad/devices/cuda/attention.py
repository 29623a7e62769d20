"""Attention by kernels that have tiles of queries meet tiles of keys, for heads of any width."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import attention as kernels

from ..plan import Buffer, Plan, TensorRef
from .launching import THREADS

__all__ = ["attention", "attention_backward", "attention_is_fused"]

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


def attention_is_fused(type: Any) -> bool:
    """Whether there is a kernel for tensors of this type."""
    return type.numpy in _KINDS


def attention(
    p: Plan, query: TensorRef, key: TensorRef, value: TensorRef, out: TensorRef, causal: bool, scale: float
) -> Buffer:
    """Write attention of (b, h, l, e) queries to (b, h, s, e) keys and values to ``out``, and return its statistics.

    These are (b, h, l, 2) elements.  Scores are ``scale`` times the products of queries and keys.
    """
    statistics = p.new(2 * out.size // out.shape[3], out.type.numpy)
    _run(p, kernels.attention, 0, (*_in_rows(p, query, key, value), out), [statistics], causal, scale)
    return statistics


def attention_backward(
    p: Plan, tensors: Sequence[TensorRef], grads: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    """Write ``grads``, those of query, key and value, from ``tensors``: query, key, value, output, its gradient."""
    query, key, value, out, grad = _in_rows(p, *tensors)
    given = [statistics, p.new(statistics.size // 2, statistics.dtype)]
    _run(p, kernels.attention_queries, 0, (query, key, value, out, grad, grads[0]), given, causal, scale)
    _run(p, kernels.attention_keys, 1, (query, key, value, grad, *grads[1:]), given, causal, scale)


def _in_rows(p: Plan, *tensors: TensorRef) -> list[TensorRef]:
    """Heads each row of which lies in one piece: these, or copies."""
    return [one if one.layout.strides[3] == 1 or one.shape[3] == 1 else p.packed(one) for one in tensors]


def _run(
    p: Plan, function: Any, tiled: int, tensors: Sequence[TensorRef], rows: Sequence[Buffer], causal: bool,
    scale: float,
) -> None:  # fmt: skip
    """Run a kernel that has a block for each tile of the rows of ``tensors[tiled]``."""
    stacks, heads, queries, width = tensors[0].shape
    keys, dtype = tensors[1].shape[2], tensors[0].type.numpy
    arguments: list[Any] = []
    for one in tensors:
        arguments += [p.onward(one), *one.layout.strides[:3]]
    parts = _parts(dtype)
    tiles = -(-tensors[tiled].shape[2] // parts["TILE"])
    p.run(
        function, dtype, *arguments, *rows, heads, queries, keys, width, int(causal), float(scale),
        grid=(stacks * heads * tiles, parts["SIDE"] ** 2), **parts,
    )  # fmt: skip


@functools.cache
def _parts(dtype: np.dtype) -> dict[str, Any]:
    """The constants of kernels for a dtype: of a wider one, tiles must be smaller to fit into shared memory."""
    side = math.isqrt(THREADS)
    if dtype.itemsize > 4:
        side = max(side // 2, 2)
    tile = 4 * side
    pitch = tile + 4
    return {
        "SIDE": side, "TILE": tile, "PITCH": pitch, "AREA": tile * pitch, "PART": side * pitch,
        "FOUND": tile * (side + 1),
    }  # fmt: skip
