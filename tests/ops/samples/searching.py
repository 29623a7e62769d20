"""Samples of distinct elements, counts, and insertion points."""

import numpy as np
from ops.sampling import ANY, FLOATS, NUMBERS, Domain, index, sample, without


def _different(x, dim, consecutive, return_inverse, return_counts):
    x = np.atleast_1d(x)
    if consecutive:
        x = x.reshape(-1)
        keep = np.insert(x[1:] != x[:-1], 0, True)[: x.size]
        return x[keep], np.cumsum(keep).reshape(-1) - 1, np.diff(np.append(np.flatnonzero(keep), x.size))
    return np.unique(x, return_inverse=True, return_counts=True, axis=dim)


SORTED = Domain(lambda u: 4 * np.sort(u) - 2)

without("bincount_op", "transposed", "0-d", "empty")  # it counts in integers if there are no elements
without("search_op", "0-d")

for _shape in ((2, 3), (0, 3), ()):
    sample("unique_op", lambda *given: _different(*given)[0], _shape, args=(None, False, False, False))
    sample("unique_op", lambda *given: _different(*given)[::2], _shape, args=(None, True, False, True), dtypes=NUMBERS)
    sample("histc_op", lambda x, low, high, bins: np.histogram(x, bins, (low, high))[0].astype(x.dtype), _shape,
           args=(-1.0, 1.5, 3), dtypes=FLOATS)
sample("unique_op", _different, (2, 3), args=(1, False, True, True), dtypes=NUMBERS)
for _rows, _shape in (((4,), (2, 3)), ((4,), (0, 3)), ((4,), ())):
    sample("search_op", lambda rows, x, right, out_int32: np.searchsorted(rows, x, "right" if right else "left"),
           _rows, _shape, args=(True, False), domain=(SORTED, ANY), dtypes=NUMBERS, dtype="int64")
sample("bincount_op", lambda x, weights, least: np.bincount(x, weights, least), (5,), (5,), args=(4,),
       domain=(index(6), ANY), dtypes=("float64",))
