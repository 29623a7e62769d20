"""Samples of operations that compare and choose."""

import numpy as np
from ops.sampling import ANY, CONDITION, FLOATS, NUMBERS, sample

import numgrad

sample("relu", lambda x: np.maximum(x, 0), dtypes=NUMBERS)
sample("threshold_backward", lambda grad, out: np.where(out > 0, grad, 0), dtypes=NUMBERS)
sample("maximum_op", np.maximum)
sample("minimum_op", np.minimum)
sample("fmax_op", np.fmax)
sample("fmin_op", np.fmin)
sample("choose", np.where, domain=(CONDITION, ANY, ANY), call=numgrad.where)
sample("native_dropout", lambda x, mask, scale: x * np.where(mask, scale, 0), domain=(ANY, CONDITION, ANY),
       dtypes=FLOATS)
sample("eq", np.equal)
sample("ne", np.not_equal)
sample("lt", np.less)
sample("le", np.less_equal)
sample("gt", np.greater)
sample("ge", np.greater_equal)
sample("isnan", np.isnan)
sample("isinf", np.isinf)
sample("isfinite", np.isfinite)
sample("isposinf", np.isposinf)
sample("isneginf", np.isneginf)
