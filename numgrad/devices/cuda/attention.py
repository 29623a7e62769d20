"""Steps of attention on a GPU, by kernels that combine tiles of queries with tiles of keys, for heads of any width."""

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
    """Return True if there is a kernel for tensors of this type."""
    return type.numpy in _KINDS


def attention(
    p: Plan, query: TensorRef, key: TensorRef, value: TensorRef, out: TensorRef, causal: bool, scale: float
) -> Buffer:
    """Add the steps that write the attention of (b, h, l, e) queries to (b, h, s, e) keys and values to ``out``.

    A score is ``scale`` times the product of a query and a key.  Return the buffer of the (b, h, l, 2) statistics.
    """
    statistics = p.new(2 * out.size // out.shape[3], out.type.numpy)
    _run(p, kernels.attention, 0, (*_with_contiguous_rows(p, query, key, value), out), [statistics], causal, scale)
    return statistics


def attention_backward(
    p: Plan, tensors: Sequence[TensorRef], grads: Sequence[TensorRef], statistics: Buffer, causal: bool, scale: float
) -> None:
    """Add the steps that write ``grads``, the gradients of query, key and value.

    ``tensors`` are the query, the key, the value, the output and the gradient of the output.
    """
    query, key, value, out, grad = _with_contiguous_rows(p, *tensors)
    buffers = [statistics, p.new(statistics.size // 2, statistics.dtype)]
    _run(p, kernels.attention_queries, 0, (query, key, value, out, grad, grads[0]), buffers, causal, scale)
    _run(p, kernels.attention_keys, 1, (query, key, value, grad, *grads[1:]), buffers, causal, scale)


def _with_contiguous_rows(p: Plan, *tensors: TensorRef) -> list[TensorRef]:
    """Return these tensors, with contiguous copies of those whose rows are not contiguous."""
    return [heads if heads.layout.strides[3] == 1 or heads.shape[3] == 1 else p.packed(heads) for heads in tensors]


def _run(
    p: Plan, function: Any, tiled: int, tensors: Sequence[TensorRef], buffers: Sequence[Buffer], causal: bool,
    scale: float,
) -> None:  # fmt: skip
    """Add the run of a kernel that has a block of threads for each tile of the rows of ``tensors[tiled]``."""
    stacks, heads, queries, width = tensors[0].shape
    keys, dtype = tensors[1].shape[2], tensors[0].type.numpy
    operands: list[Any] = []
    for tensor in tensors:
        operands += [p.onward(tensor), *tensor.layout.strides[:3]]
    parts = _parts(dtype, width)
    tiles = -(-tensors[tiled].shape[2] // parts["TILE"])
    p.run(
        function, dtype, *operands, *buffers, heads, queries, keys, width, int(causal), float(scale),
        grid=(stacks * heads * tiles, parts["SIDE"] ** 2), **parts,
    )  # fmt: skip


@functools.cache
def _parts(dtype: np.dtype, width: int) -> dict[str, Any]:
    """Return the constants of the kernels for a dtype and a width of heads.

    Tiles of a wider dtype are smaller, to fit into shared memory.
    """
    side = math.isqrt(THREADS)
    if dtype.itemsize > 4:
        side = max(side // 2, 2)
    tile = 4 * side
    pitch, held = tile + 4, -(-width // tile)
    most = 2 if dtype.itemsize <= 4 else 1  # there are too few registers for more
    return {
        "SIDE": side, "TILE": tile, "PITCH": pitch, "AREA": tile * pitch, "PART": side * pitch,
        "FOUND": tile * (side + 1), "HELD": held if held <= most else 0,
    }  # fmt: skip
