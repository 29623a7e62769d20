"""Samples of activation functions that multiply by a step."""

import math

import numpy as np
from ops.sampling import FLOATS, sample, without

from numgrad.ops.pointwise import gated


def _step(x):
    return 1 / (1 + np.exp(-x))


def _glu(x, dim):
    value, gate = np.split(x, 2, dim)
    return value * _step(gate)


without("glu_op", "0-d")
erf = np.vectorize(math.erf, otypes="d")

sample("silu_op", lambda x: x * _step(x), call=gated.silu, dtypes=FLOATS)
sample("mish_op", lambda x: x * np.tanh(np.log1p(np.exp(x))), call=gated.mish, dtypes=FLOATS)
sample("gelu_op", lambda x: x * (1 + erf(x / 2**0.5)) / 2, call=gated.gelu, dtypes=FLOATS)
sample("gelu_tanh_op", lambda x, approximate: x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2,
       approximate="tanh", call=gated.gelu, dtypes=FLOATS)
sample("hardsigmoid_op", lambda x: np.clip(x + 3, 0, 6) / 6, call=gated.hardsigmoid, dtypes=FLOATS)
sample("hardswish_op", lambda x: x * np.clip(x + 3, 0, 6) / 6, call=gated.hardswish, dtypes=FLOATS)
for _shape, _dim in (((2, 4), 1), ((4, 0, 3), 0), ((6,), 0)):
    sample("glu_op", _glu, _shape, args=(_dim,), call=gated.glu, dtypes=FLOATS, memory="kept")
