"""Samples of operations that round, and of signs."""

import numpy as np
from ops.sampling import ANY, FLOATS, NONZERO, NUMBERS, sample

import numgrad

sample("floor", np.floor, dtypes=NUMBERS)
sample("ceil", np.ceil, dtypes=NUMBERS)
sample("trunc", np.trunc, dtypes=NUMBERS)
sample("round_op", np.round, dtypes=NUMBERS, call=numgrad.round)
sample("round_decimals", lambda x, decimals: np.round(x, decimals), decimals=1, dtypes=FLOATS, call=numgrad.round)
sample("frac", lambda x: x - np.trunc(x), dtypes=FLOATS)
sample("nan_to_num_op", lambda x: x, call=numgrad.nan_to_num)
sample("signbit", lambda x: np.signbit(x.astype(float)))
sample("copysign", lambda x, y: np.copysign(x, y.astype(float)), domain=NONZERO)
sample("frexp_exponent", lambda x: np.frexp(x)[1].astype(x.dtype), dtypes=FLOATS)
sample("frexp_mantissa", lambda x: np.frexp(x)[0], dtypes=FLOATS)
sample("nextafter_op", np.nextafter, dtypes=FLOATS)
sample("heaviside_op", lambda x, y: np.heaviside(x.astype(float), y).astype(x.dtype))
sample("truncated_quotient", lambda x, y: np.trunc(x / y).astype(x.dtype), domain=(ANY, NONZERO), dtypes=NUMBERS)
sample("fmod", np.fmod, domain=(ANY, NONZERO), dtypes=NUMBERS)
