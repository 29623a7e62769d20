"""Samples of sums, means, products and the largest and smallest elements."""

import numpy as np
from ops.sampling import FLOATS, sample, without

import numgrad

without("max_all min_all amax_op amin_op aminmax_op argmax_op argmin_op", "empty")  # nothing to choose from

#: Dtypes for operations with a kernel for each: these compile slowly, and other tests cover the rest.
_SOME = ("float64", "int64")

_DIMS = [((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (0, 1, 2)), ((3, 0), (0,)), ((3, 0), (1,)), ((), ())]



def _summed_to(x, size):
    extra = x.ndim - len(size)
    summed = tuple(range(extra)) + tuple(extra + d for d, extent in enumerate(size) if extent == 1)
    return x.sum(summed, keepdims=True).reshape(size)


for _shape in ((2, 3, 4), (3, 0), ()):
    sample("sum_all", np.sum, _shape, call=numgrad.sum)
    sample("mean_all", np.mean, _shape, call=numgrad.mean, dtypes=FLOATS)
    sample("prod_all", np.prod, _shape, dtypes=_SOME)
for _shape, _size in (((2, 3, 4), (3, 1)), ((3, 0), (1, 0)), ((), ())):
    sample("sum_to_size_op", _summed_to, _shape, args=(_size,), dtypes=FLOATS)
for _shape, _dims in _DIMS:
    for _keepdim in (False, True):
        sample("sum_dims", lambda x, dims, keepdim: x.sum(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim))
        sample("mean_dims", lambda x, dims, keepdim: x.mean(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim),
               call=numgrad.mean, dtypes=FLOATS)
        sample("any_op", lambda x, dims, keepdim: np.any(x, dims, keepdims=keepdim), _shape, args=(_dims, _keepdim))
        sample("all_op", lambda x, dims, keepdim: np.all(x, dims, keepdims=keepdim), _shape, args=(_dims, _keepdim))
    sample("count_nonzero_op", lambda x, dims: np.array((x != 0).sum(dims)), _shape, args=(_dims,))
for _shape, _dim, _keepdim in (((2, 3, 4), 1, False), ((2, 3), 0, True), ((0, 3), 0, False), ((), 0, False)):
    sample("prod_dim", lambda x, dim, keepdim: x.prod(dim, keepdims=keepdim) if x.ndim else x + (x.dtype == bool) * 0,
           _shape, args=(_dim, _keepdim), dtypes=_SOME)


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

def _place(find):
    return lambda x, dims, keepdim: find(x, dims[0] if len(dims) == 1 else None, keepdims=keepdim)


for _shape, _dims in (((2, 3, 4), (1,)), ((2, 3), (0, 1)), ((), ())):
    for _keepdim in (False, True):
        sample("argmax_op", _place(np.argmax), _shape, args=(_dims, _keepdim), dtypes=_SOME)
        sample("argmin_op", _place(np.argmin), _shape, args=(_dims, _keepdim), dtypes=_SOME)
for _shape, _dims, _keepdim in (((2, 3, 4), (0, 2), False), ((2, 3), (1,), True), ((), (), False)):
    sample("amax_op", lambda x, dims, keepdim: x.max(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim),
           dtypes=_SOME)
    sample("amin_op", lambda x, dims, keepdim: x.min(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim),
           dtypes=_SOME)
    sample("aminmax_op", lambda x, dims, keepdim: (x.min(dims, keepdims=keepdim), x.max(dims, keepdims=keepdim)),
           _shape, args=(_dims, _keepdim), dtypes=_SOME)
