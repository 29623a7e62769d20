"""Least-squares solutions of systems of linear equations."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, layout_of
from ...core.types import int64, real_of
from ...tensors.tensor import Tensor
from ..matrices.products import check_types
from ..pointwise.arithmetic import abs
from ..reductions.axes import return_type
from ..shapes.dimensions import adjoint, unsqueeze
from ..shapes.parts import narrow
from ..shapes.views import reshape
from ..table.checks import check
from ..table.lookup import operation
from ..table.op import public
from .matrices import check_matrices
from .singular import gradient_of_cut, linalg_pinv, pinv_gradient, tolerances


@operation(
    "LinalgLstsqBackward0", aten="linalg_lstsq", inputs=["A", "B"], joint=True, extras=["rank", "singular_values"],
    host=devices.lapack("linalg_lstsq"),
)
def linalg_lstsq_op(A: Layout, B: Layout, rcond: float | None, driver: str) -> Any:
    batch = broadcast_shapes(A.shape[:-2], B.shape[:-2])
    m, n = A.shape[-2:]
    return (
        layout_of(A.type, (*batch, n, B.shape[-1])), layout_of(A.type.with_dtype(int64), A.shape[:-2]),
        layout_of(A.type.with_dtype(real_of(A.type.dtype)), (*A.shape[:-2], min(m, n))),
    )


@linalg_lstsq_op.gradient("A", "B")
def _(grad, A, B, rcond, needed):
    """``pinv_gradient(grad @ B.mH), pinv(A).mH @ grad``."""
    inverse, of_inverse = linalg_pinv(A, rcond), grad @ adjoint(B)
    of_A = pinv_gradient(of_inverse, A, inverse) if needed[0] else None
    if needed[0] and rcond is not None:
        of_A = of_A + gradient_of_cut(of_inverse, A, *tolerances(A, None, rcond))
    return of_A, adjoint(inverse) @ grad


_Solution = return_type("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@public(export=False)
def linalg_lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The solution ``X`` with the least norm of ``A @ X - B``, and of all such, with the least norm.

    The results are the solution, the sums of squares of the residuals (if there are more rows than columns, all
    matrices have full rank, and the driver is not "gelsy"), the ranks (unless it is "gels") and the singular values (if
    it is "gelsd" or "gelss").

    The default is "gelsy", by QR factors with an exchange of columns; "gels" relies on full rank, and is faster.  The
    others are by singular values, and so is "gelsy" with an ``rcond``: values up to ``rcond`` times the largest count
    as 0.  PyTorch's "gelsy" estimates them, so that another rank may be found.  Derivatives are those of ``pinv``.

    Raises:
        LinAlgError: the driver is "gels", and the triangular factor of a matrix has a 0 on its diagonal.
        RuntimeError: the shapes do not fit, the dtypes differ, or there is no such ``driver``.

    Example:
        >>> import numgrad
        >>> A, B = numgrad.tensor([[1.0], [0.0]]), numgrad.tensor([[2.0], [3.0]])
        >>> numgrad.linalg.lstsq(A, B).solution
        tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    left, right = A._layout.shape, B._layout.shape
    check(len(left) >= 2, "{!s}: input must have at least 2 dimensions.", name)
    check(len(right) >= 1, "{!s}: other must have at least 1 dimension.", name)
    check_matrices(name, A._layout, "input")
    message = "Expected input and other to have the same dtype, but got input's dtype {} and other's dtype {}"
    check_types(f"{name}: {message}", A._layout, B._layout)
    check(
        driver in (None, "gels", "gelsy", "gelsd", "gelss"),
        "{!s}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)", name,
    )
    check(
        0 <= len(left) - len(right) <= 1,
        "{!s}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1", name, A, B,
    )
    vectors = len(left) > len(right)
    values = unsqueeze(B, -1) if vectors else B
    check(
        values._layout.shape[-2] == left[-2], "{!s}: input.size(-2) should match other.size({!s})", name,
        -1 if vectors else -2, A, B,
    )
    broadcast_shapes(left[:-2], values._layout.shape[:-2])
    X, ranks, singular = linalg_lstsq_op(A, values, None if rcond is None else float(rcond), driver or "gelsy")
    m, n = left[-2:]
    residuals = abs(narrow(reshape(X, (-1,)), 0, 0, 0))
    if m > n > 0 and (driver == "gels" or (driver in ("gelsd", "gelss") and bool((ranks == n).all()))):
        residuals = abs(A @ X - values).square().sum(-2)
    return _Solution(
        X.squeeze(-1) if vectors else X, residuals,
        ranks.new_empty(0) if driver == "gels" else ranks,
        singular if driver in ("gelsd", "gelss") else singular.new_empty(0),
    )
