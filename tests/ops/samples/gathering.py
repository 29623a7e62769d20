"""Samples of reading at indices, for each element or whole rows."""

import numpy as np
from ops.sampling import ANY, FLOATS, index, sample, without

without("embedding_op embedding_dense_backward", "0-d")


def _gather(x, places, dim):
    x, places = np.atleast_1d(x), np.atleast_1d(places)
    part = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(places.shape))]
    return np.take_along_axis(part, places, dim)


def _gathered(x, places, dim):
    return _gather(x, places, dim).reshape(places.shape)


def _scattered(x, places, shape, dim):
    out = np.zeros(shape or (1,), x.dtype)
    where = list(np.indices(places.shape or (1,)))
    where[dim] = np.atleast_1d(places)
    np.add.at(out, tuple(where), np.atleast_1d(x))
    return out.reshape(shape)


for _shape, _places, _dim in (
    ((3, 4, 2), (3, 2, 2), 1), ((3, 4), (2, 3), 0), ((4,), (6,), 0), ((2, 0), (1, 0), 0), ((), (), 0),
):
    _domain = (ANY, index(_shape[_dim] if _shape else 1))
    sample("gather_op", _gathered, _shape, _places, args=(_dim,), domain=_domain)
    sample("scatter_zeros", _scattered, _places, _places, args=(_shape, _dim), domain=_domain)


def _embedded(weight, indices, padding, scaled):
    return weight[indices]


def _embedding_gradient(grad, indices, count, padding, scaled):
    out = np.zeros((count, grad.shape[-1]), grad.dtype)
    np.add.at(out, indices, grad)
    if scaled:
        out /= np.maximum(np.bincount(indices.ravel(), minlength=count), 1)[:, None]
    if 0 <= padding < count:
        out[padding] = 0
    return out


for _places, *_choices in (((2, 3), (-1, False), (2, False), (1, True)), ((0,), (-1, False)), ((), (2, True))):
    sample("embedding_op", _embedded, (4, 3), _places, args=(-1, False), domain=(ANY, index(4)))
    for _settings in _choices:
        sample("embedding_dense_backward", _embedding_gradient, (*_places, 3), _places, args=(4, *_settings),
               domain=(ANY, index(4)), dtypes=FLOATS)
