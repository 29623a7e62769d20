"""Samples of reading and writing at a row of indices."""

import numpy as np
from ops.sampling import ANY, Domain, index, sample

DISTINCT = Domain(lambda u: u.ravel().argsort().argsort().reshape(u.shape), "int64")


def _rows(x, dim):
    """The array with a dimension in front, as a view; a 0-d one has one."""
    return np.moveaxis(np.atleast_1d(x), dim, 0)


def _selected(x, places, dim):
    picked = np.moveaxis(_rows(x, dim)[np.atleast_1d(places)], 0, dim)
    return picked.reshape((*x.shape[:dim], *places.shape, *x.shape[dim + 1 :]))


def _changed(change):
    """Return a copy whose rows ``change(rows, places, values)`` has changed."""

    def reference(x, places, values, dim):
        out = x.copy()
        change(_rows(out[None] if out.ndim == 0 else out, dim), np.atleast_1d(places),
               _rows(values, dim) if np.ndim(values) else values)
        return out

    return reference


def _set(rows, places, values):
    rows[places] = values


_add_rows = _changed(np.add.at)
_set_rows = _changed(_set)


def _add_scaled(x, places, source, dim, alpha):
    with np.errstate(over="ignore"):
        return _add_rows(x, places, (source * alpha).astype(x.dtype), dim)


for _shape, _places, _dim, _source in (
    ((3, 4), (2,), 0, (2, 4)), ((2, 3, 2), (4,), 1, (2, 4, 2)), ((2, 0), (3,), 0, (3, 0)), ((), (), 0, ()),
):
    _domain = (ANY, index(_shape[_dim] if _shape else 1))
    sample("index_select_op", _selected, _shape, _places, args=(_dim,), domain=_domain)
    for _alpha in (1, 2):
        sample("index_add_op", _add_scaled, _shape, _places, _source, args=(_dim, _alpha), domain=(*_domain, ANY))
for _shape, _places, _dim, _source in (
    ((3, 4), (1,), 0, (1, 4)), ((2, 3), (1,), 1, (2, 1)), ((2, 0), (1,), 0, (1, 0)), ((), (), 0, ()),
):
    _domain = (ANY, DISTINCT)
    sample("index_copy_op", _set_rows, _shape, _places, _source, args=(_dim,), domain=(*_domain, ANY))
    sample("index_fill_number", lambda x, places, dim, value: _set_rows(x, places, value, dim), _shape, _places,
           args=(_dim, 1), domain=_domain, memory="kept")
    sample("index_fill_tensor", _set_rows, _shape, _places, (), args=(_dim,), domain=(*_domain, ANY), memory="kept")


def _put(x, places, source, accumulate):
    out = x.copy()
    if accumulate:
        np.add.at(out.reshape(-1), places, source)
    else:
        np.put(out, places, source)
    return out


for _shape, _places in (((3, 4), (2, 3)), ((3, 0), (0,)), ((5,), (3,)), ((), ())):
    _count = index(int(np.prod(_shape)))
    sample("take_op", np.take, _shape, _places, domain=(ANY, _count))
    sample("put_op", _put, _shape, _places, _places, args=(True,), domain=(ANY, _count, ANY), memory="kept")
sample("put_op", _put, (3, 2), (1,), (1,), args=(False,), domain=(ANY, DISTINCT, ANY), memory="kept")
