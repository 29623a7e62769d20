"""Samples of operations on three numbers."""

from ops.sampling import ANY, FLOATS, NONZERO, NUMBERS, sample

sample("lerp_op", lambda x, y, w: x + w * (y - x), dtypes=FLOATS)
sample("addcmul_op", lambda x, y, z: x + y * z, dtypes=NUMBERS)
sample("addcmul_op", lambda x, y, z, value: x + value * y * z, value=3, dtypes=NUMBERS)
sample("addcdiv_op", lambda x, y, z, value: x + value * y / z, value=3, domain=(ANY, ANY, NONZERO), dtypes=FLOATS)
