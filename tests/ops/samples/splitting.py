"""Samples of splits."""

import numpy as np
from ops.sampling import sample, without

without("split_op unsafe_split_op split_sizes_op unsafe_split_sizes_op", "0-d")

for _name in ("split_op", "unsafe_split_op"):
    for _shape, _size, _dim in (((2, 5), 2, 1), ((3, 2), 4, 0), ((0, 3), 2, 1)):
        sample(_name, lambda x, size, dim: np.split(x, range(size, x.shape[dim], size), dim), _shape,
               args=(_size, _dim), memory="view")
for _name in ("split_sizes_op", "unsafe_split_sizes_op"):
    for _shape, _sizes, _dim in (((2, 5), (1, 0, 4), 1), ((0, 3), (1, 2), 1)):
        sample(_name, lambda x, sizes, dim: np.split(x, np.cumsum(sizes)[:-1], dim), _shape, args=(_sizes, _dim),
               memory="view")
