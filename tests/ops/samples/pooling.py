"""Samples of the largest elements of windows, and of the gradient."""

import itertools

import numpy as np
from ops.sampling import ANY, NUMBERS, index, sample, without

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
            [i for i in own if 0 <= i < size] for own, size in zip(elements, x.shape[-rank:], strict=True)
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
