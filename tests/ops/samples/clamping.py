"""Samples of operations that keep numbers within bounds."""

import numpy as np
from ops.sampling import ANY, NUMBERS, between, sample

BOUNDS = ANY, between(-1, -0.4), between(0.4, 1)

sample("clamp_op", lambda x, low, high: np.minimum(np.maximum(x, low), high), domain=BOUNDS, dtypes=NUMBERS)
sample("clamp_min_op", np.maximum)
sample("clamp_max_op", np.minimum)
