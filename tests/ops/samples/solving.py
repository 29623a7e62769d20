"""Samples of systems of linear equations."""

import numpy as np
from ops.sampling import ANY, FLOATS, Domain, sample, without

import numgrad

without("linalg_solve_op", "0-d")

_REGULAR = Domain(lambda u: u - 0.5 + 2 * np.eye(u.shape[-1])), ANY


def _solved(A, B, left=True):
    if not left:
        return np.ascontiguousarray(np.linalg.solve(A.mT, B.mT).mT)
    vectors = B.shape == A.shape[:-1]
    result = np.linalg.solve(A, B[..., None])[..., 0] if vectors else np.linalg.solve(A, B)
    return result if result.ndim < 2 else np.ascontiguousarray(result.mT).mT  # column by column


_SHAPES = [
    ((2, 3, 3), (2, 3, 2)), ((2, 1, 2, 2), (3, 2, 1)), ((2, 2, 2), (2, 2)), ((0, 2, 2), (2, 3)), ((0, 0), (0, 2)),
]
for _A, _B, _left in [*[(*_shapes, True) for _shapes in _SHAPES], ((2, 3, 3), (2, 2, 3), False)]:
    sample("linalg_solve_op", _solved, _A, _B, domain=_REGULAR, call=numgrad.linalg.solve, dtypes=FLOATS,
           memory="reference", left=_left)
