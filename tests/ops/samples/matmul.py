"""Samples of matrix products."""

import numpy as np
from ops.sampling import ALL, NUMBERS, sample, without

import numgrad

without("mm_op mv_op bmm_op addmm_op addmv_op addr_op baddbmm_op addbmm_op", "0-d")
without("dot_op vdot_op", "0-d", "transposed")  # of vectors

for _left, _right in (((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 3), (3, 2))):
    sample("mm_op", np.matmul, _left, _right, call=numgrad.mm, dtypes=NUMBERS)
for _left, _right in (((2, 3), (3,)), ((2, 0), (0,)), ((0, 3), (3,))):
    sample("mv_op", np.matmul, _left, _right, call=numgrad.mv, dtypes=NUMBERS)
for _shape in ((5,), (0,)):
    sample("dot_op", np.dot, _shape, _shape, call=numgrad.dot, dtypes=NUMBERS)
    sample("vdot_op", np.vdot, _shape, _shape, call=numgrad.vdot, dtypes=NUMBERS)
for _left, _right in (((2, 3, 4), (2, 4, 2)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 2), (0, 2, 1))):
    sample("bmm_op", np.matmul, _left, _right, call=numgrad.bmm, dtypes=NUMBERS)


def _added(product):
    return lambda x, left, right, beta=1, alpha=1: beta * x + alpha * product(left, right)


for _input, _left, _right in (((4,), (2, 3), (3, 4)), ((2, 1), (2, 0), (0, 3))):
    sample("addmm_op", _added(np.matmul), _input, _left, _right, call=numgrad.addmm, dtypes=NUMBERS)
sample("addmm_op", _added(np.matmul), (2, 3), (2, 3), (3, 3), call=numgrad.addmm, dtypes=NUMBERS, beta=3, alpha=2)
for _input, _left, _right in (((2,), (2, 3), (3,)), ((), (0, 3), (3,))):
    sample("addmv_op", _added(np.matmul), _input, _left, _right, call=numgrad.addmv, dtypes=NUMBERS, beta=3, alpha=2)
for _input, _left, _right in (((3,), (2,), (3,)), ((2, 3), (2,), (3,)), ((2, 1), (2,), (0,))):
    sample("addr_op", lambda x, *others, **numbers: _added(np.outer)(x, *others, **numbers).astype(x.dtype),
           _input, _left, _right, call=numgrad.addr, dtypes=ALL, memory="kept", beta=3, alpha=2)
for _input, _left, _right in (((3, 2), (2, 3, 4), (2, 4, 2)), ((1,), (0, 3, 2), (0, 2, 1))):
    sample("baddbmm_op", _added(np.matmul), _input, _left, _right, call=numgrad.baddbmm, dtypes=NUMBERS, beta=3)
    sample("addbmm_op", _added(lambda left, right: np.matmul(left, right).sum(0)), _input, _left, _right,
           call=numgrad.addbmm, dtypes=NUMBERS, alpha=2)
