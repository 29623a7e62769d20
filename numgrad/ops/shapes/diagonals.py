"""Diagonals of matrices: reading, placing, summing them, and the triangles on either side."""

from __future__ import annotations

import operator
from typing import Any

from ...core.layout import Layout, layout_of, matrix_steps, normal_dim
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..memory.copying import contiguous_op
from ..memory.overwriting import fill_
from ..reductions.sums import sum_all
from ..table.checks import check, check_supported
from ..table.lookup import lookup, operation
from ..table.op import composite, public
from ..table.planned import Planned
from .broadcasting import expand_op
from .parts import add_to_part, in_zeros, narrow, overwrite_part, part_cleared
from .views import ravel
from .windows import as_strided


@operation("DiagonalBackward0", view=True, dims=["dim1", "dim2"])
def diagonal_op(input: Layout, offset: int, dim1: int, dim2: int) -> tuple[Layout, int]:
    shape, strides = input.shape, input.strides
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(shape[dim1] - down, shape[dim2] - right), 0)
    kept = [d for d in range(len(shape)) if d not in (dim1, dim2)]
    extents, steps = (*[shape[d] for d in kept], length), (*[strides[d] for d in kept], strides[dim1] + strides[dim2])
    start = down * strides[dim1] + right * strides[dim2] if length else 0
    return layout_of(input.type, extents, steps), start


@operation("DiagonalBackward0_copy", direct=True, linear=True, dims=["dim1", "dim2"])
def diagonal_copy(p: Plan, input: TensorRef, offset: int, dim1: int, dim2: int) -> TensorRef:
    return contiguous_op.build(p, input.viewed(*diagonal_op.prepare(input.layout, offset, dim1, dim2)))


@diagonal_op.gradient("input")
@diagonal_copy.gradient("input")
def _(grad, input_shape, offset, dim1, dim2):
    return diagonal_backward(grad, input_shape, offset, dim1, dim2)


@diagonal_op.accumulation
def _(total, grad, input_shape, offset, dim1, dim2):
    key = total._layout, grad._layout, diagonal_op, offset, dim1, dim2
    return add_to_part(total, grad, key, 1, diagonal_op, offset, dim1, dim2)


@operation(
    "DiagonalBackwardBackward0", direct=True, inputs=["grad_output"], linear=True, dims=["dim1", "dim2"],
    shapes=["shape"]
)
def diagonal_backward(
    p: Plan, grad_output: TensorRef, shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> TensorRef:
    """Return zeros of ``shape`` with the gradient on the diagonal."""
    part, start = diagonal_op.prepare(layout_of(grad_output.type, shape), offset, dim1, dim2)
    return in_zeros(p, grad_output, shape, part.strides, start)


@diagonal_backward.gradient("grad_output")
def _(grad, offset, dim1, dim2):
    return diagonal_op(grad, offset, dim1, dim2)


def two_dims(dim1: int, dim2: int, rank: int) -> tuple[int, int]:
    """Return two distinct dimensions counted from the front."""
    first, second = normal_dim(dim1, rank), normal_dim(dim2, rank)
    check(first != second, "diagonal dimensions cannot be identical {}, {}", dim1, dim2)
    return first, second


@lookup
def diagonal(input: Layout, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return the diagonals of the matrices in two dimensions, as a last dimension; a view.

    ``offset`` counts diagonals to the right of the main one (negative, below it).

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the two are the same.

    Example:
        >>> import numgrad
        >>> numgrad.diagonal(numgrad.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return diagonal_op, (offset, *two_dims(dim1, dim2, len(input.shape)))


@operation("DiagEmbedBackward0", direct=True, linear=True, dims=["dim1", "dim2"])
def diag_embed_op(p: Plan, input: TensorRef, offset: int, dim1: int, dim2: int) -> TensorRef:
    side = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, side)
    return diagonal_backward.build(p, input, tuple(shape), offset, dim1, dim2)


@diag_embed_op.gradient("input")
def _(grad, offset, dim1, dim2):
    return diagonal_op(grad, offset, dim1, dim2)


@lookup
def diag_embed(input: Layout, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Return matrices with the last dimension's elements on a diagonal and zeros elsewhere.

    Raises:
        IndexError: if there is no such dimension in the result.
        RuntimeError: if the two are the same.

    Example:
        >>> import numgrad
        >>> numgrad.diag_embed(numgrad.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    rank = len(input.shape) + 1 if input.shape else 0
    return diag_embed_op, (offset, *two_dims(dim1, dim2, rank))


@lookup
def diag(input: Layout, diagonal: int = 0) -> Any:
    """Return a matrix with a vector's elements on a diagonal; for a matrix, a copy of the diagonal.

    Raises:
        RuntimeError: if the tensor is neither a vector nor a matrix.

    Example:
        >>> import numgrad
        >>> numgrad.diag(numgrad.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> numgrad.diag(numgrad.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    rank = len(input.shape)
    check(rank in (1, 2), "diag(): Supports 1D or 2D tensors. Got {}D", rank, input)
    return diag_embed_op if rank == 1 else diagonal_copy, (diagonal, 0, 1)


@composite
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix with all elements of a tensor, flattened, on a diagonal.

    Example:
        >>> import numgrad
        >>> numgrad.diagflat(numgrad.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed_op(ravel(input), operator.index(offset), 0, 1)


@operation("TraceBackward0", public=True, linear=True)
def trace_op(p: Plan, input: TensorRef) -> TensorRef:
    """Return the sum of a matrix's diagonal; as int64 for integers.

    Raises:
        RuntimeError: if the tensor is not a matrix.

    Example:
        >>> import numgrad
        >>> numgrad.trace(numgrad.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    check(len(input.shape) == 2, "trace: expected a matrix, but got tensor with dim {}", len(input.shape), input)
    check_supported(input, "ifc", "trace")
    return sum_all.build(p, input.viewed(*diagonal_op.prepare(input.layout, 0, 0, 1)))


@trace_op.decomposed
def _(input):
    return sum_all(diagonal_op(input, 0, 0, 1))


@trace_op.gradient("input")
def _(grad, input_shape):
    return diagonal_backward(expand_op(grad, (min(input_shape),)), input_shape, 0, 0, 1)


@operation("DiagonalScatterBackward0", direct=True, changes="strided", inputs=["input", "src"], dims=["dim1", "dim2"])
def diagonal_scatter_op(p: Plan, input: TensorRef, src: TensorRef, offset: int, dim1: int, dim2: int) -> None:
    overwrite_part(p, input, src, *diagonal_op.prepare(input.layout, offset, dim1, dim2))


@diagonal_scatter_op.gradient("input")
def _(grad, offset, dim1, dim2):
    """``diagonal_scatter(grad, 0, offset, dim1, dim2)``."""
    return part_cleared(diagonal_scatter_op, diagonal_op, grad, offset, dim1, dim2)


@diagonal_scatter_op.gradient("src")
def _(grad, offset, dim1, dim2):
    return diagonal_op(grad, offset, dim1, dim2)


@lookup
def diagonal_scatter(input: Layout, src: Layout, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a copy of ``input`` with ``src`` written into its diagonal.

    ``src`` has the shape of ``input.diagonal(offset, dim1, dim2)``.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the two are the same, or ``src`` has another shape.

    Example:
        >>> import numgrad
        >>> numgrad.diagonal_scatter(numgrad.zeros(2, 2), numgrad.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return diagonal_scatter_op, (offset, *two_dims(dim1, dim2, len(input.shape)))


# -- triangles ----------------------------------------------------------------------------------------------------


def _triangle(name: str, node: str, where: str) -> Planned:
    """Return the operation that writes zeros above, or below, a diagonal of matrices."""
    above = where == "above"

    def decide(p: Plan, input: TensorRef, diagonal: int = 0) -> TensorRef:
        _check_matrices(name, input)
        out = p.new_tensor(layout_of(input.type, input.shape))
        if matrix_steps(input.layout, out.layout) is None:
            input = contiguous_op.build(p, input)
        p.backend.keep_triangle(p, input, out, _within(input, diagonal), above)
        return out

    decide.__name__ = f"{name}_op"
    decide.__doc__ = f"""Return matrices with zeros {where} a diagonal, counted from the main one to the right.

    Raises:
        RuntimeError: if the tensor has fewer than two dimensions.
    """
    op = operation(node, public=True, direct=True, dims=(), in_place=True)(decide)

    @op.changing
    def _(p: Plan, target: TensorRef, diagonal: int) -> None:
        _check_matrices(name, target)
        if matrix_steps(target.layout, target.layout) is None:
            p.assign(decide(p, target, diagonal), target)
        else:
            p.backend.keep_triangle(p, target, target, _within(target, diagonal), above)

    @op.gradient("input")
    def _(grad, diagonal):
        return op(grad, diagonal)

    return op


def _within(input: TensorRef, diagonal: int) -> int:
    """Return the diagonal, clamped to those next to the matrices, so that no sum overflows."""
    rows, columns = input.shape[-2:]
    return min(max(operator.index(diagonal), -rows), columns)


def _check_matrices(name: str, input: TensorRef) -> None:
    check(len(input.shape) >= 2, "{}: input tensor must have at least 2 dimensions", name, input)


tril_op, triu_op = _triangle("tril", "TrilBackward0", "above"), _triangle("triu", "TriuBackward0", "below")


@public(function=False)
def fill_diagonal_(input: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Overwrite the main diagonal with a number; with ``wrap``, also those that continue below it in a tall matrix.

    Raises:
        RuntimeError: if the tensor has fewer than two dimensions, or more of different sizes.
    """
    shape = input._layout.shape
    check(len(shape) >= 2, "dimensions must larger than 1", shape)
    if len(shape) > 2:
        check(len(set(shape)) <= 1, "all dimensions of input must be of equal length", shape)
        fill_(as_strided(input, shape[:1], (sum(input._layout.strides),)), fill_value)
        return input
    rows, columns = shape
    for start in range(0, rows, columns + 1) if wrap else (0,):
        fill_(diagonal(narrow(input, 0, start, rows - start)), fill_value)
    return input
