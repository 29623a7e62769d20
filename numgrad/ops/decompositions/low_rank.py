"""Largest singular values by random projections, and principal components."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from ..creation.random_numbers import randn
from ..reductions.sums import mean_dims
from ..shapes.broadcasting import expand
from ..shapes.dimensions import adjoint
from ..table.checks import check_value
from ..table.op import composite
from .matrices import check_matrices
from .orthogonal import linalg_qr
from .singular import linalg_svd


@composite(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``U``, ``S`` and ``V`` of approximate singular value decompositions ``U @ diag(S) @ V.mH`` of low rank.

    Args:
        A: matrices of shape (..., m, n).
        q: the number of singular values: more than the rank, which need not be known exactly.
        niter: the number of iterations, which improve the approximation; 2 unless given.
        M: is subtracted from ``A``; broadcasts to its shape.

    Source: Halko, Martinsson and Tropp, Finding Structure with Randomness, 2011, algorithms 4.4 and 5.1.

    Example:
        >>> import numgrad
        >>> A = numgrad.outer(numgrad.tensor([3.0, 4.0]), numgrad.tensor([1.0, 0.0, 0.0]))
        >>> numgrad.svd_lowrank(A, q=1)[1]
        tensor([5.])
    """
    check_matrices("svd_lowrank", A._layout)
    given = A if M is None else A - expand(M, A._layout.shape)
    rows, columns = A._layout.shape[-2:]
    tall = adjoint(given) if rows < columns else given
    start = randn(min(rows, columns), 6 if q is None else q, dtype=A.dtype, device=A.device)
    basis = linalg_qr(tall @ start)[0]
    for _ in range(2 if niter is None else niter):
        basis = linalg_qr(tall @ linalg_qr(adjoint(tall) @ basis)[0])[0]
    U, S, Vh = linalg_svd(adjoint(basis) @ tall, full_matrices=False)
    U, V = basis @ U, adjoint(Vh)
    return (V, S, U) if rows < columns else (U, S, V)


@composite(method=False)
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``U``, ``S`` and ``V``, whose columns are the principal components of the rows of ``A``.

    They are the results of :func:`svd_lowrank` of ``A``, minus the mean of its rows if ``center`` is True.

    Args:
        A: matrices of shape (..., m, n): m examples each.
        q: the number of components; at most 6 unless given.
        center: True to subtract the mean.
        niter: the number of iterations.

    Raises:
        ValueError: ``q`` exceeds a size of the matrices, or a number is negative.

    Example:
        >>> import numgrad
        >>> numgrad.pca_lowrank(numgrad.tensor([[1.0, 0.0], [5.0, 0.0]]), q=1)[2].abs()
        tensor([[1.],
                [0.]])
    """
    check_matrices("pca_lowrank", A._layout)
    least = min(A._layout.shape[-2:])
    q = min(6, least) if q is None else q
    check_value(0 <= q <= least, "q(={}) must be non-negative integer and not greater than min(m, n)={}", q, least)
    check_value(niter >= 0, "niter(={}) must be non-negative integer", niter)
    if center:
        A = A - mean_dims(A, (len(A._layout.shape) - 2,), True)
    return svd_lowrank(A, q, niter)
