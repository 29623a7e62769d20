"""Samples of diagonals and triangles."""

import numpy as np
from ops.sampling import NUMBERS, sample, without

import numgrad

without("diagonal_op diagonal_scatter_op diagonal_copy diagonal_backward diag_embed_op trace_op tril_op triu_op", "0-d")

for _shape, _where in (((3, 4), (0, 0, 1)), ((2, 4, 3), (-1, 1, 2)), ((2, 3, 4), (1, 2, 0)), ((0, 3), (0, 0, 1)),
                       ((2, 3), (5, 0, 1))):
    sample("diagonal_op", np.diagonal, _shape, args=_where, memory="view")
    sample("diagonal_copy", lambda x, *where: np.diagonal(x, *where).copy(), _shape, args=_where)


def _on_diagonal(x, src, offset, dim1, dim2):
    out = x.copy()
    diagonal = np.diagonal(out, offset, dim1, dim2)
    diagonal.flags.writeable = True
    diagonal[...] = src
    return out


def _embedded(x, shape, *where):
    return _on_diagonal(np.zeros(shape, x.dtype), x, *where)


for _given, _shape, *_where in (((3,), (3, 4), 0, 0, 1), ((2, 2), (3, 2, 4), -1, 0, 2), ((0,), (0, 3), 0, 0, 1)):
    sample("diagonal_backward", _embedded, _given, args=(_shape, *_where))
for _given, _shape, *_where in (((3,), (4, 4), 1, 0, 1), ((2, 3), (3, 2, 3), 0, 2, 0), ((0,), (1, 1), -1, 0, 1)):
    sample("diag_embed_op", lambda x, *where, shape=_shape: _embedded(x, shape, *where), _given, args=tuple(_where))
for _shape, _given, *_where in (((4, 4), (3,), 1, 0, 1), ((3, 2, 3), (2, 3), 0, 2, 0), ((0, 2), (0,), 0, 0, 1)):
    sample("diagonal_scatter_op", _on_diagonal, _shape, _given, args=tuple(_where), memory="kept")
for _shape in ((3, 4), (4, 3), (0, 2)):
    sample("trace_op", lambda x: np.asarray(np.trace(x)), _shape, call=numgrad.trace, dtypes=NUMBERS)
for _shape, _diagonal in (((3, 4), 0), ((2, 3, 3), 1), ((4, 3), -2), ((0, 3), 0)):
    sample("tril_op", np.tril, _shape, args=(_diagonal,))
    sample("triu_op", np.triu, _shape, args=(_diagonal,))
