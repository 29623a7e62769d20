"""Singular values, and what follows from them: pseudoinverses, ranks, condition numbers and least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import devices
from ...autograd.grad_mode import no_grad
from ...core.layout import Layout, by_columns, layout_of, normal_dim
from ...core.types import finfo, float64, int64, real_of, to_dtype
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..creation.from_data import tensor
from ..creation.spaced import arange
from ..memory.copying import convert
from ..pointwise.arithmetic import abs
from ..pointwise.comparison import where
from ..pointwise.complexes import imag
from ..reductions.axes import return_type
from ..reductions.extremes import amax, amin
from ..reductions.norms import vector_norm
from ..reductions.sums import sum_dims
from ..shapes.dimensions import adjoint, movedim, unsqueeze
from ..shapes.parts import narrow
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import composite, public
from .eigenvalues import differences, linalg_eigvalsh, off_diagonal, phase_check
from .matrices import check_matrices, check_square, diagonal_of, with_diagonal
from .systems import linalg_inv_op


@operation(
    "LinalgSvdBackward0", aten="_linalg_svd", inputs=["A"], outputs=["U", "S", "Vh"], joint=True, dims=(),
    host=devices.lapack("linalg_svd"),
)
def linalg_svd_op(A: Layout, full_matrices: bool, check: str) -> Any:
    *batch, m, n = A.shape
    least, type = min(m, n), A.type.with_dtype(real_of(A.type.dtype))
    width, height = (m, n) if full_matrices else (least, least)
    U, Vh = [by_columns(A.type, (*batch, *sizes)) for sizes in ((m, width), (height, n))]
    return U, layout_of(type, (*batch, least)), Vh


@linalg_svd_op.gradient("A")
def _(grad, U, S, Vh):
    """``U @ (sk(U.mH @ grad_U) / E @ S + S @ sk(V.mH @ grad_V) / E + diag(grad_S)) @ Vh``, and two orthogonal parts.

    ``E`` is ``S_j ** 2 - S_i ** 2``, and ``sk`` the difference of a matrix and its adjoint.
    """
    of_U, of_S, of_Vh = grad
    if of_U is None and of_S is None and of_Vh is None:
        return (None,)
    least, (m, n) = S._layout.shape[-1], (U._layout.shape[-2], Vh._layout.shape[-1])
    U, Vh = narrow(U, -1, 0, least), narrow(Vh, -2, 0, least)
    of_U = None if of_U is None else narrow(of_U, -1, 0, least)
    of_Vh = None if of_Vh is None else narrow(of_Vh, -2, 0, least)
    values = convert(S, U.dtype)
    middle = None if of_S is None else with_diagonal(convert(of_S, U.dtype))
    if of_U is None and of_Vh is None:
        return (U @ middle @ Vh,)
    left = U * 0 if of_U is None else of_U
    right = Vh * 0 if of_Vh is None else of_Vh
    of_left, of_right = adjoint(U) @ left, Vh @ adjoint(right)
    squares = differences(S * S)
    vectors = (
        off_diagonal(of_left - adjoint(of_left)) / squares * unsqueeze(values, -2)
        + unsqueeze(values, -1) * (off_diagonal(of_right - adjoint(of_right)) / squares)
    )
    if U._layout.type.dtype.is_complex:
        phases = imag(diagonal_of(of_left))
        checked = phase_check(phases + imag(diagonal_of(of_right)), "svd_backward", "singular vectors")
        vectors = vectors + with_diagonal(1j * (phases - checked) / values)
    result = U @ (vectors if middle is None else vectors + middle) @ Vh
    if m > least and of_U is not None:
        scaled = (left / unsqueeze(values, -2)) @ Vh
        result = result + scaled - U @ (adjoint(U) @ scaled)
    if n > least and of_Vh is not None:
        scaled = U @ (right / unsqueeze(values, -1))
        result = result + scaled - (scaled @ adjoint(Vh)) @ Vh
    return (result,)


@operation(
    "LinalgSvdvalsBackward0", aten="linalg_svdvals", inputs=["A"], dims=(), host=devices.lapack("linalg_svdvals"),
)
def linalg_svdvals_op(A: Layout, check: str) -> Layout:
    return layout_of(A.type.with_dtype(real_of(A.type.dtype)), (*A.shape[:-2], min(A.shape[-2:])))


@linalg_svdvals_op.gradient("A")
def _(grad, A):
    """``U @ diag(grad) @ Vh``, where ``U`` and ``Vh`` are the singular vectors."""
    U, _, Vh = linalg_svd_op(A, False, "")
    return (U * unsqueeze(convert(grad, U.dtype), -2)) @ Vh


@lookup(export=False, results=return_type("linalg_svd", "U", "S", "Vh"), exact_out=True)
def linalg_svd(A: Layout, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The singular vectors and values of matrices: ``A = U @ diag(S) @ Vh``, with ``S`` in descending order.

    Without ``full_matrices``, ``U`` has as many columns, and ``Vh`` as many rows, as there are singular values.

    A function of singular vectors has a gradient if all singular values differ, if it depends only on the vectors that
    belong to singular values, and if, for complex numbers, it does not depend on the phases of the vectors.

    Raises:
        LinAlgError: the algorithm does not converge, or an element is infinite or NaN.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or there is a ``driver``.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.svd(numgrad.tensor([[0.0, 2.0], [1.0, 0.0]])).S
        tensor([2., 1.])
    """
    _check_values("linalg.svd", A, driver)
    return linalg_svd_op, (full_matrices, "linalg.svd")


def _check_values(name: str, A: Layout, driver: str | None) -> None:
    check_matrices(name, A)
    message = "{!s}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
    check(driver is None, message, name)


@lookup(export=False, exact_out=True)
def linalg_svdvals(A: Layout, *, driver: str | None = None) -> Any:
    """The singular values of matrices, in descending order; see ``linalg.svd``.

    Raises:
        LinAlgError: the algorithm does not converge, or an element is infinite or NaN.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or there is a ``driver``.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.svdvals(numgrad.tensor([[0.0, 2.0], [1.0, 0.0]]))
        tensor([2., 1.])
    """
    _check_values("linalg.svdvals", A, driver)
    return linalg_svdvals_op, ("linalg.svd",)


@lookup(results=return_type("svd", "U", "S", "V"), exact_out=True)
def svd(input: Layout, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular vectors and values of matrices: ``input = U @ diag(S) @ V.mH``; see ``linalg.svd``.

    With ``some``, ``U`` and ``V`` have as many columns as there are singular values.  Without ``compute_uv``, they are
    zeros.

    Raises:
        LinAlgError: the algorithm does not converge, or an element is infinite or NaN.
        RuntimeError: ``input`` is not a matrix of floating-point or complex numbers.
    """
    check_matrices("linalg.svd", input)
    return _svd if compute_uv else _values_alone, (some,)


def _svd(input: Tensor, some: bool) -> tuple[Tensor, Tensor, Tensor]:
    U, S, Vh = linalg_svd_op(input, not some, "linalg.svd")
    return U, S, adjoint(Vh)


def _values_alone(input: Tensor, some: bool) -> tuple[Tensor, Tensor, Tensor]:
    *batch, m, n = input._layout.shape
    zeros = [input.new_zeros((*batch, size, size)) for size in (m, n)]
    return zeros[0], linalg_svdvals_op(input, "linalg.svd"), zeros[1]


# -- pseudoinverses and ranks -----------------------------------------------------------------------------------------


@operation(
    "LinalgPinvBackward0", aten="linalg_pinv", inputs=["A", "atol", "rtol"], nondifferentiable=["atol", "rtol"],
    host=devices.linalg_pinv,
)
def linalg_pinv_op(A: Layout, atol: Layout, rtol: Layout, hermitian: bool, chosen: bool) -> Layout:
    return layout_of(A.type, (*A.shape[:-2], *A.shape[:-3:-1]))


@linalg_pinv_op.gradient("A")
def _(grad, A, out, atol, rtol, chosen):
    """``pinv_gradient(grad, A, out) + gradient_of_cut(grad, A, atol, rtol)``; the second term for given tolerances."""
    gradient = pinv_gradient(grad, A, out)
    return gradient + gradient_of_cut(grad, A, atol, rtol) if chosen else gradient


@linalg_pinv_op.batched
def _(A, atol, rtol, hermitian, chosen):
    return NotImplemented


def pinv_gradient(grad: Tensor, A: Tensor, inverse: Tensor) -> Tensor:
    """Return the gradient of matrices of constant rank, from that of their pseudoinverses (Golub and Pereyra, 1973)."""
    along, conjugated = adjoint(grad), adjoint(inverse)
    if A._layout.shape[-2] <= A._layout.shape[-1]:
        product = along @ inverse
        turned = product @ conjugated
        return (
            -adjoint(inverse @ product) + turned - (A @ inverse) @ turned
            + (conjugated @ inverse) @ (along - product @ A)
        )
    product = inverse @ along
    turned = conjugated @ product
    return (
        -adjoint(product @ inverse) + (along - A @ product) @ inverse @ conjugated + turned
        - (turned @ inverse) @ A
    )


def gradient_of_cut(grad: Tensor, A: Tensor, atol: Tensor, rtol: Tensor) -> Tensor:
    """Return the part of the gradient of a pseudoinverse that is due to nonzero singular values that count as 0.

    Values that are nonzero only by rounding have none.  The vectors that belong to a value ``s`` that is kept and a
    value ``z`` that is not turn into each other as ``A`` changes.  With ``K = U.mH @ grad.mH @ Vh.mH``, the result is
    ``U @ (a * K + b * K.mH) @ Vh``, where ``b = z / (s * (s ** 2 - z ** 2))`` and ``a = b * z / s`` for such pairs.
    """
    values = linalg_svdvals_op(A, "")
    m, n = A._layout.shape[-2:]
    largest = values.amax(-1) if values._layout.size else values.sum(-1)
    kept = values > unsqueeze((largest * rtol).maximum(atol), -1)
    cut = (values > unsqueeze(max(m, n) * finfo(values.dtype).eps * largest, -1)) & ~kept
    # Other matrices are replaced by one with different singular values, at which those of the vectors' are finite.
    spread = eye(m, n, dtype=A.dtype, device=A.device) * arange(1, n + 1, device=A.device)
    U, S, Vh = linalg_svd_op(where(cut.any(-1)[..., None, None], A, spread), False, "")
    pairs = (kept.unsqueeze(-1) & cut.unsqueeze(-2)) | (cut.unsqueeze(-1) & kept.unsqueeze(-2))
    rows, columns = S.unsqueeze(-1), S.unsqueeze(-2)
    s, z = where(pairs, rows.maximum(columns), 1), where(pairs, rows.minimum(columns), 0)
    b = z / (s * (s * s - z * z))
    K = adjoint(U) @ adjoint(grad) @ adjoint(Vh)
    return U @ (b * z / s * K + b * adjoint(K)) @ Vh


def tolerances(A: Tensor, atol: Any, rtol: Any) -> list[Tensor]:
    """Return the absolute and the relative tolerance of singular values that count as 0, as tensors."""
    if rtol is None:
        has_other = isinstance(atol, Tensor) or (atol is not None and atol > 0)
        rtol = 0.0 if has_other else max(A._layout.shape[-2:]) * finfo(real_of(A.dtype)).eps
    tolerances = (0.0 if atol is None else atol, rtol)
    return [t.detach() if isinstance(t, Tensor) else tensor(t, dtype=float64, device=A.device) for t in tolerances]


@public(export=False, takes_out=True)
def linalg_pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudoinverses of matrices, in which singular values up to ``max(atol, rtol * largest)`` count as 0.

    ``rtol``, also called ``rcond``, is by default the larger size times the distance from 1 to the next number, or 0 if
    there is an ``atol``.  With ``hermitian``, the matrices are Hermitian, and their lower triangles are read.

    Derivatives hold for changes of the matrix that do not change the number of singular values that count as 0.
    Second derivatives do, too, unless a singular value that counts as 0 by a given tolerance is not, and two are equal.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.pinv(numgrad.tensor([[2.0, 0.0]]))
        tensor([[0.5000],
                [0.0000]])
    """
    (check_square if hermitian else check_matrices)("linalg.pinv", A._layout)
    rtol = rcond if rtol is None else rtol
    return linalg_pinv_op(A, *tolerances(A, atol, rtol), hermitian, atol is not None or rtol is not None)


@composite
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverses of matrices; see ``linalg.pinv``.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: ``input`` is not a matrix of floating-point or complex numbers.
    """
    return linalg_pinv(input, rcond)


@public(export=False, takes_out=True)
def linalg_matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The number of singular values of matrices above ``max(atol, rtol * largest)``; see ``linalg.pinv``.

    ``tol`` is another name of ``atol``.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.matrix_rank(numgrad.ones(3, 3))
        tensor(1)
    """
    (check_square if hermitian else check_matrices)("linalg.matrix_rank", A._layout)
    with no_grad():
        if tol is not None:
            atol, rtol = tol, 0.0 if rtol is None else rtol
        values = abs(linalg_eigvalsh(A)) if hermitian else linalg_svdvals_op(A, "linalg.svd")
        if not values._layout.shape[-1]:
            return values.new_zeros(values._layout.shape[:-1], dtype=int64)
        absolute, relative = tolerances(A, atol, rtol)
        limit = (relative * values.amax(-1)).maximum(absolute)
        return (values > unsqueeze(limit, -1)).sum(-1)


#: The orders of condition numbers.
_CONDITIONS = (None, "fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


@public(export=False, takes_out=True)
def linalg_cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The condition numbers of matrices: the norm ``p`` of a matrix times that of its inverse.

    ``p`` is an order of ``linalg.matrix_norm``, by default 2: the ratio of the largest and the smallest singular value.

    Raises:
        RuntimeError: ``A`` is not a matrix of floating-point or complex numbers, or there is no such ``p``.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.cond(numgrad.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    check_matrices("linalg.cond", A._layout)
    check(p in _CONDITIONS, "linalg.cond got an invalid norm type: {!s}", p)
    if p not in (None, 2, -2) and (A._layout.size or isinstance(p, str)):
        check_square("linalg.cond", A._layout)
    if 0 in A._layout.shape[-2:]:
        return A.new_zeros(A._layout.shape[:-2], dtype=real_of(A.dtype))
    if p in (None, 2, -2):
        values = linalg_svdvals_op(A, "linalg.svd")
        largest, least = values.select(-1, 0), values.select(-1, -1)
        return least / largest if p == -2 else largest / least
    inverse, failures = linalg_inv_op(A, "")
    return (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(failures > 0, math.inf)


@public(export=False, takes_out=True, exact_out=True)
def linalg_matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of the matrices in two dimensions.

    ``ord`` "fro" is the square root of the sum of squares, "nuc" the sum of the singular values, 2 the largest of them,
    1 the largest sum of absolute values of a column, and infinity the largest sum of a row; with a minus sign, they are
    the smallest values and sums.

    Raises:
        RuntimeError: ``ord`` has another value, or ``dim`` is not two different dimensions.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.matrix_norm(numgrad.eye(3), "nuc")
        tensor(3.)
    """
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {tuple(dim)}")
    rank = len(A._layout.shape)
    if rank < 2:
        raise RuntimeError(f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions, not {rank}.")
    row, column = [normal_dim(number, rank) for number in dim]
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({row}, {column})")
    if ord == "fro" or (ord in ("nuc", 1, 2, math.inf) and not A._layout.size):
        return vector_norm(A, 2, (row, column), keepdim, dtype=dtype)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported. (shape {list(A.shape)})")
    check_matrices("linalg.matrix_norm", A._layout)
    if dtype is not None:
        check(
            to_dtype(dtype).is_complex or not A.is_complex(),
            "linalg.matrix_norm: dtype should be complex for complex inputs, but got {!s}", to_dtype(dtype).legacy, A,
        )
        A = convert(A, to_dtype(dtype))
    if ord in ("nuc", 2, -2):
        values = linalg_svdvals_op(movedim(A, (row, column), (-2, -1)), "linalg.svd")
        result = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        for number in sorted((row, column)) if keepdim else ():
            result = unsqueeze(result, number)
        return result
    summed, chosen = (row, column) if ord in (1, -1) else (column, row)
    assert not isinstance(ord, str)
    result = (amax if ord > 0 else amin)(sum_dims(abs(A), (summed,), True), chosen, True)
    return result if keepdim else result.squeeze((row, column))


matrix_norm = linalg_matrix_norm
