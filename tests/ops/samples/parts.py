"""Samples of parts of tensors, and of joins."""

import numpy as np
from ops.sampling import sample, without

without("slice_backward select_scatter_op slice_scatter_op cat_op", "0-d")

for _shape, _dims in (((2, 3, 4), (0, 2)), ((3,), (0,)), ((0, 3), (0, 1)), ((), ())):
    sample("flip_op", lambda x, dims: np.flip(x, dims).copy(), _shape, args=(_dims,), memory="kept")


def _placed(x, shape, where):
    out = np.zeros(shape, x.dtype)
    out[where] = x
    return out


for _given, _shape, _dim, _index in (((2, 4), (2, 3, 4), 1, 2), ((), (3,), 0, 1), ((0,), (2, 0), 0, 1)):
    sample("select_backward", lambda x, shape, dim, i: _placed(x, shape, (slice(None),) * dim + (i,)), _given,
           args=(_shape, _dim, _index))
for _given, _shape, *_bounds in (((2, 3), (2, 7), 1, 6, 2), ((2, 0), (2, 3), 1, 1, 1), ((2, 0), (2, 0), 0, 0, 1)):
    sample("slice_backward", lambda x, shape, dim, *bounds: _placed(x, shape, (slice(None), slice(*bounds))), _given,
           args=(_shape, 1, *_bounds))


def _written(x, src, where):
    out = x.copy()
    out[where] = src
    return out


for _shape, _src, _dim, _index in (((2, 3, 4), (2, 4), 1, 2), ((3,), (), 0, 1), ((2, 0), (0,), 0, 1)):
    sample("select_scatter_op", lambda x, src, dim, i: _written(x, src, (slice(None),) * dim + (i,)), _shape, _src,
           args=(_dim, _index), memory="kept")
for _shape, _src, *_bounds in (((2, 7), (2, 3), 1, 6, 2), ((2, 3), (2, 0), 1, 1, 1)):
    sample("slice_scatter_op", lambda x, src, dim, *bounds: _written(x, src, (slice(None), slice(*bounds))), _shape,
           _src, args=(1, *_bounds), memory="kept")
sample("cat_op", lambda parts, dim, _: np.concatenate(parts, dim), (2, 3), (2, 4), args=(1, (3, 4)))
sample("cat_op", lambda parts, dim, _: np.concatenate(parts, dim), (2, 3), (0, 3), (1, 3), args=(0, (2, 0, 1)))
sample("stack_op", np.stack, (2, 3), (2, 3), (2, 3), args=(1,))
sample("stack_op", np.stack, (0, 3), (0, 3), args=(2,))
sample("stack_op", np.stack, (), (), args=(0,))
