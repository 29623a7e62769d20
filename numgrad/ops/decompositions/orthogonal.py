"""QR factors, and products of Householder matrices."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, by_columns, layout_of
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..reductions.axes import return_type
from ..shapes.diagonals import tril_op, triu_op
from ..shapes.dimensions import adjoint, unsqueeze
from ..shapes.joining import cat
from ..shapes.parts import narrow
from ..table.checks import check, check_supported
from ..table.lookup import lookup, operation
from .matrices import check_matrices, diagonal_of, with_diagonal
from .triangular import solve_triangular


@operation(
    "LinalgQrBackward0", aten="linalg_qr", inputs=["A"], outputs=["Q", "R"], joint=True, dims=(),
    host=devices.lapack("linalg_qr"),
)
def linalg_qr_op(A: Layout, mode: str) -> Any:
    *batch, m, n = A.shape
    columns = m if mode == "complete" else min(m, n)
    Q = layout_of(A.type, (*batch, 0, 0) if mode == "r" else A.shape[:0])
    if mode != "r":
        Q = by_columns(A.type, (*batch, m, columns))
    return Q, by_columns(A.type, (*batch, columns, n))


@linalg_qr_op.gradient("A")
def _(grad, Q, R, mode):
    """``(grad_Q + Q @ copy(R @ grad_R.mH - grad_Q.mH @ Q)) @ inv(R).mH``; the lower triangle is copied to the upper."""
    of_Q, of_R = grad
    check(
        mode != "r",
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
        "mode='reduced') if you are going to differentiate through linalg.qr.",
    )
    (m, k), n = Q._layout.shape[-2:], R._layout.shape[-1]
    check(
        mode != "complete" or m <= n,
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.",
    )
    if of_Q is None and of_R is None:
        return (None,)
    of_Q, of_R = Q * 0 if of_Q is None else of_Q, R * 0 if of_R is None else of_R
    if n > k:  # the columns of R after the first k are those of Q.mH @ A
        of_rest = narrow(of_R, -1, k, n - k)
        more = Q @ of_rest
        of_Q = of_Q + Q @ (narrow(R, -1, k, n - k) @ adjoint(of_rest))
        R, of_R = narrow(R, -1, 0, k), narrow(of_R, -1, 0, k)
    middle = R @ adjoint(of_R) - adjoint(of_Q) @ Q
    lower = tril_op(middle, 0)
    total = Q @ (lower + adjoint(lower) - with_diagonal(diagonal_of(middle + adjoint(middle)) / 2))
    result = solve_triangular(adjoint(R), total + of_Q, False, False)
    return (cat([result, more], -1) if n > k else result,)


@lookup(export=False, results=return_type("linalg_qr", "Q", "R"), exact_out=True)
def linalg_qr(A: Layout, mode: str = "reduced") -> Any:
    """Matrices ``Q`` with orthonormal columns and upper triangular ``R``: ``A = Q @ R``.

    For (m, n) matrices with k the smaller of both, ``mode`` "reduced" returns (m, k) and (k, n) matrices, "complete"
    (m, m) and (m, n) matrices, and "r" only ``R``, without derivatives.

    Raises:
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or there is no such ``mode``.

    Example:
        >>> import numgrad
        >>> Q, R = numgrad.linalg.qr(numgrad.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> R.abs()
        tensor([[5.0000, 2.2000],
                [0.0000, 0.4000]])
    """
    check_matrices("linalg.qr", A)
    check(
        mode in ("reduced", "complete", "r"),
        "qr received unrecognized mode '{!s}' but expected one of 'reduced' (default), 'r', or 'complete'", mode,
    )
    return linalg_qr_op, (mode,)


@lookup(results=return_type("qr", "Q", "R"), exact_out=True)
def qr(input: Layout, some: bool = True) -> Any:
    """The QR factors of matrices; see ``linalg.qr``, whose mode is "reduced" for ``some``, and else "complete".

    Raises:
        RuntimeError: ``input`` is not a matrix of floating-point or complex numbers.
    """
    check_matrices("linalg.qr", input)
    return linalg_qr_op, ("reduced" if some else "complete",)


@operation(
    "GeqrfBackward0", aten="geqrf", inputs=["A"], underived=["A"], outputs=["a", "tau"], joint=True, dims=(),
    host=devices.lapack("linalg_geqrf"),
)
def geqrf_op(A: Layout) -> Any:
    return by_columns(A.type, A.shape), layout_of(A.type, (*A.shape[:-2], min(A.shape[-2:])))


@lookup(results=return_type("geqrf", "a", "tau"))
def geqrf(input: Layout) -> Any:
    """The QR factors of matrices as LAPACK returns them: ``R`` above Householder vectors; see ``orgqr``.

    Backward raises an error.

    Raises:
        RuntimeError: ``input`` is not a matrix of floating-point or complex numbers.
    """
    check_matrices("torch.geqrf", input, "input")
    return geqrf_op, ()


@lookup(export=False)
def linalg_householder_product(A: Layout, tau: Layout) -> Any:
    """The first columns of products of Householder matrices ``I - tau_i * v_i @ v_i.mH``.

    The vectors ``v_i`` are the columns of the lower triangle of ``A``, with ones on the diagonal, as LAPACK returns
    them for QR factors.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    return linalg_householder(A, tau)


def linalg_householder(A: Layout, tau: Layout) -> Any:
    """Check the arguments of ``linalg.householder_product``."""
    name = "torch.linalg.householder_product"
    check_supported(A, "fc", "orgqr_cpu")
    check(len(A.shape) >= 2, "{!s}: input must have at least 2 dimensions.", name, A)
    check(A.shape[-2] >= A.shape[-1], "{!s}: input.shape[-2] must be greater than or equal to input.shape[-1]", name, A)
    check(
        A.shape[-1] >= tau.shape[-1], "{!s}: input.shape[-1] must be greater than or equal to tau.shape[-1]", name, A,
        tau,
    )
    check(
        len(A.shape) - len(tau.shape) == 1,
        "{!s}: Expected tau to have one dimension less than input, but got tau.ndim equal to {} and input.ndim is "
        "equal to {}", name, len(tau.shape), len(A.shape),
    )
    check(
        A.shape[:-2] == tau.shape[:-1],
        "{!s}: Expected batch of tau to be equal to input.shape[:-2], but got {}", name, tau.shape[:-1],
    )
    check(
        A.type is tau.type, "{!s}: tau dtype {!s} does not match input dtype {!s}", name, tau.type.dtype.legacy,
        A.type.dtype.legacy,
    )
    return _product, ()


def _product(A: Tensor, tau: Tensor) -> Tensor:
    """Return ``I - V @ T @ V.mH`` for triangular ``T``, the inverse of ``diag(1 / tau) + triu(V.mH @ V, 1)``."""
    (m, n), k = A._layout.shape[-2:], tau._layout.shape[-1]
    kind: Any = {"dtype": A.dtype, "device": A.device}
    V = tril_op(narrow(A, -1, 0, k), -1) + eye(m, k, **kind)
    system = unsqueeze(tau, -1) * triu_op(adjoint(V) @ V, 1)
    T = solve_triangular(system, with_diagonal(tau), True, True, True)
    return eye(m, n, **kind) - V @ (T @ adjoint(narrow(V, -2, 0, n)))


@lookup
def orgqr(input: Layout, tau: Layout) -> Any:
    """The first columns of products of Householder matrices; see ``linalg.householder_product``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    return linalg_householder(input, tau)


@lookup(exact_out=True)
def ormqr(input: Layout, tau: Layout, other: Layout, left: bool = True, transpose: bool = False) -> Any:
    """The product of ``other`` and the square orthogonal matrix that ``input`` and ``tau`` describe; see ``orgqr``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    check_supported(input, "fc", "ormqr_cpu")
    rank = len(input.shape)
    check(rank >= 2, "torch.ormqr: input must have at least 2 dimensions.", input)
    check(
        len(tau.shape) == rank - 1,
        "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to {} and input.ndim "
        "is equal to {}", len(tau.shape), rank,
    )
    check(
        len(other.shape) == rank,
        "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to {} "
        "and input.ndim is equal to {}", len(other.shape), rank,
    )
    m = other.shape[-2] if left else other.shape[-1]
    check(
        tau.shape[-1] == min(m, input.shape[-1]),
        "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{!s}], input.shape[-1])", -2 if left else -1,
        tau, other, input,
    )
    check(
        m == input.shape[-2], "torch.ormqr: other.shape[{!s}] must be equal to input.shape[-2]", -2 if left else -1,
        other, input,
    )
    return _times, (left, transpose)


def _times(input: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> Tensor:
    m, k = input._layout.shape[-2], tau._layout.shape[-1]
    V = narrow(input, -1, 0, k)
    columns = cat([V, V.new_zeros((*V._layout.shape[:-1], m - k))], -1) if m > k else V
    Q = _product(columns, tau)
    Q = adjoint(Q) if transpose else Q
    return Q @ other if left else other @ Q
