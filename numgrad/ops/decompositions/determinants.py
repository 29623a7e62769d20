"""Determinants, and their logarithms.

Note [Derivatives of determinants]
The derivative of a determinant is the adjugate, ``det(A) * inv(A)``.  It exists for singular matrices, too, but must
be computed in another way.  Let ``M`` be ``A`` with its three smallest singular values moved away from 0, by a constant
matrix ``U @ V.mH`` of rank 3 or less.  Then ``det(A) = det(M) * det(K)``, where ``K = I - V.mH @ inv(M) @ U`` is of
size (3, 3), whose determinant and adjugate are polynomials.  This holds for all ``A`` near the given one, so all
derivatives follow.  (If more than three singular values are nearly 0, the first three derivatives are right.)  For
matrices far from singular, ``U`` and ``V`` are 0.
"""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, layout_of
from ...core.types import real_of
from ...tensors.tensor import Tensor
from ..creation.factories import eye
from ..memory.copying import convert
from ..pointwise.arithmetic import conj
from ..pointwise.comparison import where
from ..pointwise.complexes import imag
from ..pointwise.exponential import log
from ..reductions.axes import return_type
from ..shapes.broadcasting import expand
from ..shapes.dimensions import adjoint, unsqueeze
from ..table.lookup import lookup, operation
from ..table.op import composite
from .matrices import check_square, diagonal_of
from .systems import linalg_inv_op, linalg_solve_op


@operation(
    "LinalgDetBackward0", aten="_linalg_det", inputs=["A"], dims=(), host=devices.lapack("linalg_det"),
)
def linalg_det_op(A: Layout) -> Layout:
    return layout_of(A.type, A.shape[:-2])


@linalg_det_op.gradient("A")
def _(grad, A):
    """``grad * adjugate(A).mH``; see Note [Derivatives of determinants]."""
    grad = unsqueeze(unsqueeze(grad, -1), -1)
    return expand(grad, A._layout.shape) if A._layout.shape[-1] < 2 else grad * adjoint(_adjugate(A))


def _adjugate(A: Tensor) -> Tensor:
    shift, U, V, factor = nearly_singular(A)
    M = A + shift
    inverse = linalg_inv_op(M, "")[0]
    X, Y = inverse @ U, adjoint(V) @ inverse
    K = eye(3, dtype=A.dtype, device=A.device) - Y @ U
    trace, square = _trace(K), K @ K
    halved = (trace * trace - _trace(square)) / 2
    adjugate = square - trace * K + halved * eye(3, dtype=A.dtype, device=A.device)
    determinant = _trace(adjugate @ K) / 3
    return unsqueeze(unsqueeze(linalg_det_op(M) * factor, -1), -1) * (determinant * inverse + X @ adjugate @ Y)


def _trace(matrices: Tensor) -> Tensor:
    """Return the traces, as (1, 1) matrices."""
    return unsqueeze(unsqueeze(diagonal_of(matrices).sum(-1), -1), -1)


@operation(
    "NearlySingularBackward0", aten="linalg_svd", inputs=["A"], nondifferentiable=["A"], dims=(),
    outputs=["shift", "U", "V", "factor"], host=devices.nearly_singular,
)
def nearly_singular(A: Layout) -> Any:
    vectors = layout_of(A.type, (*A.shape[:-1], 3))
    return layout_of(A.type, A.shape), vectors, vectors, layout_of(A.type, A.shape[:-2])


@operation(
    "LinalgSlogdetBackward0", aten="_linalg_slogdet", inputs=["A"], outputs=["sign", "logabsdet"], joint=True, dims=(),
    host=devices.lapack("linalg_slogdet"),
)
def linalg_slogdet_op(A: Layout) -> Any:
    shape = A.shape[:-2]
    return layout_of(A.type, shape), layout_of(A.type.with_dtype(real_of(A.type.dtype)), shape)


@linalg_slogdet_op.gradient("A")
def _(grad, A, sign):
    """``(grad_logabsdet + 1j * imag(conj(sign) * grad_sign)) * inv(A).mH``."""
    of_sign, of_logarithm = grad
    factor = of_logarithm
    if of_sign is not None and A._layout.type.dtype.is_complex:
        turned = 1j * imag(conj(sign) * of_sign)
        factor = turned if factor is None else factor + turned
    if factor is None:
        return (None,)
    identity = expand(eye(A._layout.shape[-1], dtype=A.dtype, device=A.device), A._layout.shape)
    return (unsqueeze(unsqueeze(factor, -1), -1) * linalg_solve_op(adjoint(A), identity, True, "")[0],)


@lookup(export=False, exact_out=True)
def linalg_det(A: Layout) -> Any:
    """The determinants of square matrices.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.det(numgrad.tensor([[2.0, 1.0], [0.0, 3.0]]))
        tensor(6.)
    """
    check_square("linalg.det", A)
    return linalg_det_op, ()


@lookup(exact_out=True)
def det(input: Layout) -> Any:
    """The determinants of square matrices; see ``linalg.det``.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    return linalg_det.resolve(input)


@lookup(export=False, results=return_type("linalg_slogdet", "sign", "logabsdet"), exact_out=True)
def linalg_slogdet(A: Layout) -> Any:
    """The signs of the determinants of square matrices, and the logarithms of their absolute values.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.slogdet(numgrad.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
        tensor(-1.)
    """
    check_square("linalg.slogdet", A)
    return linalg_slogdet_op, ()


@lookup(results=return_type("slogdet", "sign", "logabsdet"), exact_out=True)
def slogdet(input: Layout) -> Any:
    """The signs of determinants, and the logarithms of their absolute values; see ``linalg.slogdet``.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    return linalg_slogdet.resolve(input)


@composite
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants of square matrices; NaN for a negative determinant.

    Raises:
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.logdet(numgrad.eye(2))
        tensor(0.)
    """
    check_square("logdet", input._layout)
    sign, logarithm = linalg_slogdet_op(input)
    if input._layout.type.dtype.is_complex:
        return log(sign) + convert(logarithm, input.dtype)
    return where(sign == -1, float("nan"), logarithm)
