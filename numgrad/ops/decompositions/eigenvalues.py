"""Eigenvalues and eigenvectors.

Note [Phases of eigenvectors]
Eigenvectors of complex matrices, and singular vectors, are determined up to a factor of absolute value 1.  A gradient
exists only for functions that do not depend on these factors.  Their gradients have a property that the rules check.
"""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, by_columns, layout_of
from ...core.types import complex_of, real_of
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..memory.copying import convert
from ..pointwise.arithmetic import conj
from ..pointwise.complexes import imag, real
from ..reductions.axes import return_type
from ..shapes.dimensions import adjoint, unsqueeze
from ..table.checks import check_supported
from ..table.lookup import lookup, operation
from .matrices import check_square, diagonal_of, first_of, with_diagonal
from .systems import linalg_solve_op


@operation(
    "PhaseCheckBackward0", aten="allclose", inputs=["input"], dims=(), host=devices.phase_check,
)
def phase_check(input: Layout, function: str, what: str) -> Layout:
    """Return the imaginary parts, after raising if one of them is not nearly 0; see Note [Phases of eigenvectors]."""
    return layout_of(input.type, input.shape)


@phase_check.gradient("input")
def _(grad):
    return grad


@operation(
    "LinalgEighBackward0", aten="_linalg_eigh", inputs=["A"], outputs=["L", "V"], joint=True, dims=(),
    host=devices.lapack("linalg_eigh"),
)
def linalg_eigh_op(A: Layout, lower: bool, check: str) -> Any:
    return layout_of(A.type.with_dtype(real_of(A.type.dtype)), A.shape[:-1]), by_columns(A.type, A.shape)


@linalg_eigh_op.gradient("A")
def _(grad, L, V):
    """``V @ (S / (L_j - L_i) + diag(grad_L)) @ V.mH``, where ``S`` is the skew-Hermitian part of ``V.mH @ grad_V``."""
    of_L, of_V = grad
    if of_V is None:
        return (None if of_L is None else (V * unsqueeze(convert(of_L, V.dtype), -2)) @ adjoint(V),)
    product = adjoint(V) @ of_V
    if V._layout.type.dtype.is_complex:
        phases = phase_check(imag(diagonal_of(product)), "linalg_eigh_backward", "eigenvectors")
        product = product - 1j * with_diagonal(phases)
    middle = off_diagonal((product - adjoint(product)) / 2) / differences(L)
    if of_L is not None:
        middle = middle + with_diagonal(convert(of_L, V.dtype))
    return (V @ middle @ adjoint(V),)


def off_diagonal(matrices: Tensor) -> Tensor:
    """Return matrices with zeros on the diagonal."""
    return matrices.masked_fill(_diagonal_mask(matrices), 0)


def _diagonal_mask(matrices: Tensor) -> Tensor:
    return eye(matrices._layout.shape[-1], device=matrices.device) == 1


def differences(values: Tensor) -> Tensor:
    """Return the matrices of ``values[j] - values[i]``, with ones on the diagonal."""
    difference = unsqueeze(values, -2) - unsqueeze(values, -1)
    return difference.masked_fill(_diagonal_mask(difference), 1)


@operation(
    "LinalgEigvalshBackward0", aten="linalg_eigvalsh", inputs=["A"], dims=(), host=devices.lapack("linalg_eigvalsh"),
)
def linalg_eigvalsh_op(A: Layout, lower: bool, check: str) -> Layout:
    return layout_of(A.type.with_dtype(real_of(A.type.dtype)), A.shape[:-1])


@linalg_eigvalsh_op.gradient("A")
def _(grad, A, lower):
    """``V @ diag(grad) @ V.mH``, where ``V`` are the eigenvectors."""
    V = linalg_eigh_op(A, lower, "")[1]
    return (V * unsqueeze(convert(grad, V.dtype), -2)) @ adjoint(V)


def _is_lower(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


@lookup(export=False, results=return_type("linalg_eigh", "eigenvalues", "eigenvectors"), exact_out=True)
def linalg_eigh(A: Layout, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, in ascending order, and their eigenvectors, as columns.

    Only the lower triangle of each matrix is read; with ``UPLO`` "U", only the upper one.

    A function of eigenvectors has a gradient if all eigenvalues differ, and if, for complex numbers, it does not depend
    on the phases of the vectors.  A function of eigenvalues alone always has one.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: the matrices are not square.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.eigh(numgrad.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    _check_hermitian("linalg.eigh", A)
    return linalg_eigh_op, (_is_lower(UPLO), "linalg.eigh")


def _check_hermitian(name: str, A: Layout) -> None:
    if A.type.dtype.differentiable or len(A.shape) < 2:
        check_square(name, A)
    check_supported(A, "fc", "linalg_eigh_cpu")


@lookup(export=False, exact_out=True)
def linalg_eigvalsh(A: Layout, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, in ascending order; see ``linalg.eigh``.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: the matrices are not square.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.eigvalsh(numgrad.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([1., 2.])
    """
    _check_hermitian("linalg.eigvalsh", A)
    return linalg_eigvalsh_op, (_is_lower(UPLO), "linalg.eigvalsh")


# -- matrices that need not be Hermitian ------------------------------------------------------------------------------


@operation(
    "LinalgEigBackward0", aten="linalg_eig", inputs=["A"], outputs=["L", "V"], joint=True, dims=(),
    host=devices.lapack("linalg_eig"),
)
def linalg_eig_op(A: Layout, check: str) -> Any:
    type = A.type.with_dtype(complex_of(real_of(A.type.dtype)))
    return layout_of(type, A.shape[:-1]), by_columns(type, A.shape)


@linalg_eig_op.gradient("A")
def _(grad, A_layout, L, V):
    """``inv(V).mH @ (P / conj(L_j - L_i) + diag(grad_L)) @ V.mH``.

    ``P`` is ``V.mH @ (grad_V - V @ diag(V.mH @ grad_V))``.
    """
    of_L, of_V = grad
    middle = None if of_L is None else with_diagonal(of_L)
    if of_V is not None:
        product = adjoint(V) @ of_V
        lengths = diagonal_of(product)
        phases = phase_check(imag(lengths), "linalg_eig_backward", "eigenvectors")
        lengths = convert(real(lengths), V.dtype) + 0j * phases
        product = product - (adjoint(V) @ V) * unsqueeze(lengths, -2)
        vectors = off_diagonal(product) / conj(differences(L))
        middle = vectors if middle is None else middle + vectors
    if middle is None:
        return (None,)
    gradient = linalg_solve_op(adjoint(V), middle @ adjoint(V), True, "")[0]
    return (gradient if A_layout.type.dtype.is_complex else real(gradient),)


@lookup(export=False, results=return_type("linalg_eig", "eigenvalues", "eigenvectors"))
def linalg_eig(A: Layout) -> Any:
    """The complex eigenvalues of square matrices, in no order, and their eigenvectors, as columns of length 1.

    A function of eigenvectors has a gradient if all eigenvalues differ, and if it does not depend on the phases of the
    vectors.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: the matrices are not square, or an element is infinite or NaN.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.eig(numgrad.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
        tensor([1., 1.])
    """
    check_square("linalg.eig", A)
    return _eig, ()


def _eig(A: Tensor) -> Any:
    return linalg_eig_op(finite(A), "linalg.eig")


@operation("FiniteBackward0", aten="isfinite", inputs=["input"], dims=(), host=devices.finite)
def finite(input: Layout) -> Layout:
    """Return the matrices, after raising if an element is infinite or NaN."""
    return layout_of(input.type, input.shape)


@finite.gradient("input")
def _(grad):
    return grad


@lookup(export=False)
def linalg_eigvals(A: Layout) -> Any:
    """The complex eigenvalues of square matrices, in no order; see ``linalg.eig``.

    Raises:
        LinAlgError: the algorithm does not converge.
        RuntimeError: the matrices are not square, or an element is infinite or NaN.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.eigvals(numgrad.tensor([[2.0, 0.0], [0.0, 1.0]])).real.sum()
        tensor(3.)
    """
    check_square("linalg.eigvals", A)
    return first_of(_eig), ()
