"""Attention by kernels that have tiles of queries meet tiles of keys, for heads of any width."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import attention as kernels

from .launching import THREADS, launch
from .memory import empty_row

__all__ = ["attention", "attention_backward", "attention_is_fused"]

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


def attention_is_fused(type: Any) -> bool:
    """Whether there is a kernel for tensors of this type."""
    return type.numpy in _KINDS


def attention(tensors: Sequence[Any], statistics: Any, causal: bool, scale: float) -> None:
    """Fill the last of ``tensors``: query, key, value, output, and ``statistics``, of shape (b, h, l, 2), for scores
    ``scale`` times the products of (b, h, l, e) queries and (b, h, s, e) keys.

    The rows of all but ``statistics`` must lie in one piece each.
    """
    _run(kernels.attention, 0, tensors, [statistics._flat], causal, scale)


def attention_backward(
    tensors: Sequence[Any], grads: Sequence[Any], statistics: Any, causal: bool, scale: float
) -> None:
    """Fill ``grads``, those of query, key and value, from ``tensors``: query, key, value, output, its gradient."""
    query, key, value, _, grad = tensors
    rows = [statistics._flat, empty_row(statistics._flat.size // 2, statistics._flat.dtype, statistics._flat.device)]
    _run(kernels.attention_queries, 0, [*tensors, grads[0]], rows, causal, scale)
    _run(kernels.attention_keys, 1, [query, key, value, grad, *grads[1:]], rows, causal, scale)


def _run(function: Any, tiled: int, tensors: Sequence[Any], rows: Sequence[Any], causal: bool, scale: float) -> None:
    """Run a kernel that has a block for each tile of the rows of ``tensors[tiled]``."""
    stacks, heads, queries, width = tensors[0]._layout.shape
    keys = tensors[1]._layout.shape[2]
    dtype = tensors[0]._layout.type.numpy
    arguments: list[Any] = []
    for tensor in tensors:
        strides = tensor._layout.strides
        if strides[3] != 1 and width > 1:
            raise ValueError(f"the rows of {list(tensor.shape)} do not lie in one piece each: strides {strides}")
        arguments += [tensor._storage[tensor._offset :], *strides[:3]]
    parts = _parts(dtype)
    tiles = -(-tensors[tiled]._layout.shape[2] // parts["TILE"])
    launch(
        function, dtype, *arguments, *rows, heads, queries, keys, width, int(causal), float(scale),
        blocks=stacks * heads * tiles, threads=parts["SIDE"] ** 2, **parts,
    )  # fmt: skip


@functools.cache
def _parts(dtype: np.dtype) -> dict[str, int]:
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
