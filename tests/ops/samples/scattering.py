"""Samples of writing along a dimension."""

import numpy as np
from ops.sampling import ANY, FLOATS, NONZERO, Domain, index, sample

ZERO = Domain(lambda u: np.zeros(u.shape), "int64")


def _where(places, dim):
    """An index for NumPy of the elements that are written to."""
    places = np.atleast_1d(places)
    where = list(np.indices(places.shape))
    where[dim] = places
    return tuple(where)


def _changed(change, initial=None):
    def reference(x, places, values, dim):
        out = np.array(x)
        rows = out.reshape(x.shape or (1,))
        if initial is not None:
            rows[_where(places, dim)] = initial
        change(rows, _where(places, dim), np.atleast_1d(values) if np.ndim(values) or not x.shape else values)
        return out

    return reference


def _set(rows, where, values):
    rows[where] = values


_INITIAL = {"sum": 0, "mean": 0, "prod": 1, "amax": -np.inf, "amin": np.inf}
_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _reduced(x, places, src, dim, reduce, include_self):
    initial = None if include_self else _INITIAL[reduce]
    total = _changed(_UFUNCS[reduce].at, initial)(x, places, src, dim)
    if reduce != "mean":
        return total
    counts = _changed(np.add.at, None if include_self else 0)(np.ones(x.shape), places, np.ones(src.shape), dim)
    return (total / counts).astype(x.dtype)


for _shape, _places, _dim in (((2, 3), (1, 3), 0), ((3,), (1,), 0), ((2, 0), (1, 0), 0), ((), (), 0)):
    _domain = (ANY, index(_shape[_dim]) if _shape else ZERO)
    sample("scatter_op", _changed(_set), _shape, _places, _places, args=(_dim,), domain=(*_domain, ANY))
    sample("scatter_value", lambda x, places, dim, value: _changed(_set)(x, places, value, dim), _shape, _places,
           args=(_dim, 1), domain=_domain)
for _shape, _places, _dim in (((3, 3, 2), (2, 4, 2), 1), ((3,), (5,), 0), ((2, 0), (1, 0), 0), ((), (), 0)):
    _index = index(_shape[_dim]) if _shape else ZERO
    sample("scatter_add_op", _changed(np.add.at), _shape, _places, _places, args=(_dim,), domain=(ANY, _index, ANY))
    sample("index_reduce_op", _reduced, _shape, _places, _places, args=(_dim, "mean", True),
           domain=(NONZERO, _index, NONZERO), dtypes=FLOATS)
    for _reduce in _UFUNCS:
        for _include in (True, False) if len(_shape) == 1 else (True,) if _reduce == "mean" else ():
            sample("scatter_reduce_op", _reduced, _shape, _places, _places, args=(_dim, _reduce, _include),
                   domain=(NONZERO, _index, NONZERO), dtypes=FLOATS)
