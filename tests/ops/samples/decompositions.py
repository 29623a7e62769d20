"""Samples of decompositions of matrices; those of vectors with a free sign or phase are in ``test_decompositions``."""

import numpy as np
from ops.sampling import ANY, FLOATS, Domain, between, sample, without

import numgrad
from numgrad import linalg

NAMES = """
    linalg_cholesky_op linalg_inv_op linalg_lu_factor_op linalg_det_op linalg_slogdet_op nearly_singular linalg_eigh_op
    linalg_eigvalsh_op linalg_eig_op linalg_qr_op geqrf_op linalg_svd_op linalg_svdvals_op linalg_pinv_op
    linalg_matrix_exp_op linalg_ldl_factor_op linalg_lstsq_op linalg_solve_triangular_op linalg_ldl_solve_op
    lu_permutation phase_check finite
"""
without(NAMES, "0-d")

#: Matrices that are far from singular, with eigenvalues and singular values that are far from each other.
REGULAR = Domain(lambda u: (u - 0.5) / 2 + np.eye(*u.shape[-2:]) * (1 + np.arange(u.shape[-1])))

#: Pivots that exchange no rows.
PIVOTS = Domain(lambda u: np.arange(1, u.shape[-1] + 1) + np.zeros(u.shape), "int64")


def _by_columns(array):
    """The array, with matrices that are stored column by column."""
    return np.ascontiguousarray(array.mT).mT


def _by_columns_of_matrices(array):
    return array if array.ndim < 3 else _by_columns(array)


def _integers(shape):
    return np.zeros(shape, np.int32)


def _lu(A):
    """The factors of 2 x 2 matrices without exchanges."""
    result = _by_columns(A)
    if A.size:
        result[..., 1, 0] /= A[..., 0, 0]
        result[..., 1, 1] -= result[..., 1, 0] * A[..., 0, 1]
    pivots = np.zeros(A.shape[:-1], np.int32) + np.arange(1, 1 + A.shape[-1], dtype=np.int32)
    return result, pivots, _integers(A.shape[:-2])


def _ldl(A):
    factors, pivots, info = _lu(np.tril(A) + np.tril(A, -1).mT)
    return _by_columns(np.tril(factors)), pivots, info


def _exponential(A):
    term = total = np.broadcast_to(np.eye(A.shape[-1]), A.shape)
    for n in range(1, 40):
        term = term @ A / n
        total = total + term
    return total


def _geqrf(A):
    raw, tau = [], []
    for matrix in A:
        h, scales = np.linalg.qr(matrix, "raw")
        raw.append(h.T)
        tau.append(scales)
    return (_by_columns(np.array(raw)), np.array(tau)) if len(A) else (_by_columns(A), np.zeros(A.shape[:-1]))


def _symmetric(function, *args):
    """A function of the sums of matrices and their transposes."""
    return lambda A: function(A + A.mT, *args)


def _hermitian(A):
    return A + A.mH


for shape in ((2, 2, 2), (0, 2, 2)):
    sample("linalg_cholesky_op", lambda A: _by_columns(np.linalg.cholesky(A @ A.mT)), shape, domain=REGULAR,
           dtypes=FLOATS, memory="reference", call=lambda A: linalg.cholesky(A @ A.mH))
    sample("linalg_inv_op", lambda A: _by_columns(np.linalg.inv(A)), shape, domain=REGULAR, dtypes=FLOATS,
           memory="reference", call=linalg.inv)
    sample("linalg_lu_factor_op", _lu, shape, domain=REGULAR, dtypes=FLOATS, memory="reference",
           call=linalg.lu_factor_ex)
    sample("linalg_det_op", np.linalg.det, shape, domain=REGULAR, dtypes=FLOATS, call=linalg.det)
    sample("linalg_slogdet_op", np.linalg.slogdet, shape, domain=REGULAR, dtypes=FLOATS, call=linalg.slogdet)
    sample("nearly_singular", lambda A: (A * 0, np.zeros((*A.shape[:-1], 3)), np.zeros((*A.shape[:-1], 3)),
           np.ones(A.shape[:-2])), shape, domain=REGULAR, dtypes=FLOATS)
    sample("linalg_eigh_op", _symmetric(lambda A: np.linalg.eigh(A)[0]), shape, domain=REGULAR, dtypes=FLOATS,
           call=lambda A: linalg.eigh(_hermitian(A))[0])
    sample("linalg_eigvalsh_op", _symmetric(np.linalg.eigvalsh), shape, domain=REGULAR, dtypes=FLOATS,
           call=lambda A: linalg.eigvalsh(_hermitian(A)))
    sample("linalg_qr_op", lambda A: tuple(map(_by_columns, np.linalg.qr(A))), shape, domain=REGULAR, dtypes=FLOATS,
           memory="reference", call=linalg.qr)
    sample("geqrf_op", _geqrf, shape, domain=REGULAR, dtypes=FLOATS, memory="reference", call=numgrad.geqrf)
    sample("linalg_svd_op", lambda A: tuple(map(_by_columns_of_matrices, np.linalg.svd(A))), shape, domain=REGULAR,
           dtypes=FLOATS, memory="reference", call=linalg.svd)
    sample("linalg_svdvals_op", lambda A: np.linalg.svd(A)[1], shape, domain=REGULAR, dtypes=FLOATS,
           call=linalg.svdvals)
    sample("linalg_pinv_op", np.linalg.pinv, (*shape[:2], 1), domain=REGULAR, dtypes=FLOATS, call=linalg.pinv)
    sample("linalg_matrix_exp_op", _exponential, shape, domain=REGULAR, dtypes=FLOATS, call=linalg.matrix_exp)
    sample("linalg_ldl_factor_op", _ldl, shape, domain=REGULAR, dtypes=FLOATS, memory="reference",
           call=linalg.ldl_factor_ex)
    sample("linalg_lstsq_op", lambda A, B: np.linalg.pinv(A) @ B, (*shape[:2], 1), shape, domain=(REGULAR, ANY),
           dtypes=FLOATS, call=lambda A, B: linalg.lstsq(A, B).solution)
    sample("linalg_solve_triangular_op", lambda A, B, upper: _by_columns(np.linalg.solve(np.triu(A), B)), shape, shape,
           domain=(REGULAR, ANY), dtypes=FLOATS, memory="reference", call=linalg.solve_triangular, upper=True)
    sample("linalg_ldl_solve_op", lambda A, pivots, B: _by_columns(np.linalg.solve(
               _with_unit_diagonal(A) * np.diagonal(A, 0, -2, -1)[..., None, :] @ _with_unit_diagonal(A).mT, B)),
           shape, shape[:2], shape, domain=(REGULAR, PIVOTS, ANY), dtypes=FLOATS, memory="reference",
           call=lambda A, pivots, B: linalg.ldl_solve(A, pivots.int(), B))
    sample("linalg_eig_op", lambda A: np.linalg.eig(A)[0].astype(np.complex128), shape, domain=REGULAR, dtypes=FLOATS,
           call=lambda A: linalg.eig(A)[0])
    sample("lu_permutation", lambda pivots, rows: pivots - 1, shape[:2], args=(2,), domain=PIVOTS, dtypes=("int64",))
    sample("finite", np.array, shape, dtypes=FLOATS)
    sample("phase_check", lambda x, *names: x, shape, args=("svd", "vectors"), domain=between(-0.001, 0.001),
           dtypes=FLOATS)


def _with_unit_diagonal(A):
    return np.tril(A, -1) + np.eye(A.shape[-1])
