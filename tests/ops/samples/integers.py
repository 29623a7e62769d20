"""Samples of operations on whole numbers, bits and truth values."""

import numpy as np
from ops.sampling import ANY, INTEGERS, NONZERO, NUMBERS, between, sample

import numgrad

sample("floor_quotient", np.floor_divide, domain=(ANY, NONZERO), dtypes=NUMBERS)
sample("from_start", lambda index, size: np.where(index < 0, index + size, index), dtypes=("int64",))
sample("remainder_op", np.remainder, domain=(ANY, NONZERO), dtypes=NUMBERS)
sample("gcd_op", np.gcd, dtypes=("int64",))
sample("lcm_op", np.lcm, dtypes=("int64",))
sample("bitwise_and", np.bitwise_and, dtypes=INTEGERS)
sample("bitwise_or", np.bitwise_or, dtypes=INTEGERS)
sample("bitwise_xor", np.bitwise_xor, dtypes=INTEGERS)
sample("bitwise_left_shift", np.left_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("bitwise_right_shift", np.right_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("invert_bits", np.invert, call=numgrad.bitwise_not, dtypes=INTEGERS)
sample("logical_not", np.logical_not)
sample("logical_and_op", np.logical_and)
sample("logical_or_op", np.logical_or)
sample("logical_xor_op", np.logical_xor)
