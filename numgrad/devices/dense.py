"""Host functions of linear algebra that are made of NumPy's."""

from __future__ import annotations

import numpy as np

from .host_functions import host

__all__ = ["finite", "linalg_matrix_exp", "linalg_pinv", "nearly_singular", "phase_check", "solution_by_svd"]


def _reciprocals(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the reciprocals of the numbers that are ``kept``, and zeros for the others."""
    return np.where(kept, 1 / np.where(kept, values, 1), 0).astype(values.dtype)


@host("numpy.linalg.svd")
def linalg_pinv(A, atol, rtol, hermitian, chosen):
    """Return the pseudoinverses of matrices; singular values up to ``max(atol, rtol * largest)`` count as 0.

    ``chosen``, True if users chose this limit, serves the gradient alone.
    """
    if hermitian:
        values, V = np.linalg.eigh(A)
        U, sizes, Vh = V, np.abs(values), V.conj().mT
    else:
        U, values, Vh = np.linalg.svd(A, full_matrices=False)
        sizes = values
    limit = np.maximum(atol, rtol * sizes.max(-1, initial=0))[..., None]
    kept = sizes > limit
    inverses = _reciprocals(values, kept)
    return (Vh.conj().mT * inverses[..., None, :]) @ U.conj().mT


def solution_by_svd(A, B, rcond):
    """Return the least-squares solutions of the least norm, the ranks, and the singular values."""
    U, values, Vh = np.linalg.svd(A, full_matrices=False)
    kept = values > rcond * values.max(-1, initial=0, keepdims=True)
    inverses = _reciprocals(values, kept)
    return Vh.conj().mT @ (inverses[..., None] * (U.conj().mT @ B)), kept.sum(-1), values


#: Coefficients of the Pade approximant of order 13 of the exponential function (Higham, 2005).
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip

#: The greatest norm for which this approximant is exact to rounding.
_PADE_NORM = 5.37


@host("numpy.linalg.solve")
def linalg_matrix_exp(A):
    """Return the exponentials of matrices, by scaling and squaring."""
    norm = np.abs(A).sum(-2).max(-1, initial=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        halvings = np.maximum(np.ceil(np.log2(norm / _PADE_NORM)), 0)
    halvings = np.where(np.isfinite(halvings), halvings, 0).astype(np.int64)
    wide = np.result_type(A.dtype, np.float64)
    x = A.astype(wide) / (2.0 ** halvings)[..., None, None]
    identity = np.eye(A.shape[-1], dtype=wide)
    powers = [identity, x @ x]
    powers += [powers[1] @ powers[1]]
    powers += [powers[1] @ powers[2]]
    odd, even = [sum(c * power for c, power in zip(_PADE[first:8:2], powers, strict=True)) for first in (1, 0)]
    more_odd, more_even = [
        sum(c * power for c, power in zip(_PADE[first::2], powers[1:], strict=True)) for first in (9, 8)
    ]
    odd, even = x @ (odd + powers[3] @ more_odd), even + powers[3] @ more_even
    try:
        result = np.linalg.solve(even - odd, even + odd)
    except np.linalg.LinAlgError:  # not finite
        return np.full(A.shape, np.nan, A.dtype)
    for number in range(int(halvings.max(initial=0))):
        result = np.where((halvings > number)[..., None, None], result @ result, result)
    return result.astype(A.dtype)


@host("numpy.linalg.svd")
def nearly_singular(A):
    """Return the matrices that move nearly singular ones away from singular ones.

    The results are the matrices to add; their parts ``U`` and ``V`` of rank 3, of which they are ``U @ V.mH``, but for
    further singular values; and the product of the ratios in which these have been changed.
    """
    batch, n, eps = A.shape[:-2], A.shape[-1], np.finfo(A.dtype).eps
    shift, U, V = np.zeros_like(A), np.zeros((*A.shape[:-1], 3), A.dtype), np.zeros((*A.shape[:-1], 3), A.dtype)
    factor = np.ones(batch, A.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.log(np.linalg.norm(A, axis=-1)).sum(-1)
        suspicious = ~(np.linalg.slogdet(A).logabsdet - rows > np.log(eps) / 2) & np.isfinite(A).all((-1, -2))
    for place in map(tuple, np.argwhere(suspicious)):
        left, values, right = np.linalg.svd(A[place])
        moved = np.where(values > np.sqrt(eps) * values[0], 0, values[0] or 1)
        shift[place] = left * moved @ right
        count = min(n, 3)
        U[place][:, :count] = left[:, n - count :] * moved[n - count :]
        V[place][:, :count] = right.conj().T[:, n - count :]
        others = moved[: n - count] > 0
        factor[place] = np.prod(values[: n - count][others] / (values + moved)[: n - count][others])
    return shift, U, V, factor


@host("numpy.isfinite")
def finite(input):
    """Return the matrices, after raising if an element is infinite or NaN."""
    if not np.isfinite(input).all():
        shape = list(input.shape)
        raise RuntimeError(f"torch.linalg.eig: input tensor should not contain infs or NaNs. (shape {shape})")
    return input.copy()


@host("numpy.isclose")
def phase_check(input, function, what):
    """Return imaginary parts, after raising if one of them is not nearly 0."""
    if (np.abs(input) > 1e-2).any():
        raise RuntimeError(
            f"{function}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )
    return input.copy()
