"""Samples of matrix products."""

import numpy as np
from ops.sampling import NUMBERS, sample, without

import numgrad

without("mm_op mv_op bmm_op", "0-d")
without("dot_op", "0-d", "transposed")  # of vectors

for _left, _right in (((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 3), (3, 2))):
    sample("mm_op", np.matmul, _left, _right, call=numgrad.mm, dtypes=NUMBERS)
for _left, _right in (((2, 3), (3,)), ((2, 0), (0,)), ((0, 3), (3,))):
    sample("mv_op", np.matmul, _left, _right, call=numgrad.mv, dtypes=NUMBERS)
for _shape in ((5,), (0,)):
    sample("dot_op", np.dot, _shape, _shape, call=numgrad.dot, dtypes=NUMBERS)
for _left, _right in (((2, 3, 4), (2, 4, 2)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 2), (0, 2, 1))):
    sample("bmm_op", np.matmul, _left, _right, call=numgrad.bmm, dtypes=NUMBERS)
