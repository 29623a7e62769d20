"""Steps on a GPU that join tensors, keep triangles, and make equally spaced numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cuda import copying
from numgrad_kernels.halves import computed, passed

from ...core.halves import narrowed
from ...core.layout import matrix_steps, numel
from ..buffers import DeviceBuffer
from ..common import evenly_spaced
from ..plan import Plan, TensorRef
from .indexing import narrow
from .launching import INT64, blocks_for, launch
from .memory import buffer_from, empty_buffer, no_buffer

__all__ = ["counted", "join_rows", "keep_triangle", "spread"]


#: Number of tensors that one kernel joins.
TOGETHER = 4


def join_rows(p: Plan, tensors: Sequence[TensorRef], dim: int, out: TensorRef) -> None:
    """Add the steps that concatenate contiguous tensors, of the dtype of the result, along a dimension."""
    outer, dtype, start = max(numel(out.shape[:dim]), 1), passed(out.type.numpy), 0
    for group in range(0, len(tensors), TOGETHER):
        parts = tensors[group : group + TOGETHER]
        pairs: list[Any] = [(p.contiguous(part).view(dtype), part.size // outer) for part in parts]
        widths = [width for _, width in pairs]
        pairs += [(no_buffer(dtype), 0)] * (TOGETHER - len(pairs))
        most = outer * max(widths)
        if most:
            operands = *itertools.chain(*pairs), outer, out.size // outer, start, p.contiguous(out).view(dtype)
            p.run(copying.join_rows, dtype, *operands, work=most, **narrow(most))
        start += sum(widths)


def keep_triangle(p: Plan, source: TensorRef, target: TensorRef, diagonal: int, above: bool) -> None:
    """Add the step that copies the triangle of matrices above (or below) a diagonal, with zeros elsewhere.

    The matrices are the last two dimensions, evenly spaced in both tensors, which may be the same.
    """
    if target.size:
        size, steps = target.size, matrix_steps(source.layout, target.layout)
        assert steps is not None
        (x, first), (out, start), dtype = p.strided(source), p.strided(target), passed(source.type.numpy)
        p.run(
            copying.keep_triangle, dtype, x.view(dtype), first, *steps[0], out.view(dtype), start, *steps[1],
            *target.shape[-2:], size, diagonal, above, work=size, **narrow(size),
        )


_FLOAT64 = np.dtype(np.float64)


def counted(start: float, step: float, count: int, type: Any) -> DeviceBuffer:
    """Return a buffer of ``count`` numbers from ``start``, spaced by ``step``."""
    if type.dtype.is_half:
        return buffer_from(narrowed(start + np.arange(count) * step, type.numpy), type.device.index)
    out = empty_buffer(count, type.numpy, type.device.index)
    compute = INT64 if isinstance(start, int) and isinstance(step, int) else _FLOAT64
    number = int if compute is INT64 else float
    launch(copying.count, compute, number(start), number(step), count, out, blocks=blocks_for(count))
    return out


def spread(start: Any, end: Any, count: int, type: Any) -> DeviceBuffer:
    """Return a buffer of ``count`` numbers from ``start`` to ``end``, equally spaced."""
    dtype = type.numpy
    if dtype.kind == "c" or count < 2 or type.dtype.is_half:
        numbers = evenly_spaced(start, end, count, computed(dtype))
        return buffer_from(narrowed(numbers, dtype), type.device.index)
    compute = dtype if dtype.kind == "f" else _FLOAT64
    out = empty_buffer(count, dtype, type.device.index)
    step = (compute.type(end) - compute.type(start)) / compute.type(count - 1)
    launch(copying.spread, compute, float(start), float(end), float(step), count, out, blocks=blocks_for(count))
    return out
