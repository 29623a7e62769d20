"""Steps of running sums, products and extremes along the middle axis of a buffer, seen as (outer, length, inner)."""

from __future__ import annotations

from typing import Any

import numpy as np

from numgrad_kernels.cpu import copying, reductions, scans

from ..common import word_of
from ..plan import Buffer, Plan
from .threads import PARALLEL_FROM

__all__ = ["extremes_so_far", "recurrence_axis", "scan_axis", "shift_axis"]


def scan_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, name: str, compute: np.dtype, backwards: bool = False
) -> Buffer:
    """Return the buffer of the running "sum", "prod" or "logsumexp", in the dtype ``compute``, from either end."""
    size = outer * length * inner
    out = p.new(size, compute)
    if name == "sum" and inner == outer == 1 and size >= PARALLEL_FROM:
        totals = p.new(-(-length // scans.BLOCK), compute)
        p.run(scans.cumsum_blocks, compute, x, backwards, totals, out, work=size)
        p.run(scans.join_blocks, compute, totals, backwards, out, work=size)
        return out
    function, sizes, parts = _scan(name, outer, length, inner)
    p.run(function, compute, x, *sizes, backwards, out, work=size, **parts)
    return out


def _scan(name: str, outer: int, length: int, inner: int) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    """Return the kernel of a scan, its operands for the sizes, and its parts."""
    if name == "logsumexp":
        return scans.logcumsumexp_axis, (length, inner), {}
    columns, sizes = inner > 1, (length, inner) if inner > 1 else (length,)
    if name == "prod":
        return scans.scan_columns if columns else scans.scan_rows, sizes, {"fold": reductions.product}
    short = outer > 1 and length < scans.BLOCK
    return scans.cumsum_columns if columns else scans.cumsum_short_rows if short else scans.cumsum_rows, sizes, {}


def extremes_so_far(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, largest: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest (or smallest) elements so far, and of the index of the last of each."""
    out, indices = p.new(x.size, x.dtype), p.new(x.size, np.dtype(np.int64))
    fold = scans.later_larger if largest else scans.later_smaller
    p.run(scans.scan_extremes, x.dtype, x, length, inner, out, indices, work=x.size, fold=fold)
    return out, indices


def recurrence_axis(p: Plan, x: Buffer, factors: Buffer, length: int, inner: int, backwards: bool) -> Buffer:
    """Return ``out[i] = x[i] + factors[i] * out[i - 1]`` along the middle axis, with ``i + 1`` if backwards."""
    out = p.new(x.size, x.dtype)
    p.run(scans.recurrence_axis, x.dtype, x, factors, length, inner, backwards, out, work=x.size)
    return out


def shift_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, backwards: bool, fill: float
) -> Buffer:
    """Return the buffer of elements shifted by one along the middle axis (or back by one), with ``fill`` in the gap."""
    out = p.new(x.size, x.dtype)
    if not x.size:
        return out
    edge, step = p.new(inner, x.dtype), length * inner
    p.fill(edge, fill)
    added, kept = (edge, 0, 0, inner), (x, inner if backwards else 0, step, step - inner)
    operands = (*kept, *added) if backwards else (*added, *kept)
    p.run(copying.join_rows, word_of(x.dtype), *operands, outer, step, 0, out)
    return out
