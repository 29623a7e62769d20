"""Systems of linear equations, and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import devices
from ...core.layout import Layout, broadcast_shapes, by_columns, layout_of
from ...tensors.tensor import Tensor
from ..batching.physical import expanded
from ..matrices.matmul import matmul
from ..matrices.products import check_types
from ..pointwise.arithmetic import neg
from ..reductions.axes import return_type
from ..shapes.dimensions import adjoint, movedim, unsqueeze
from ..shapes.views import reshape
from ..table.checks import check
from ..table.lookup import lookup, operation
from .matrices import check_square, first_of, reports


def _check_rank(parameter: str, shape: tuple[int, ...]) -> None:
    """Raise unless ``shape`` is that of a matrix, or of a batch of them.

    Raises:
        RuntimeError: there are fewer than two dimensions.
    """
    check(
        len(shape) >= 2,
        "linalg.solve: The input tensor {!s} must have at least 2 dimensions. (shape {})", parameter, shape,
    )


@operation(
    "LinalgSolveExBackward0", aten="linalg_solve_ex", inputs=["A", "B"], joint=True, extras=["info"],
    host=devices.lapack("linalg_solve"),
)
def linalg_solve_op(A: Layout, B: Layout, left: bool, check: str) -> Any:
    out = (*broadcast_shapes(A.shape[:-2], B.shape[: -1 if _are_vectors(A, B) else -2]), *_tail(A, B))
    if _are_vectors(A, B):
        return by_columns(A.type, out), reports(A)
    return by_columns(A.type, out) if left else layout_of(A.type, out), reports(A)


def _tail(A: Layout, B: Layout) -> tuple[int, ...]:
    return B.shape[-1:] if _are_vectors(A, B) else B.shape[-2:]


@linalg_solve_op.gradient("A", "B")
def _(grad, A, out, left, needed):
    """``neg(solve(A.mH, grad) @ out.mH), solve(A.mH, grad)``."""
    gradient = columns = linalg_solve_op(adjoint(A), grad, left, "")[0]
    if not needed[0]:
        return None, gradient
    if _are_vectors(A._layout, out._layout):
        columns, out = unsqueeze(gradient, -1), unsqueeze(out, -1)
    return neg(matmul(columns, adjoint(out)) if left else matmul(adjoint(out), columns)), gradient


@linalg_solve_op.batched
def _(A, B, left, check):
    if len(A._layout.shape) != len(B._layout.shape) + _are_vectors(A._layout, B._layout):
        return NotImplemented  # broadcasts the batches within the examples
    return linalg_solve_op(expanded(A), expanded(B), left, check)


def _are_vectors(A: Layout, B: Layout) -> bool:
    """Return True if the right-hand side is a vector, or a batch with one vector for each matrix."""
    return len(B.shape) == 1 or B.shape == A.shape[:-1]


def _check_system(A: Layout, B: Layout, left: bool) -> None:
    vectors = _are_vectors(A, B)
    shape = (*B.shape, 1) if vectors else B.shape
    check_square("linalg.solve", A)
    _check_rank("B", shape)
    message = "linalg.solve: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead"
    check_types(message, A, B)
    n, (*batch, rows, columns) = A.shape[-1], shape
    if n != (rows if left else columns):
        equation = f"{'AX = B' if left else 'XA = B'} ({n}x{n} and {rows}x{columns})"
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation {equation}")
    check(
        not vectors or left,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
        "linalg.solve is equivalent to B / A.squeeze(-1)", A, B,
    )
    broadcast_shapes(tuple(batch), A.shape[:-2])


@lookup(export=False, exact_out=True)
def linalg_solve(A: Layout, B: Layout, *, left: bool = True) -> Any:
    """The solution ``X`` of ``A @ X = B``, or of ``X @ A = B`` if ``left`` is False.

    ``A`` is a matrix of shape (n, n) or a batch of them, of shape (*, n, n).  ``B`` is a matrix, (n, k), or (k, n)
    if ``left`` is False, or a batch of them; or a vector, (n), or a batch of vectors whose shape (*, n) matches that of
    ``A``.  Batches are broadcast.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the shapes do not fit, or the dtypes differ or are not floating-point or complex.

    Example:
        >>> import numgrad
        >>> a, b = numgrad.tensor([[2.0, 0.0], [0.0, 4.0]]), numgrad.tensor([2.0, 2.0])
        >>> numgrad.linalg.solve(a, b)
        tensor([1.0000, 0.5000])
    """
    _check_system(A, B, left)
    return first_of(linalg_solve_op), (left, "torch.linalg.solve")


@lookup(export=False, results=return_type("linalg_solve_ex", "result", "info"), exact_out=True)
def linalg_solve_ex(A: Layout, B: Layout, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution of ``A @ X = B``, and for each matrix 0, or the position of a pivot that is zero.

    Raises:
        LinAlgError: a matrix is singular, and ``check_errors`` is True.
        RuntimeError: the shapes do not fit, or the dtypes differ or are not floating-point or complex.
    """
    _check_system(A, B, left)
    return linalg_solve_op, (left, "torch.linalg.solve_ex" if check_errors else "")


# -- inverses ---------------------------------------------------------------------------------------------------------


@operation(
    "LinalgInvExBackward0", aten="linalg_inv_ex", inputs=["A"], extras=["info"], dims=(),
    host=devices.lapack("linalg_inv"),
)
def linalg_inv_op(A: Layout, check: str) -> Any:
    return by_columns(A.type, A.shape), reports(A)


@linalg_inv_op.gradient("A")
def _(grad, out):
    """``-out.mH @ grad @ out.mH``."""
    return -(adjoint(out) @ grad @ adjoint(out))


@lookup(export=False, exact_out=True)
def linalg_inv(A: Layout) -> Any:
    """The inverses of square matrices.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the matrices are not square, or their elements are integers.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.inv(numgrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv", A)
    return first_of(linalg_inv_op), ("linalg.inv",)


@lookup(export=False, results=return_type("linalg_inv_ex", "inverse", "info"), exact_out=True)
def linalg_inv_ex(A: Layout, *, check_errors: bool = False) -> Any:
    """The inverses of square matrices, and for each matrix 0, or the position of a pivot that is zero.

    Raises:
        LinAlgError: a matrix is singular, and ``check_errors`` is True.
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    check_square("linalg.inv", A)
    return linalg_inv_op, ("linalg.inv_ex" if check_errors else "",)


@lookup(exact_out=True)
def inverse(input: Layout) -> Any:
    """The inverses of square matrices; see ``linalg.inv``.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the matrices are not square, or their elements are integers.
    """
    return linalg_inv.resolve(input)


@lookup(export=False)
def linalg_tensorinv(A: Layout, ind: int = 2) -> Any:
    """The inverse of a tensor as a map from its last dimensions to its first ``ind``; see ``linalg.tensorsolve``.

    Raises:
        LinAlgError: the map is singular.
        RuntimeError: the products of the sizes of the two parts differ, or ``ind`` is not positive.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.tensorinv(numgrad.eye(6).view(6, 2, 3), 1).shape
        torch.Size([2, 3, 6])
    """
    check(ind > 0, "Expected a strictly positive integer for 'ind'")
    rows, columns = A.shape[:ind], A.shape[ind:]
    size = math.prod(rows)
    check(
        size == math.prod(columns),
        "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {} != {}",
        math.prod(columns), size,
    )

    def inverse_of(A: Tensor) -> Tensor:
        return reshape(linalg_inv(reshape(A, (size, size))), (*columns, *rows))

    return inverse_of, ()


@lookup(export=False)
def linalg_tensorsolve(A: Layout, B: Layout, dims: Sequence[int] | None = None) -> Any:
    """The solution ``X`` of ``tensordot(A, X, X.ndim) = B``; the dimensions ``dims`` of ``A`` are moved to its end.

    Raises:
        LinAlgError: the map is singular.
        RuntimeError: the sizes do not fit.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.tensorsolve(numgrad.eye(6).view(2, 3, 6), numgrad.ones(2, 3)).shape
        torch.Size([6])
    """
    moved = tuple(dims or ())
    kept = [size for dim, size in enumerate(A.shape) if dim not in [d % len(A.shape) for d in moved]]
    shape = (*kept, *[A.shape[d] for d in moved])[len(B.shape) :]
    size = math.prod(B.shape)
    check(
        size == math.prod(shape),
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
        "got {} != {}", math.prod(shape), size,
    )

    def solution_of(A: Tensor, B: Tensor) -> Tensor:
        matrix = movedim(A, moved, tuple(range(-len(moved), 0))) if moved else A
        return reshape(linalg_solve(reshape(matrix, (size, size)), reshape(B, (size,))), shape)

    return solution_of, ()
