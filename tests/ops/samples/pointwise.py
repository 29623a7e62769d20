"""Samples of pointwise operations."""

import numpy as np
from ops.sampling import ANY, CONDITION, FLOATS, INTEGERS, NONZERO, NUMBERS, POSITIVE, between, sample

import numgrad

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
sample("sign", lambda x: x if x.dtype == bool else np.sign(x))
sample("floor_divide", np.floor_divide, domain=(ANY, NONZERO), dtypes=NUMBERS)
sample("remainder", np.remainder, domain=(ANY, NONZERO), dtypes=NUMBERS)

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
sample("sigmoid", lambda x: 1 / (1 + np.exp(-x.astype(float))))
sample("log_one_plus_exp", lambda x: np.logaddexp(0, x), dtypes=FLOATS)

# -- choosing and comparing -----------------------------------------------------------------------------------

sample("relu", lambda x: np.maximum(x, 0), dtypes=NUMBERS)
sample("relu_backward", lambda grad, out: np.where(out > 0, grad, 0), dtypes=NUMBERS)
sample("maximum", np.maximum)
sample("minimum", np.minimum)
sample("choose", np.where, domain=(CONDITION, ANY, ANY), call=numgrad.where)
sample("eq", np.equal)
sample("ne", np.not_equal)
sample("lt", np.less)
sample("le", np.less_equal)
sample("gt", np.greater)
sample("ge", np.greater_equal)
sample("isnan", np.isnan)
sample("logical_not", np.logical_not)

# -- bits -----------------------------------------------------------------------------------------------------

sample("bitwise_and", np.bitwise_and, dtypes=INTEGERS)
sample("bitwise_or", np.bitwise_or, dtypes=INTEGERS)
sample("bitwise_xor", np.bitwise_xor, dtypes=INTEGERS)
sample("bitwise_left_shift", np.left_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("bitwise_right_shift", np.right_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("invert_bits", np.invert, call=numgrad.bitwise_not, dtypes=INTEGERS)
