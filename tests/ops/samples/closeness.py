"""Samples of nearly equal numbers."""

import numpy as np
from ops.sampling import FLOATS, sample

sample("isclose_op", lambda x, y, rtol, atol: np.isclose(x, y, rtol, atol), dtypes=FLOATS, rtol=0.1, atol=0.2)
