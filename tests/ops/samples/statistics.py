"""Samples of variances, norms and log-sum-exps."""

import numpy as np
from ops.sampling import FLOATS, NONZERO, sample, without

import numgrad

without("var_op std_op var_mean_op std_mean_op", "0-d")  # one element has no variance


def _var(x, dims, correction, keepdim):
    if x.size == 0:
        return np.full(np.var(x, dims, keepdims=keepdim).shape, np.nan)
    return np.var(x, dims, ddof=correction, keepdims=keepdim)


def _std(x, *args):
    return np.sqrt(_var(x, *args))


def _and_mean(spread):
    return lambda x, dims, correction, keepdim: (spread(x, dims, correction, keepdim), x.mean(dims, keepdims=keepdim))


for _shape, _dims, _correction, _keepdim in (
    ((2, 3, 4), (1,), 1, False), ((2, 3, 4), (0, 2), 0, True), ((3, 4), (0, 1), 2, False), ((0, 3), (0,), 1, False),
    ((3, 0), (0,), 1, True),
):
    _args = {"args": (_dims, _correction, _keepdim), "dtypes": FLOATS}
    sample("var_op", _var, _shape, **_args)
    sample("std_op", _std, _shape, **_args)
    sample("var_mean_op", _and_mean(_var), _shape, **_args)
    sample("std_mean_op", _and_mean(_std), _shape, **_args)


def _logsumexp(x, dims, keepdim):
    return np.log(np.exp(x).sum(dims, keepdims=keepdim))


def _nansum(x, dims, keepdim):
    return x.sum(dims, keepdims=keepdim)


def _norm(x, order, dims, keepdim, kind):
    if order == np.inf:
        return np.abs(x).max(dims, keepdims=keepdim)
    return (np.abs(x) ** order).sum(dims, keepdims=keepdim) ** (1 / order)


sample("distance_product", lambda grad, x, mean: grad * (x - mean), dtypes=FLOATS)
sample("root_slope", lambda grad, root: grad / (2 * root), domain=NONZERO, dtypes=FLOATS)
sample("norm_backward", lambda grad, x, length: grad * x / length, domain=NONZERO, dtypes=FLOATS)

for _shape, _dims, _keepdim in (
    ((2, 3, 4), (0, 2), False), ((2, 3), (1,), True), ((3, 0), (1,), False), ((), (), False),
):
    sample("logsumexp_op", _logsumexp, _shape, args=(_dims, _keepdim), dtypes=FLOATS)
    sample("nansum_op", _nansum, _shape, args=(_dims, _keepdim), dtypes=("float64", "int64", "bool"))
    for _order in (2.0,) if 0 in _shape else (1.0, 2.0, 3.0, np.inf):
        sample("vector_norm_op", _norm, _shape, args=(_order, _dims, _keepdim, numgrad.float64),
               dtypes=("float64",), domain=NONZERO)
