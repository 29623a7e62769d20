"""Samples of softmax."""

import numpy as np
from ops.sampling import FLOATS, sample

import numgrad


def _softmax(x, dim):
    powers = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return powers / powers.sum(dim, keepdims=True)


def _along_axis(function):
    """A function along a dimension, which treats a 0-d array as an array of one element."""
    return lambda *given: function(*[np.atleast_1d(x) for x in given[:-1]], given[-1]).reshape(given[0].shape)


_softmax_reference = _along_axis(_softmax)
_log_softmax_reference = _along_axis(lambda x, dim: np.log(_softmax(x, dim)))
_softmax_backward = _along_axis(lambda g, y, dim: y * (g - (g * y).sum(dim, keepdims=True)))
_log_softmax_backward = _along_axis(lambda g, y, dim: g - np.exp(y) * g.sum(dim, keepdims=True))

for _shape, _dim in (((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((0, 3), 1), ((3, 0), 1), ((), 0)):
    sample("softmax_op", _softmax_reference, _shape, args=(_dim,), call=numgrad.softmax, dtypes=FLOATS)
    sample("log_softmax_op", _log_softmax_reference, _shape, args=(_dim,), call=numgrad.log_softmax, dtypes=FLOATS)
    sample("softmax_backward", _softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)
    sample("log_softmax_backward", _log_softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)
for _shape, _dim in (((2, 3), 1), ((0, 3), 1), ((), 0)):
    sample("safe_softmax", _softmax_reference, _shape, args=(_dim,), dtypes=FLOATS)
