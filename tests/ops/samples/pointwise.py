"""Samples of pointwise arithmetic, powers and exponentials."""

import numpy as np
from ops.sampling import ANY, FLOATS, NONZERO, NUMBERS, POSITIVE, sample

import numgrad
from numgrad.ops.pointwise import exponential, trigonometric

# -- arithmetic -----------------------------------------------------------------------------------------------

sample("add", np.add)
sample("add", lambda x, y, alpha: x + np.asarray(alpha, x.dtype) * y, alpha=3)
sample("sub", np.subtract, dtypes=NUMBERS)
sample("sub", lambda x, y, alpha: x - alpha * y, alpha=2, dtypes=NUMBERS)
sample("rsub", lambda x, y: y - x, dtypes=NUMBERS)
sample("rsub", lambda x, y, alpha: y - alpha * x, alpha=2, dtypes=NUMBERS)
sample("mul", np.multiply)
sample("div", np.true_divide, domain=(ANY, NONZERO))
sample("reciprocal", lambda x: 1 / x, domain=NONZERO)
sample("neg", np.negative, dtypes=NUMBERS)
sample("abs", np.abs, dtypes=NUMBERS)
for _name in ("sign", "sgn"):
    sample(_name, lambda x: x if x.dtype == bool else np.sign(x))

# -- powers and transcendental functions ----------------------------------------------------------------------



def _power(x, exponent):
    return (x.astype(int) if isinstance(exponent, int) and x.dtype == bool else x) ** exponent


for _exponent in (2, 5):
    sample("pow_number", _power, args=(_exponent,), call=numgrad.pow)
sample("pow_number", _power, args=(-2,), call=numgrad.pow, domain=NONZERO, dtypes=FLOATS)
for _exponent in (0.5, 2.5):
    sample("pow_number", _power, args=(_exponent,), call=numgrad.pow, domain=POSITIVE)
sample("pow_tensor", np.power, call=numgrad.pow, domain=(POSITIVE, POSITIVE), dtypes=NUMBERS)
sample("sqrt", np.sqrt, domain=POSITIVE)
sample("exp", np.exp)
sample("log", np.log, domain=POSITIVE)
sample("tanh", np.tanh)
sample("sigmoid", lambda x: 1 / (1 + np.exp(-1.0 * x)))


def _with_result(function, backward):
    """Return a gradient operation, called with the input and the function's result."""

    def call(grad, x, other):
        given = x if isinstance(x, numgrad.Tensor) else numgrad.full_like(other, x)
        return backward(grad, x, function(given) + 0 * other if given.is_floating_point() or given.is_complex() else x)

    return call


sample("tanh_backward", lambda grad, x, _: grad * np.conj(1 - np.tanh(x) ** 2), dtypes=FLOATS,
       call=_with_result(numgrad.tanh, exponential.tanh_backward))
sample("tan_backward", lambda grad, x, _: grad * np.conj(1 + np.tan(x) ** 2), dtypes=FLOATS,
       call=_with_result(numgrad.tan, trigonometric.tan_backward))
sample("sigmoid_backward", lambda grad, x, _: grad / np.conj(2 + np.exp(x) + np.exp(-x)), dtypes=FLOATS,
       call=_with_result(numgrad.sigmoid, exponential.sigmoid_backward))
sample("log_one_plus_exp", lambda x: np.logaddexp(0, x), dtypes=FLOATS)
