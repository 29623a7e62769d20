"""Samples of reductions."""

import numpy as np
from ops.sampling import ANY, FLOATS, index, sample, without

import numgrad

without("put_along take_along", "0-d")
without("max_all min_all", "empty")  # nothing to choose from

_DIMS = [((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (0, 1, 2)), ((3, 0), (0,)), ((3, 0), (1,)), ((), ())]

for _shape in ((2, 3, 4), (3, 0), ()):
    sample("sum_all", np.sum, _shape, call=numgrad.sum)
    sample("mean_all", np.mean, _shape, call=numgrad.mean, dtypes=FLOATS)
for _shape, _dims in _DIMS:
    for _keepdim in (False, True):
        sample("sum_dims", lambda x, dims, keepdim: x.sum(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim))
        sample("mean_dims", lambda x, dims, keepdim: x.mean(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim),
               call=numgrad.mean, dtypes=FLOATS)


def _extreme(values, places):
    def reference(x, dim, keepdim):
        if x.ndim == 0:
            return x, np.array(0)
        return values(x, dim, keepdims=keepdim), places(x, dim, keepdims=keepdim)

    return reference


for _shape in ((2, 3, 4), ()):
    sample("max_all", np.max, _shape, call=numgrad.max)
    sample("min_all", np.min, _shape, call=numgrad.min)
for _shape, _dim in (((2, 3, 4), 0), ((2, 3, 4), 2), ((0, 3), 1), ((), 0)):
    for _keepdim in (False, True):
        sample("max_dim", _extreme(np.max, np.argmax), _shape, args=(_dim, _keepdim), call=numgrad.max)
        sample("min_dim", _extreme(np.min, np.argmin), _shape, args=(_dim, _keepdim), call=numgrad.min)


def _put_along(x, indices, shape, dim):
    out = np.zeros(shape, x.dtype)
    np.put_along_axis(out, indices, x, dim)
    return out


for _given, _shape, _dim in (((3, 1, 2), (3, 4, 2), 1), ((1,), (3,), 0), ((0, 1), (0, 3), 1)):
    _domain = (ANY, index(_shape[_dim]))
    sample("put_along", _put_along, _given, _given, args=(_shape, _dim), domain=_domain)
    sample("take_along", np.take_along_axis, _shape, _given, args=(_dim,), domain=_domain)
