"""Some eigenvalues of large symmetric matrices, by iteration."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import GRAD, LEVELS, no_grad, state
from ...core.layout import numel
from ...core.types import finfo, real_of
from ...tensors.tensor import Tensor
from ..creation.random_numbers import randn
from ..memory.copying import convert
from ..reductions.norms import vector_norm
from ..shapes.broadcasting import expand
from ..shapes.dimensions import adjoint
from ..shapes.joining import cat, stack
from ..shapes.parts import flip
from ..shapes.views import reshape
from ..table.checks import check, check_value
from ..table.op import composite
from .cholesky import linalg_cholesky
from .eigenvalues import linalg_eigh
from .matrices import check_square
from .orthogonal import linalg_qr
from .triangular import linalg_solve_triangular


@composite(method=False)
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest eigenvalues of symmetric matrices, and their eigenvectors, as columns.

    They are found by iteration.  If a gradient is recorded, they are computed by ``linalg.eigh`` instead, and can be
    differentiated any number of times.

    Args:
        A: symmetric or Hermitian matrices, of shape (..., m, m).
        k: the number of eigenvalues: by default, the number of columns of ``X``, or 1.
        B: positive-definite matrices of the same shape, for the problem ``A @ x = value * B @ x``.
        X: approximate eigenvectors to begin with, of shape (..., m, n); random ones by default.
        n: the number of random vectors; ``k`` by default.
        iK: a matrix with which residuals are multiplied: an approximate inverse of ``A``.
        niter: the greatest number of steps: 1,000 by default, and any number if it is -1.
        tol: the norm of a residual, relative to that of the matrices, below which an eigenvector is accepted: the root
            of the dtype's epsilon by default.
        largest: False for the smallest eigenvalues.
        method: "ortho" or "basic": accepted for compatibility with PyTorch; the basis is always orthogonal.
        tracker, ortho_iparams, ortho_fparams, ortho_bparams: must not be given.

    Raises:
        ValueError: the matrices have fewer than ``3 * n`` rows, or an argument is not supported.
        RuntimeError: the shapes do not fit.

    Source: Knyazev, Toward the Optimal Preconditioned Eigensolver: Locally Optimal Block Preconditioned Conjugate
    Gradient Method, 2001.

    Example:
        >>> import numgrad
        >>> numgrad.lobpcg(numgrad.diag(numgrad.tensor([1.0, 2.0, 7.0, 4.0])))[0].round()
        tensor([7.])
    """
    check_square("lobpcg", A._layout)
    for name, value in (
        ("tracker", tracker), ("ortho_iparams", ortho_iparams), ("ortho_fparams", ortho_fparams),
        ("ortho_bparams", ortho_bparams),
    ):
        check_value(value is None, "lobpcg: {!s} is not supported", name)
    check_value(method in (None, "ortho", "basic"), "lobpcg: method must be 'ortho' or 'basic', not {!r}", method)
    rows, batch = A._layout.shape[-1], A._layout.shape[:-2]
    k = k if k is not None else 1 if X is None else X._layout.shape[-1]
    n = X._layout.shape[-1] if X is not None else k if n is None else n
    check_value(n > 0, "lobpcg: the number of eigenvectors must be positive, but is {}", n)
    check_value(
        rows >= 3 * n, "LPBPCG algorithm is not applicable when the number of A rows (={}) is smaller than 3 x the "
        "number of requested eigenpairs (={})", rows, n,
    )
    for name, other, shape in (("B", B, (*batch, rows, rows)), ("X", X, (*batch, rows, n))):
        check(
            other is None or other._layout.shape == shape, "lobpcg: expected {!s} of shape {}, but got {}", name, shape,
            other,
        )
    k, last = min(k, n), largest is None or largest
    given = [each for each in (A, B) if each is not None]
    if state.mode & LEVELS or (state.mode & GRAD and any(each.requires_grad for each in given)):
        return _all_pairs(A, B, k, last)
    with no_grad():
        start = randn(*batch, rows, n, dtype=A.dtype, device=A.device) if X is None else X
        each: list[Any] = [
            [None] * numel(batch) if t is None else _one_by_one(t, batch) for t in (A, B, start, iK)
        ]
        pairs = [_iterated(a, b, x, inverse, k, niter, tol, last) for a, b, x, inverse in zip(*each, strict=True)]
        values, vectors = [stack(list(parts)) for parts in zip(*pairs, strict=True)]
        return reshape(values, *batch, k), reshape(vectors, *batch, rows, k)


def _one_by_one(matrices: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Return the matrices, broadcast to a batch, as a batch of one dimension."""
    shape = matrices._layout.shape[-2:]
    return reshape(expand(matrices, (*batch, *shape)), -1, *shape)


def _all_pairs(A: Tensor, B: Tensor | None, k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues and eigenvectors as functions that can be differentiated."""
    A = (A + adjoint(A)) / 2
    if B is None:
        return _first(linalg_eigh(A), k, largest)
    L = linalg_cholesky((B + adjoint(B)) / 2)
    half = linalg_solve_triangular(L, A, upper=False)
    values, vectors = _first(linalg_eigh(linalg_solve_triangular(L, adjoint(half), upper=False)), k, largest)
    return values, linalg_solve_triangular(adjoint(L), vectors, upper=True)


def _first(pairs: tuple[Tensor, Tensor], k: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Return ``k`` of ascending eigenvalues: the last ones in descending order if ``largest``, else the first ones."""
    values, vectors = [flip(each, (len(each._layout.shape) - 1,)) for each in pairs] if largest else pairs
    return values[..., :k], vectors[..., :k]


def _iterated(
    A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k: int, niter: int | None, tol: float | None,
    largest: bool,
) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues and eigenvectors of one matrix.

    Each step takes the best vectors within the span of the present ones, their residuals, and the last directions.
    With ``B = L @ L.mH``, the vectors are ``L.mH @ x``, whose matrix is ``inv(L) @ A @ inv(L.mH)``.
    """
    n, step, steps = X._layout.shape[-1], 0, 1000 if niter is None else niter
    tol = finfo(real_of(A.dtype)).eps ** 0.5 if tol is None else tol
    L = None if B is None else linalg_cholesky(B)

    def solution(X: Tensor) -> Tensor:
        return X if L is None else linalg_solve_triangular(adjoint(L), X, upper=True)

    def times_matrix(X: Tensor) -> Tensor:
        product = A @ solution(X)
        return product if L is None else linalg_solve_triangular(L, product, upper=False)

    def preconditioned(residual: Tensor) -> Tensor:
        if iK is None:
            return residual
        return iK @ residual if L is None else adjoint(L) @ (iK @ (L @ residual))

    basis, old = linalg_qr(X if L is None else adjoint(L) @ X)[0], 0
    norm = vector_norm(times_matrix(basis)) / vector_norm(basis)
    while True:
        product = times_matrix(basis)
        values, combination = _first(linalg_eigh(adjoint(basis) @ product), n, largest)
        vectors = basis @ combination
        residual = product @ combination - vectors * convert(values, A.dtype)
        missed = vector_norm(residual, 2, 0) >= tol * (norm + values.abs())
        if step == steps or not missed[:k].any():
            return values[:k], solution(vectors[:, :k])
        direction = basis[:, old:] @ combination[old:] if old else basis[:, :0]
        basis = linalg_qr(cat([vectors, direction, preconditioned(residual[:, missed])], 1))[0]
        old, step = n, step + 1
