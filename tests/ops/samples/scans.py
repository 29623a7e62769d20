"""Samples of running sums, products and extremes."""

import numpy as np
from ops.sampling import FLOATS, sample

SHAPES = (((2, 3, 4), 1), ((3, 4), 1), ((0, 3), 0), ((), 0))


def _scan(function):
    def reference(x, dim, dtype=None, backwards=False):
        if x.ndim == 0:
            return x + (x.dtype == bool) * 0
        return np.flip(function(np.flip(x, dim), dim), dim) if backwards else function(x, dim)

    return reference


def _logcumsumexp(x, dim):
    return np.log(np.cumsum(np.exp(x), dim))


def _so_far(function, later):
    def reference(x, dim):
        if x.ndim == 0:
            return x, np.array(0)
        places = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        changes = np.ones(x.shape, bool)
        running = function.accumulate(x, dim)
        later_part, earlier = [np.moveaxis(a, dim, 0)[s] for a, s in ((x, slice(1, None)), (running, slice(-1)))]
        np.moveaxis(changes, dim, 0)[1:] = later(later_part, earlier)
        return running, np.maximum.accumulate(np.where(changes, places, 0), dim)

    return reference


def _shifted(x, dim, backwards, fill):
    if x.ndim == 0:
        return np.full((), fill, x.dtype)
    rolled = np.moveaxis(np.roll(x, -1 if backwards else 1, dim), dim, 0)
    rolled[-1 if backwards else 0] = fill
    return np.moveaxis(rolled, 0, dim)


def _recurrence(x, factors, dim, backwards):
    if x.ndim == 0:
        return x
    x, factors = [np.moveaxis(np.flip(a, dim) if backwards else a, dim, 0) for a in (x, factors)]
    out = x.copy()
    for i in range(1, len(out)):
        out[i] = x[i] + factors[i] * out[i - 1]
    out = np.moveaxis(out, 0, dim)
    return np.flip(out, dim) if backwards else out


for _shape, _dim in SHAPES:
    for _backwards in (False, True):
        _how = (_dim, None, _backwards)
        sample("cumsum_op", _scan(np.cumsum), _shape, args=_how, dtypes=("float32", "float64", "int64"))
        sample("cumprod_op", _scan(np.cumprod), _shape, args=_how, dtypes=("float64", "int64", "bool"))
        if 0 not in _shape:
            sample("shift", _shifted, _shape, args=(_dim, _backwards, 2.0), dtypes=FLOATS)
        sample("linear_recurrence", _recurrence, _shape, _shape, args=(_dim, _backwards), dtypes=("float64",))
    sample("logcumsumexp_op", _scan(_logcumsumexp), _shape, args=(_dim,), dtypes=FLOATS)
    sample("cummax_op", _so_far(np.maximum, np.greater_equal), _shape, args=(_dim,), dtypes=("float64", "int64"))
    sample("cummin_op", _so_far(np.minimum, np.less_equal), _shape, args=(_dim,), dtypes=("float64", "int64"))
sample("shift", lambda x, *args: x, (0, 3), args=(0, False, 0.0), dtypes=FLOATS)
