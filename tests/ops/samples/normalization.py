"""Samples of layer normalization."""

import numpy as np
from ops.sampling import FLOATS, sample, without

without("layer_norm_op layer_norm_backward", "0-d")
without("layer_norm_weight_backward", "0-d")

_EPS = 0.1


def _normalized(x, shape, eps):
    """The input with mean 0 and variance 1 over the last dimensions, its scale, and those dimensions."""
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    scale = 1 / np.sqrt(x.var(dims, keepdims=True) + eps)
    return (x - x.mean(dims, keepdims=True)) * scale, scale, dims


def _layer_norm(x, weight, bias, shape, eps):
    out = _normalized(x, shape, eps)[0]
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def _layer_norm_backward(grad, x, weight, shape, eps):
    y, scale, dims = _normalized(x, shape, eps)
    g = grad if weight is None else grad * weight
    return scale * (g - g.mean(dims, keepdims=True) - y * (g * y).mean(dims, keepdims=True))


def _weight_backward(grad, x, shape, eps):
    return (grad * _normalized(x, shape, eps)[0]).sum(tuple(range(x.ndim - len(shape))))


for _given, _shape in (((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((0, 3), (3,)), ((4,), (4,))):
    for _weight, _bias in ((None, None), (_shape, _shape)):
        sample("layer_norm_op", _layer_norm, _given, _weight, _bias, args=(_shape, _EPS), dtypes=FLOATS)
        sample("layer_norm_backward", _layer_norm_backward, _given, _given, _weight, args=(_shape, _EPS),
               dtypes=FLOATS)
    sample("layer_norm_weight_backward", _weight_backward, _given, _given, args=(_shape, _EPS), dtypes=FLOATS)
for _weight, _bias in (((5,), None), (None, (5,))):
    sample("layer_norm_op", _layer_norm, (3, 5), _weight, _bias, args=((5,), _EPS), dtypes=FLOATS)
