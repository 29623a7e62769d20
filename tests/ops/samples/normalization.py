"""Samples of layer normalization, and of weights made of direction and length."""

import numpy as np
from ops.sampling import FLOATS, sample, without

import numgrad
from numgrad.ops.network.normalization import layer_norm_backward

without("layer_norm_op layer_norm_backward", "0-d")

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
    rows = tuple(range(x.ndim - len(shape)))
    of_input = scale * (g - g.mean(dims, keepdims=True) - y * (g * y).mean(dims, keepdims=True))
    return of_input, (grad * y).sum(rows), grad.sum(rows)


def _call(x, weight, bias, shape, eps):
    return numgrad.layer_norm(x, shape, weight, bias, eps)


def _call_backward(grad, x, weight, shape, eps):
    """The gradients, given the mean and the scale of the input."""
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    variance, mean = numgrad.var_mean(x.detach(), dims, correction=0, keepdim=True)
    return layer_norm_backward(grad, x, mean, (variance + eps).rsqrt(), weight, shape, eps)


for _given, _shape in (((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((0, 3), (3,)), ((4,), (4,))):
    for _weight, _bias in ((None, None), (_shape, _shape)):
        sample("layer_norm_op", _layer_norm, _given, _weight, _bias, args=(_shape, _EPS), dtypes=FLOATS, call=_call)
        sample("layer_norm_backward", _layer_norm_backward, _given, _given, _weight, args=(_shape, _EPS),
               dtypes=FLOATS, call=_call_backward)
for _weight, _bias in (((5,), None), (None, (5,))):
    sample("layer_norm_op", _layer_norm, (3, 5), _weight, _bias, args=((5,), _EPS), dtypes=FLOATS, call=_call)


# -- weights ------------------------------------------------------------------------------------------------------

without("weight_norm_op", "0-d")


def _weight_norm(v, g, dim):
    dims = tuple(d for d in range(v.ndim) if d != dim)
    return v * (g / np.sqrt((v * v).sum(dims, keepdims=True)))


for _given, _length, _dim in (((3, 2, 2), (3, 1, 1), 0), ((2, 4), (1, 4), 1), ((0, 3), (0, 1), 0)):
    sample("weight_norm_op", _weight_norm, _given, _length, args=(_dim,), dtypes=FLOATS, call=numgrad._weight_norm)
