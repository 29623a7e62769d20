"""Samples of rotations, repetitions, padding and grids."""

import numpy as np
from ops.sampling import index, sample, without

without("rot90_op", "0-d")

for _shape, _shifts, _dims in (((2, 5), (2,), (1,)), ((2, 3), (1, -1, 4), (0, 1, 1)), ((2, 3), (4,), ()),
                               ((0, 3), (1,), (1,)), ((), (1,), ())):
    sample("roll_op", lambda x, shifts, dims: np.roll(x, shifts if dims else shifts[0], dims or None), _shape,
           args=(_shifts, _dims))
for _shape, _k in (((2, 3), 0), ((2, 0), 0)):
    sample("rot90_op", lambda x, k, dims: x.copy(), _shape, args=(_k, (0, 1)))
sample("rot90_op", lambda x, k, dims: np.rot90(x, k, dims).copy(), (2, 3), args=(2, (0, 1)), memory="kept")


def _padded(x, pad, value):
    low, high = pad[-2::-2], pad[-1::-2]
    widths = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    cut = tuple(slice(max(-a, 0), extent - max(-b, 0)) for a, b, extent in zip(low, high, x.shape, strict=True))
    return np.pad(x[cut], widths, constant_values=value) if widths else x.copy()


for _shape, _pad in (((2, 3), (1, 2, 1, 0)), ((2, 3), (1, -2, -1, 3)), ((2, 0), (1, 1, 0, 0)), ((), ())):
    sample("constant_pad", _padded, _shape, args=(_pad, 1))
for _shape, _repeats in (((2, 3), (2, 3)), ((2, 3), (2, 1, 3)), ((3,), (0,)), ((0, 3), (2, 2)), ((), (3,)), ((), ())):
    sample("repeat_op", np.tile, _shape, args=(_repeats,))


def _block_diag(blocks, _):
    blocks = [np.atleast_2d(block) for block in blocks]
    out = np.zeros(np.sum([block.shape for block in blocks], 0), np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        height, width = block.shape
        out[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return out


for _shapes in (((2, 3), (2,), ()), ((0, 3), (1, 2)), ((), ())):
    sample("block_diag_op", _block_diag, *_shapes, args=(_shapes,))

without("repeated_op", "transposed")

for _shape in ((4,), (0,), ()):
    sample("repeated_op", lambda x: np.repeat(np.arange(x.size), x), _shape, domain=index(3), dtypes=("int64",))
