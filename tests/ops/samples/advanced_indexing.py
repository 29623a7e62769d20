"""Samples of reading and writing at flat indices."""

import numpy as np
from ops.sampling import ANY, Domain, index, sample, without

without("index_put_op", "0-d")


def _indices(places, shape, dims):
    """An index for NumPy."""
    every = [slice(None)] * len(shape)
    for dim, place in zip(dims, np.unravel_index(places, [shape[d] for d in dims]), strict=True):
        every[dim] = place
    return tuple(every)


def _read(x, places, dims, distinct):
    return x[_indices(places, x.shape, dims)]


def _added(x, places, shape, dims, distinct):
    out = np.zeros(shape, x.dtype)
    np.add.at(out, _indices(places, shape, dims), x)
    return out


def _put(x, places, values, dims, accumulate, distinct):
    out = x.copy()
    where = _indices(places, x.shape, dims)
    if accumulate:
        np.add.at(out, where, values)
    else:
        out[where] = values
    return out


DISTINCT = Domain(lambda u: u.ravel().argsort().argsort().reshape(u.shape), "int64")

for _shape, _places, _dims, _part in (
    ((3, 4), (2,), (0,), (2, 4)),
    ((2, 3), (2, 2), (1,), (2, 2, 2)),
    ((2, 3, 2), (3,), (0, 2), (3, 3)),
    ((2, 3, 2), (2,), (1, 2), (2, 2)),
    ((2, 0, 3), (2,), (0,), (2, 0, 3)),
    ((), (), (), ()),
):
    _count = index(int(np.prod([_shape[d] for d in _dims])))
    sample("index_op", _read, _shape, _places, args=(_dims, False), domain=(ANY, _count))
    sample("index_backward", _added, _part, _places, args=(_shape, _dims, False), domain=(ANY, _count))
    if _shape:
        sample("index_put_op", _put, _shape, _places, _part, args=(_dims, True, False), domain=(ANY, _count, ANY),
               memory="kept")
sample("index_op", _read, (3, 4), (1,), args=((0,), True), domain=(ANY, DISTINCT))
sample("index_backward", _added, (1, 4), (1,), args=((3, 4), (0,), True), domain=(ANY, DISTINCT))
sample("index_put_op", _put, (3, 4), (1,), (1, 4), args=((0,), False, True), domain=(ANY, DISTINCT, ANY), memory="kept")
sample("index_put_op", _put, (3, 4), (1,), (), args=((1,), False, False), domain=(ANY, DISTINCT, ANY), memory="kept")
