"""Samples of pooling: the largest elements of windows and their gradient, means of windows, other sizes."""

import itertools
import math

import numpy as np
from ops.sampling import ANY, FLOATS, NUMBERS, Domain, index, sample, without

from numgrad.ops.network.resampling import LineMap, window_map

without("max_pool_op max_pool_backward", "0-d")


def _max_pool(x, kernel, stride, padding, dilation, ceil):
    rank = len(kernel)
    counts = []
    for size, k, s, p, d in zip(x.shape[-rank:], kernel, stride, padding, dilation, strict=True):
        begins = range(-p, size + p if ceil else size + p - d * (k - 1), s)
        counts.append(len([begin for begin in begins if not ceil or begin < size]))
    out = np.empty((*x.shape[:-rank], *counts), x.dtype)
    indices = np.empty(out.shape, np.int64)
    for place in np.ndindex(out.shape):
        outer, window = place[:-rank], place[-rank:]
        elements = [
            [o * s + i * d - p for i in range(k)]
            for o, k, s, p, d in zip(window, kernel, stride, padding, dilation, strict=True)
        ]
        inside = itertools.product(*[
            [i for i in element if 0 <= i < size] for element, size in zip(elements, x.shape[-rank:], strict=True)
        ])
        best = max(inside, key=lambda e: x[(*outer, *e)])
        out[place], indices[place] = x[(*outer, *best)], np.ravel_multi_index(best, x.shape[-rank:])
    return out, indices


def _max_pool_backward(grad, indices, shape, rank):
    out = np.zeros(shape, grad.dtype)
    for place in np.ndindex(grad.shape):
        outer = place[:-rank]
        out[outer][np.unravel_index(indices[place], shape[-rank:])] += grad[place]
    return out


for _shape, _how in (
    ((2, 2, 5, 6), ((2, 3), (2, 3), (0, 0), (1, 1), False)),
    ((3, 5, 6), ((3, 2), (2, 2), (1, 1), (1, 2), True)),
    ((2, 7), ((3,), (3,), (1,), (1,), True)),
    ((1, 3, 4, 4), ((2, 2, 2), (1, 2, 2), (1, 0, 0), (1, 1, 1), False)),
    ((0, 1, 4, 4), ((2, 2), (2, 2), (0, 0), (1, 1), False)),
):
    _dtypes = NUMBERS if len(_how[0]) == 1 else ("float64",)
    sample("max_pool_op", _max_pool, _shape, args=_how, dtypes=_dtypes)
for _shape, _out in (((2, 2, 3, 4), (2, 2, 2, 3)), ((1, 3, 4), (1, 0, 3))):
    _domain = (ANY, index(12))
    sample("max_pool_backward", _max_pool_backward, _out, _out, args=(_shape, 2), domain=_domain,
           dtypes=("float64",))

# -- maps along each dimension ------------------------------------------------------------------------------------

without("resample_op", "0-d")


def _resample(x, name, maps):
    for dim, own in enumerate(maps, x.ndim - len(maps)):
        matrix = np.zeros((own.count, own.length), x.dtype)
        for row in range(own.count):
            for k in range(own.starts[row], own.starts[row + 1]):
                matrix[row, own.indices[k]] += own.weights[k] / own.divisors[row]
        x = np.moveaxis(np.tensordot(matrix, x, (1, dim)), 0, dim)
    return x


_sums = window_map(5, np.array([0, 1, 3]), np.array([2, 4, 5]))
_empty = window_map(3, np.array([0, 1]), np.array([0, 3]))
_same = LineMap(4, np.arange(4))
_weighted = LineMap(4, np.array([3, 1, 1, 0, 2]), np.array([2, 3]), np.array([0.5, -1, 2, 1, 3]), np.array([1.0, 4]))
for _shape, _maps in (((3, 5), (_sums,)), ((2, 5, 3), (_sums, _empty)), ((0, 5), (_sums,)), ((2, 4), (_same,))):
    sample("resample_op", _resample, _shape, args=("AvgPool2D", _maps), dtypes=NUMBERS)
for _shape, _maps in (((2, 4), (_weighted,)), ((2, 3, 5, 4), (_empty, _sums, _weighted)), ((4, 4), (_weighted, _same))):
    sample("resample_op", _resample, _shape, args=("AvgPool2D", _maps), dtypes=FLOATS)

# -- a given number of windows, and elements at given places --------------------------------------------------------

without("adaptive_max_pool_op max_unpool_op fractional_max_pool_op", "0-d")


def _adaptive_max_pool(x, sizes):
    rank = len(sizes)
    out = np.empty((*x.shape[:-rank], *sizes), x.dtype)
    indices = np.empty(out.shape, np.int64)
    whole = np.arange(np.prod(x.shape[-rank:])).reshape(x.shape[-rank:])
    for place in np.ndindex(out.shape):
        outer = place[:-rank]
        part = tuple([
            slice(at * size // count, -(-(at + 1) * size // count))
            for at, size, count in zip(place[-rank:], x.shape[-rank:], sizes, strict=True)
        ])
        best = x[outer][part].argmax()
        out[place], indices[place] = x[outer][part].flat[best], whole[part].flat[best]
    return out, indices


for _shape, _sizes in (((2, 2, 5, 6), (2, 4)), ((1, 3, 4, 5), (2, 3, 1)), ((0, 1, 4, 4), (2, 2))):
    sample("adaptive_max_pool_op", _adaptive_max_pool, _shape, args=(_sizes,), dtypes=FLOATS)


def _different(rank):
    """Indices that are different ones within the last dimensions."""
    return Domain(lambda u: u.reshape(*u.shape[:-rank], -1 if u.size else 1).argsort(-1).reshape(u.shape), "int64")


def _fractional(x, windows, rank):
    outer = x.shape[:-rank]
    flat, index = x.reshape(*outer, math.prod(x.shape[-rank:])), windows.reshape(*outer, math.prod(windows.shape[2:]))
    elements = np.take_along_axis(flat, index, -1).reshape(windows.shape)
    best = elements.argmax(-1)[..., None]
    return np.take_along_axis(elements, best, -1)[..., 0], np.take_along_axis(windows, best, -1)[..., 0]


for _shape, _out in (((2, 2, 3, 4), (2, 2, 2, 3)), ((0, 3, 4), (0, 1, 3))):
    sample("max_unpool_op", _max_pool_backward, _out, _out, args=(_shape, 2), domain=(ANY, _different(2)),
           dtypes=FLOATS)
    sample("fractional_max_pool_op", _fractional, (*_shape[:1], 2, 3, 4), (*_shape[:1], 2, 2, 1, 4), args=(2,),
           domain=(ANY, _different(1)), dtypes=FLOATS)
