"""Samples of circular and hyperbolic functions."""

import numpy as np
from ops.sampling import FLOATS, NONZERO, between, sample

from numgrad.ops.pointwise import trigonometric

INSIDE = between(-0.9, 0.9)

sample("sin", np.sin)
sample("cos", np.cos)
sample("tan", np.tan, domain=between(-1.2, 1.2))
sample("asin", np.arcsin, domain=INSIDE)
sample("acos", np.arccos, domain=INSIDE)
sample("atan", np.arctan)
sample("atan2_op", np.arctan2, domain=NONZERO)
sample("hypot_op", np.hypot, domain=NONZERO, dtypes=FLOATS)
sample("asin_slope", lambda x: 1 / np.sqrt(1 - x * x), domain=INSIDE, dtypes=FLOATS)
sample("atanh_slope", lambda x: 1 / (1 - x * x), domain=INSIDE, dtypes=FLOATS)
sample("hypot_slope", lambda x, y, _: x / np.hypot(x, y), domain=NONZERO, dtypes=FLOATS,
       call=lambda x, y, length: trigonometric.hypot_slope(x, y, trigonometric.hypot_op(x, y) + 0 * length))
sample("sinc", lambda x: np.sinc(x.astype(float)), domain=NONZERO)
sample("sinh", np.sinh)
sample("cosh", np.cosh)
sample("asinh", np.arcsinh)
sample("acosh", np.arccosh, domain=between(1.1, 3))
sample("atanh", np.arctanh, domain=INSIDE)
sample("deg2rad", np.deg2rad)
sample("rad2deg", np.rad2deg)
