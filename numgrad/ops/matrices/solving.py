"""Systems of linear equations."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._layout import Layout, broadcast_shapes, contiguous_strides, layout_of
from ..._tensor import Tensor
from ..batches import expanded
from ..operation import operation
from ..pointwise.arithmetic import neg
from ..shapes.dimensions import adjoint
from ..shapes.views import expand_op, reshape, unsqueeze
from .checks import check_types, shapes_text
from .matmul import matmul

__all__ = ["linalg_solve_op"]


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
    own, other = A.type.dtype.legacy, B.type.dtype.legacy
    if not A.type.dtype.differentiable:
        raise _refused(f"Expected a floating point or complex tensor as input. Got {own}", A, B)
    check_types(
        f"linalg.solve: Expected A and B to have the same dtype, but found A of type {own} and B of type {other} "
        "instead", A, B,
    )
    vectors = _are_vectors(A, B)
    shape = (*B.shape, 1) if vectors else B.shape
    for name, extents in (("A", A.shape), ("B", shape)):
        if len(extents) < 2:
            raise _refused(f"The input tensor {name} must have at least 2 dimensions.", A, B)
    *_, n, m = A.shape
    *batch, rows, columns = shape
    if n != m:
        raise _refused(f"A must be batches of square matrices, but they are {n} by {m} matrices", A, B)
    if n != (rows if left else columns):
        equation = "AX = B" if left else "XA = B"
        raise _refused(
            f"Incompatible shapes of A and B for the equation {equation} ({n}x{n} and {rows}x{columns})", A, B
        )
    if vectors and not left:
        raise _refused(
            "Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is "
            "equivalent to B / A.squeeze(-1)", A, B,
        )
    out = (*broadcast_shapes(tuple(batch), A.shape[:-2]), *((n,) if vectors else (rows, columns)))
    return layout_of(A.type, out, _column_major(out) if left else None)


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
    vectors = _are_vectors(A._layout, B._layout)
    rank = max(len(A._layout.shape), len(B._layout.shape) + vectors)
    matrices, values = _of_rank(rank, expanded(A)), _of_rank(rank - vectors, expanded(B))
    return linalg_solve_op(matrices, expand_op(values, matrices._layout.shape[:-1]) if vectors else values, left)


def _of_rank(rank: int, examples: Tensor) -> Tensor:
    """Examples with dimensions of size 1 in front of each of them, so that it has ``rank`` dimensions."""
    size, *shape = examples._layout.shape
    return reshape(examples, (size, *(1,) * (rank - len(shape)), *shape))


def _are_vectors(A: Layout, B: Layout) -> bool:
    """Whether the right-hand sides are a vector, or as many as there are matrices."""
    return len(B.shape) == 1 or B.shape == A.shape[:-1]


def _column_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of matrices that lie column by column."""
    strides = contiguous_strides((*shape[:-2], *shape[:-3:-1]))
    return (*strides[:-2], *strides[:-3:-1])


def _refused(message: str, A: Layout, B: Layout) -> RuntimeError:
    return RuntimeError(f"linalg.solve: {message} {shapes_text(A, B)}")
