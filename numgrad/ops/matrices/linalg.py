"""Linear algebra composed of matrix products: tensordot, inner, outer, kron and chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...core.layout import Layout, layout_of, normal_dim, normal_dims, numel
from ...tensors.tensor import Tensor, check_one_device, tensor_of
from ..memory.copying import contiguous
from ..pointwise.arithmetic import mul, sub
from ..reductions.sums import sum as sum_of
from ..shapes.dimensions import permute_op
from ..shapes.rearranging import roll
from ..shapes.views import reshape, unsafe_view, view
from ..table.autocasting import autocasting
from ..table.checks import check
from ..table.lookup import lookup
from ..table.op import check_tensors, composite
from .matmul import matmul
from .products import check_types, dot, mm, shapes_text


def _axes(dims: Any, ranks: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Return the dimensions of the two tensors to sum over."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        check(dims >= 0, "tensordot expects dims >= 0, but got dims={}", dims)
        check(dims <= min(ranks), "tensordot expects dims < ndim_a or ndim_b, but got dims={}", dims)
        return list(range(-dims, 0)), list(range(dims))
    first, second = [[d] if isinstance(d, int) else list(d) for d in dims]
    check(len(first) == len(second), "both dimension lists should have same length (got {} and {})", first, second)
    return first, second


@composite(method=False)
@autocasting
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over pairs of dimensions: the last ``dims`` of one tensor and the first of the other, or
    those in two sequences.  The result has the other dimensions of the first tensor, then those of the second.

    Raises:
        RuntimeError: the sizes of paired dimensions or the dtypes differ, or a dimension is repeated.

    Example:
        >>> import numgrad
        >>> numgrad.tensordot(numgrad.ones(2, 3), numgrad.ones(3, 4), 1).shape
        torch.Size([2, 4])
    """
    a_shape, b_shape = a._layout.shape, b._layout.shape
    ranks = len(a_shape), len(b_shape)
    axes = _axes(dims, ranks)
    if a._layout.type is not b._layout.type:
        check_one_device(a, b)
        shapes = shapes_text(a._layout, b._layout)
        raise RuntimeError(f"both inputs should have same dtype (got {a.dtype} and {b.dtype}, {shapes})")
    first, second = [
        [normal_dim(d, rank) for d in axis] for axis, rank in zip(axes, ranks, strict=True)
    ]
    lonely: tuple[list[int], list[int]] = ([], [])  # of size 1 in the other tensor only: summed beforehand
    summed = 1
    for x, y, name, other in zip(first, second, *axes, strict=True):
        if b_shape[y] == 1 != a_shape[x]:
            lonely[0].append(x)
        elif a_shape[x] == 1 != b_shape[y]:
            lonely[1].append(y)
        elif a_shape[x] != b_shape[y]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a_shape[x]} in dim {name} and second has "
                f"size {b_shape[y]} in dim {other}"
            )
        else:
            summed *= a_shape[x]
    for contracted, rank in zip((first, second), ranks, strict=True):
        normal_dims(contracted, rank)  # raises if one is repeated
    a, b = [sum_of(x, tuple(d), keepdim=True, dtype=x.dtype) if d else x for x, d in zip((a, b), lonely, strict=True)]
    kept = [[d for d in range(r) if d not in contracted] for r, contracted in zip(ranks, (first, second), strict=True)]
    shape = (*[a._layout.shape[d] for d in kept[0]], *[b._layout.shape[d] for d in kept[1]])
    rows, columns = [numel(tuple([x._layout.shape[d] for d in k])) for x, k in zip((a, b), kept, strict=True)]
    left = reshape(permute_op(a, (*kept[0], *first)), (rows, summed))
    right = reshape(permute_op(b, (*second, *kept[1])), (summed, columns))
    return reshape(mm(left, right), shape)


@composite
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products over the last dimensions; if one tensor is 0-d, the elementwise product.

    Raises:
        RuntimeError: the last sizes differ.

    Example:
        >>> import numgrad
        >>> numgrad.inner(numgrad.tensor([1.0, 2.0]), numgrad.tensor([3.0, 4.0]))
        tensor(11.)
    """
    check_tensors("inner", input=input, other=other)
    if not input._layout.shape or not other._layout.shape:
        return mul(input, other)
    check(
        input._layout.shape[-1] == other._layout.shape[-1],
        "inner() the last dimension must match on both input tensors but got shapes {} and {}", input, other,
    )
    if len(input._layout.shape) == len(other._layout.shape) == 1:
        return view(dot(permute_op(input, (0,)), permute_op(other, (0,))), ())
    return tensordot(input, other, [[-1], [-1]])


@lookup(names=["ger"])
def outer(input: Layout, vec2: Layout) -> Any:
    """The outer product of two vectors.

    Raises:
        RuntimeError: an argument is not a vector.

    Example:
        >>> import numgrad
        >>> numgrad.outer(numgrad.tensor([1, 2]), numgrad.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    for name, vector in (("self", input), ("vec2", vec2)):
        if len(vector.shape) != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {len(vector.shape)}-D {shapes_text(input, vec2)}"
            )
    return _outer, (layout_of(input.type, (*input.shape, 1), (*input.strides, 1)),)


def _outer(input: Tensor, vec2: Tensor, column: Layout) -> Tensor:
    """Return the product with the vector as a column; the column is a view only if it is recorded."""
    mode = state.mode
    if mode & GRAD or mode > ORDINARY:
        return mul(reshape(input, column.shape), vec2)
    return mul(tensor_of(column, input._storage, input._offset), vec2)


@composite
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: blocks of the second tensor, scaled by each element of the first.

    Example:
        >>> import numgrad
        >>> numgrad.kron(numgrad.tensor([1, 10]), numgrad.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
    """
    rank = max(len(input._layout.shape), len(other._layout.shape))
    shapes = [(1,) * (rank - len(x._layout.shape)) + x._layout.shape for x in (input, other)]
    left = tuple([size for extent in shapes[0] for size in (extent, 1)])
    right = tuple([size for extent in shapes[1] for size in (1, extent)])
    product = mul(view(input, left), view(other, right))
    return unsafe_view(contiguous(product), tuple([x * y for x, y in zip(*shapes, strict=True)]))


@composite(method=False, takes_out=True)
@autocasting
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices, in the cheapest order of multiplication.

    Raises:
        RuntimeError: there are no matrices, one does not have two dimensions, or the shapes do not fit.

    Example:
        >>> import numgrad
        >>> numgrad.chain_matmul(numgrad.ones(1, 2), numgrad.ones(2, 3), numgrad.ones(3, 1))
        tensor([[6.]])
    """
    check(matrices, "chain_matmul(): Expected one or more matrices")
    for number, matrix in enumerate(matrices):
        if len(matrix._layout.shape) != 2:
            raise RuntimeError(
                f"Tensor dimension is {matrix.dim()}, expected 2 instead. {shapes_text(*[m._layout for m in matrices])}"
            )
        if number and matrices[number - 1]._layout.shape[1] != matrix._layout.shape[0]:
            shapes = [list(m._layout.shape) for m in matrices[number - 1 : number + 1]]
            raise RuntimeError(
                f"multi_dot(): tensors {number - 1} and {number} with shapes {shapes[0]} and {shapes[1]} cannot be "
                "multiplied"
            )
    sizes = [m._layout.shape[0] for m in matrices] + [matrices[-1]._layout.shape[1]]
    splits = _cheapest_splits(sizes)

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        middle = splits[first, last]
        return matmul(product(first, middle), product(middle + 1, last))

    return product(0, len(matrices) - 1)


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where to split each run of matrices ``first .. last``; the n-th has shape ``sizes[n : n + 2]``."""
    count = len(sizes) - 1
    cost = {(n, n): 0 for n in range(count)}
    splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            choices = [
                (cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1], k)
                for k in range(first, last)
            ]
            cost[first, last], splits[first, last] = min(choices)
    return splits


@composite
@autocasting
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three elements along a dimension, by default the first of size 3.

    Raises:
        IndexError: the dimension is out of range.
        RuntimeError: no dimension has size 3, it has another size in one of the tensors, or the ranks or dtypes differ.

    Example:
        >>> import numgrad
        >>> numgrad.cross(numgrad.tensor([1, 0, 0]), numgrad.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    shape = input._layout.shape
    rank = len(shape)
    same = rank == len(other._layout.shape)
    check(same, "linalg.cross: inputs must have the same number of dimensions.", input, other)
    check_types("expected scalar type {} but found {}", input._layout, other._layout)
    if dim is None:
        check(3 in shape, "no dimension of size 3 in input", input, other)
        dim = shape.index(3)
    dim = normal_dim(dim, rank)
    fit = shape[dim] == 3 == other._layout.shape[dim]
    check(fit, "linalg.cross: inputs dimension {} must have length 3.", dim, input, other)
    after, before = [roll(input, shift, dim) for shift in (-1, 1)]
    return sub(mul(after, roll(other, 1, dim)), mul(before, roll(other, -1, dim)))
