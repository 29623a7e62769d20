"""Systems of linear equations."""

from __future__ import annotations

from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, contiguous_strides, layout_of
from ..batching.physical import expanded
from ..pointwise.arithmetic import neg
from ..shapes.dimensions import adjoint
from ..shapes.views import unsqueeze
from ..table.operation import operation
from .checks import check_rank, check_square, check_types, shapes_text
from .matmul import matmul


@operation("LinalgSolveExBackward0", inputs=["A", "B"], joint=True, export=False, host=devices.linalg_solve)
def linalg_solve_op(A: Layout, B: Layout, *, left: bool = True) -> Any:
    """The solution ``X`` of ``A @ X = B``, or unless ``left`` of ``X @ A = B``.

    ``A`` is a matrix of shape (n, n) or a batch of them, of shape (*, n, n).  ``B`` is a matrix, (n, k) or unless
    ``left`` (k, n), or a batch of them; or a vector, (n), or a batch of them, which has the shape (*, n) that goes with
    that of ``A``.  Batches are broadcast.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the shapes do not fit, the dtypes differ, or are not floating-point or complex.
    """
    vectors = _are_vectors(A, B)
    shape = (*B.shape, 1) if vectors else B.shape
    check_square("linalg.solve", A)
    check_rank("linalg.solve", "B", shape)
    found = f"A of type {A.type.dtype.legacy} and B of type {B.type.dtype.legacy}"
    check_types(f"linalg.solve: Expected A and B to have the same dtype, but found {found} instead", A, B)
    n, (*batch, rows, columns) = A.shape[-1], shape
    if n != (rows if left else columns):
        equation = f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {rows}x{columns})"
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation {equation}")
    if vectors and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            f"linalg.solve is equivalent to B / A.squeeze(-1) {shapes_text(A, B)}"
        )
    out = (*broadcast_shapes(tuple(batch), A.shape[:-2]), *(B.shape[-1:] if vectors else B.shape[-2:]))
    turned = contiguous_strides((*out[:-2], *out[:-3:-1]))  # PyTorch's solutions lie column by column
    return layout_of(A.type, out, (*turned[:-2], *turned[:-3:-1]) if left else None)


@linalg_solve_op.gradient("A", "B")
def _(grad, A, out, left, needed):
    """``neg(solve(A.mH, grad) @ out.mH), solve(A.mH, grad)``."""
    gradient = columns = linalg_solve_op(adjoint(A), grad, left)
    if not needed[0]:
        return None, gradient
    if _are_vectors(A._layout, out._layout):
        columns, out = unsqueeze(gradient, -1), unsqueeze(out, -1)
    return neg(matmul(columns, adjoint(out)) if left else matmul(adjoint(out), columns)), gradient


@linalg_solve_op.batched
def _(A, B, left):
    if len(A._layout.shape) != len(B._layout.shape) + _are_vectors(A._layout, B._layout):
        return NotImplemented  # the examples' own batches are broadcast
    return linalg_solve_op(expanded(A), expanded(B), left)


def _are_vectors(A: Layout, B: Layout) -> bool:
    """Whether the right-hand sides are a vector, or as many as there are matrices."""
    return len(B.shape) == 1 or B.shape == A.shape[:-1]
