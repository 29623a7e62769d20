"""Samples of sorting, ranks and quantiles."""

import numpy as np
from ops.sampling import NUMBERS, sample, without

without("median_all nanmedian_all kthvalue_op median_dim nanmedian_dim mode_op", "empty")  # nothing to choose from

SHAPES = (((2, 3, 4), 1), ((3, 4), 1), ((), 0))


def _order(x, dim, descending):
    order = np.argsort(np.flip(x, dim) if descending else x, dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(order, dim) if descending else order


def _sorted(x, dim, descending):
    if x.ndim == 0:
        return x, np.array(0)
    order = _order(x, dim, descending)
    return np.take_along_axis(x, order, dim), order


def _topk(x, k, dim, largest):
    values, order = _sorted(x, dim, largest)
    return (values, order) if x.ndim == 0 else [np.take(a, range(k), dim) for a in (values, order)]


def _place(x, k, dim, keepdim):
    """The k-th of the sorted elements, and its first position."""
    if x.ndim == 0:
        return x, np.array(0)
    value = np.take(np.sort(x, dim), [k], dim)
    place = (x == value).argmax(dim, keepdims=True)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def _median(x, dim, keepdim):
    return _place(x, (x.shape[dim] - 1) // 2 if x.ndim else 0, dim, keepdim)


def _mode(x, dim, keepdim):
    if x.ndim == 0:
        return x, np.array(0)
    lines = np.moveaxis(x, dim, -1)
    counts = (lines[..., None] == lines[..., None, :]).sum(-1)
    most = np.where(counts == counts.max(-1, keepdims=True), lines, lines.max() + np.int8(1))
    value = most.min(-1, keepdims=True).astype(x.dtype)
    place = x.shape[dim] - 1 - np.flip(lines == value, -1).argmax(-1, keepdims=True)
    value, place = [np.moveaxis(a, -1, dim) for a in (value, place)]
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


for _shape, _dim in (*SHAPES, ((0, 3), 0)):
    for _descending in (False, True):
        sample("sort_op", _sorted, _shape, args=(_dim, _descending), memory="kept")
        sample("argsort_op", lambda *args: _sorted(*args)[1], _shape, args=(_dim, _descending), memory="kept")
        sample("topk_op", _topk, _shape, args=(0 if 0 in _shape else 1, _dim, _descending), dtypes=NUMBERS)
    sample("stable_sort_op", _sorted, _shape, args=(_dim, True), memory="kept")
for _shape, _dim in SHAPES:
    for _keepdim in (False, True):
        sample("kthvalue_op", lambda x, k, dim, keepdim: _place(x, k - 1, dim, keepdim), _shape,
               args=(1, _dim, _keepdim), dtypes=NUMBERS)
        sample("median_dim", _median, _shape, args=(_dim, _keepdim), dtypes=NUMBERS)
        sample("nanmedian_dim", _median, _shape, args=(_dim, _keepdim), dtypes=NUMBERS)
        sample("mode_op", _mode, _shape, args=(_dim, _keepdim))
for _shape in ((3, 5), ()):
    sample("median_all", lambda x: _median(x.reshape(-1), 0, False)[0], _shape, dtypes=NUMBERS)
    sample("nanmedian_all", lambda x: _median(x.reshape(-1), 0, False)[0], _shape, dtypes=NUMBERS)
