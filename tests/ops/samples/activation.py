"""Samples of activation functions."""

import math

import numpy as np
from ops.sampling import FLOATS, NUMBERS, sample, without

from numgrad.ops.pointwise import activation, smooth_activation


def _step(x):
    return 1 / (1 + np.exp(-x))


def _leaky(x, slope):
    return np.where(x > 0, x, slope * x)


def _glu(x, dim):
    value, gate = np.split(x, 2, dim)
    return value * _step(gate)


sample("hardtanh_op", lambda x, low, high: np.clip(x, low, high), args=(-1, 2), call=activation.hardtanh,
       dtypes=NUMBERS)
sample("threshold_op", lambda x, bound, value: np.where(x > bound, x, value), args=(1, 5), call=activation.threshold,
       dtypes=NUMBERS)
sample("hardshrink_op", lambda x: np.where(np.abs(x) > 0.5, x, 0), call=activation.hardshrink, dtypes=FLOATS)
sample("softshrink_op", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), call=activation.softshrink,
       dtypes=FLOATS)
sample("leaky_relu_op", _leaky, args=(0.1,), call=activation.leaky_relu, dtypes=FLOATS)
sample("hardtanh_backward", lambda grad, x: np.where(np.abs(x) < 1, grad, 0), dtypes=FLOATS)
sample("hardshrink_backward", lambda grad, x: np.where(np.abs(x) > 0.5, grad, 0), dtypes=FLOATS)
sample("leaky_relu_backward", lambda grad, x: np.where(x > 0, grad, 0.01 * grad), dtypes=FLOATS)
sample("prelu_backward", lambda grad, x, weight: np.where(x > 0, grad, grad * weight), dtypes=FLOATS)
sample("prelu_op", _leaky, dtypes=FLOATS)
sample("elu_op", lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)), args=(0.7,), call=smooth_activation.elu,
       dtypes=FLOATS)
sample("softplus_op", lambda x, beta, _: np.where(x * beta > 2, x, np.log1p(np.exp(x * beta)) / beta), args=(2, 2),
       call=smooth_activation.softplus, dtypes=FLOATS)
sample("logsigmoid_op", lambda x: np.log(_step(x)), call=smooth_activation.logsigmoid, dtypes=FLOATS)

without("glu_op", "0-d")
erf = np.vectorize(math.erf, otypes="d")


def _gelu_tanh(x):
    return x * _step(2 * (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))


def _times_slope(function):
    """A gradient times the derivative of a function, by a complex step."""
    return lambda grad, x: grad * function(x + 1e-100j).imag / 1e-100


sample("silu_backward", _times_slope(lambda x: x * _step(x)), dtypes=FLOATS)
sample("mish_backward", _times_slope(lambda x: x * np.tanh(np.log(1 + np.exp(x)))), dtypes=FLOATS)
sample("gelu_tanh_backward", _times_slope(_gelu_tanh), dtypes=FLOATS)
sample("tanhshrink", lambda x: x - np.tanh(x), call=smooth_activation.tanhshrink, dtypes=NUMBERS)
sample("softsign", lambda x: x / (1 + np.abs(x)), call=smooth_activation.softsign, dtypes=NUMBERS)

sample("silu_op", lambda x: x * _step(x), call=smooth_activation.silu, dtypes=FLOATS)
sample("mish_op", lambda x: x * np.tanh(np.log1p(np.exp(x))), call=smooth_activation.mish, dtypes=FLOATS)
sample("gelu_op", lambda x: x * (1 + erf(x / 2**0.5)) / 2, call=smooth_activation.gelu, dtypes=FLOATS)
sample("gelu_tanh_op", lambda x, approximate: _gelu_tanh(x), approximate="tanh", call=smooth_activation.gelu,
       dtypes=FLOATS)
sample("hardsigmoid_op", lambda x: np.clip(x + 3, 0, 6) / 6, call=activation.hardsigmoid, dtypes=FLOATS)
sample("hardswish_op", lambda x: x * np.clip(x + 3, 0, 6) / 6, call=activation.hardswish, dtypes=FLOATS)
for _shape, _dim in (((2, 4), 1), ((4, 0, 3), 0), ((6,), 0)):
    sample("glu_op", _glu, _shape, args=(_dim,), call=smooth_activation.glu, dtypes=FLOATS, memory="kept")
sample("rrelu_with_noise", lambda x, noise: x * noise, dtypes=FLOATS)
