"""Reading at indices: for each element of its own (``gather``), or whole rows (``embedding``)."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._layout import broadcast_shapes, normal_dim, numel
from ..._tensor import Tensor, fresh
from ..._types import TensorType, int32, int64
from ..arguments import checked
from ..batches import physical_of
from ..copying import contiguous, convert, row_of, write
from ..examples import each
from ..new import filled_of, zeros_of
from ..pointwise.arithmetic import mul, reciprocal
from ..shapes.parts import slice_op
from ..shapes.views import expand, reshape
from ..table import check_tensors, operation, public
from .advanced import index_backward, index_op
from .places import pick

__all__ = [
    "along", "check_index_dtype", "check_within", "embedding", "embedding_dense_backward", "gather", "gather_op",
    "narrowed", "scatter_into", "scatter_zeros", "take_along_dim",
]

# -- for each element --------------------------------------------------------------------------------------------


def along(shape: tuple[int, ...], dim: int) -> tuple[int, int]:
    """The extents of ``dim`` and of all that is inside it; a 0-d tensor counts as one of one element."""
    return (shape[dim], numel(shape[dim + 1 :])) if shape else (1, 1)


def narrowed(input: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """The part of a tensor that an index of ``shape`` reaches: no more elements than it has outside ``dim``."""
    for other, extent in enumerate(shape):
        if other != dim and other < len(input._layout.shape) and input._layout.shape[other] > extent:
            input = slice_op.function(input, other, 0, extent, 1)
    return input


@operation("GatherBackward0", inputs=["input", "index"], nondifferentiable=["index"], linear=True, dims=["dim"])
def gather_op(input: Tensor, index: Tensor, dim: int) -> Tensor:
    part = contiguous(narrowed(input, index._layout.shape, dim))
    length, inner = along(part._layout.shape, dim)
    width, _ = along(index._layout.shape, dim)
    row = devices.gather_axis(part._flat, row_of(index), length, width, inner)
    return fresh(row, index._layout.shape, input._layout.type)


@gather_op.gradient("input")
def _(grad, index, input_shape, dim):
    return scatter_zeros(grad, index, input_shape, dim)


@operation("ScatterAddBackward0", inputs=["src", "index"], nondifferentiable=["index"], dims=["dim"], shapes=["shape"])
def scatter_zeros(src: Tensor, index: Tensor, shape: tuple[int, ...], dim: int) -> Tensor:
    """Zeros of ``shape`` with the elements of ``src``, which has the index's shape, added where it points."""
    out = zeros_of(shape, src._layout.type)
    scatter_into(out, index, src, dim, "add")
    return out


@scatter_zeros.gradient("src")
def _(grad, index, dim):
    return gather_op(grad, index, dim)


def scatter_into(target: Tensor, index: Tensor, src: Tensor, dim: int, mode: str) -> None:
    """Write to ``target``, or add, multiply, or take the larger or smaller, where the index points.

    ``src`` has the index's shape, or one element; ``mode`` is "set", "add", "multiply", "amax" or "amin".
    """
    part = narrowed(target, index._layout.shape, dim)
    whole = contiguous(part)
    length, inner = along(part._layout.shape, dim)
    width, _ = along(index._layout.shape, dim)
    sizes = length, width, inner
    places = row_of(index)
    values = row_of(src)
    if mode in ("amax", "amin"):
        devices.scatter_extremes(values, places, whole._flat, *sizes, mode == "amax")
    else:
        devices.scatter_axis(values, places, whole._flat, *sizes, mode)
    if whole is not part:
        write(part, whole)


def check_index_dtype(index: Any, name: str) -> Tensor:
    """The index as int64.

    Raises:
        TypeError, RuntimeError: it is no tensor of int32 or int64.
    """
    if index.dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, not {index.dtype}")
    return convert(index, int64)


def check_within(index: Tensor, dim: int, size: int, low: int = 0) -> None:
    """Raise unless all indices are in [low, size).

    Raises:
        RuntimeError: one is not.
    """
    wrong = devices.outside(row_of(physical_of(index)), low, size, again=True)
    if wrong is not None:
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


@checked
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements at ``index`` along ``dim``: ``out[i, j] = input[i, index[i, j]]`` for ``dim=1``, and so on.

    Args:
        index: int32 or int64, of the input's number of dimensions, no larger outside ``dim``; the output has its
            shape.
        sparse_grad: ignored: gradients are dense.

    Raises:
        RuntimeError: the index has another dtype or shape, or one of it is not in [0, size).
    """
    index = check_index_dtype(index, "gather")
    rank = len(input._layout.shape)
    dim = normal_dim(dim, rank)
    if max(len(index._layout.shape), 1) != max(rank, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor "
            f"(index {list(index.shape)}, input {list(input.shape)})"
        )
    for other, extent in enumerate(index._layout.shape):
        if other != dim and extent > input._layout.shape[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {dim}"
            )
    check_within(index, dim, along(input._layout.shape, dim)[0])
    return gather_op(input, index, dim)


@checked
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at ``indices`` along ``dim``, the two broadcast against each other in the other dimensions.

    Without ``dim`` both are flattened.  ``take_along_dim(x, x.argsort(d), d)`` is ``x`` sorted.

    Raises:
        RuntimeError: the indices are not int64, have another number of dimensions, or lead outside.
    """
    if indices.dtype is not int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy}"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    own, wanted = input._layout.shape, indices._layout.shape
    rank = len(own)
    if len(wanted) != rank:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{rank} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    dim = normal_dim(dim, rank)
    if not rank:
        return gather(input, dim, indices)
    ones = (1,)
    shape = broadcast_shapes(own[:dim] + ones + own[dim + 1 :], wanted[:dim] + ones + wanted[dim + 1 :])
    sizes = [shape[:dim] + extents[dim : dim + 1] + shape[dim + 1 :] for extents in (own, wanted)]
    return gather(expand(input, sizes[0]), dim, expand(indices, sizes[1]))


# -- whole rows --------------------------------------------------------------------------------------------------


@operation("EmbeddingBackward0", inputs=["weight", "indices"], nondifferentiable=["indices"], linear=True)
def embedding_op(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    return pick(weight, indices, (0,))


@embedding_op.gradient("weight")
def _(grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
    return embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@operation(
    "EmbeddingDenseBackwardBackward0", inputs=["grad_output", "indices"], nondifferentiable=["indices"], linear=True,
)
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """For each row of the weight the sum of the gradients of where it is used, or with the scale their mean."""
    shape = num_weights, grad_output._layout.shape[-1]
    total = index_backward(grad_output, indices, shape, (0,), False)
    return _scaled(total, indices, padding_idx, scale_grad_by_freq)


@embedding_dense_backward.gradient("grad_output")
def _(grad, indices, padding_idx, scale_grad_by_freq):
    """``grad[indices]``, without the rows of the padding, each over how often it occurs if ``scale_grad_by_freq``."""
    return index_op(_scaled(grad, indices, padding_idx, scale_grad_by_freq), indices, (0,), False)


def _scaled(rows: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """The rows divided by the number of their indices, if wanted, and that of ``padding_idx`` set to zero."""
    count = rows._layout.shape[0]
    padded = 0 <= padding_idx < count
    if not padded and not scale_grad_by_freq:
        return rows
    if not scale_grad_by_freq:
        factors = filled_of((count, 1), 1, rows._layout.type)
    else:
        factors = _frequencies(indices, count, rows._layout.type)
    if padded:
        factors[padding_idx] = 0
    return mul(rows, factors)


@each
def _frequencies(indices: Tensor, count: int, type: TensorType) -> Tensor:
    """A column with 1 divided by how often each of ``count`` indices occurs."""
    counts = devices.counts(row_of(indices), count)
    return reciprocal(convert(fresh(counts, (count, 1), indices._layout.type), type.dtype))


@checked
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Rows of ``weight``: ``out[i, j] = weight[indices[i, j]]``.

    Args:
        weight: of shape (rows, columns).
        indices: int64 or int32, of any shape; the output has one dimension more.
        padding_idx: a row that gets no gradient; -1 for none.
        scale_grad_by_freq: whether a row's gradient is divided by the number of its indices.
        sparse: ignored: gradients are dense.

    Raises:
        IndexError: an index is not in [0, rows).
        RuntimeError: the weight is no matrix, or the indices have another dtype.
    """
    check_tensors("embedding", weight=weight, indices=indices)
    if len(weight._layout.shape) != 2:
        raise RuntimeError(f"'weight' must be 2-D, not of shape {list(weight.shape)}")
    if indices.dtype not in (int32, int64):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices._layout.type.name} instead (while checking arguments for embedding)"
        )
    indices = convert(indices, int64)
    wrong = devices.outside(row_of(physical_of(indices)), 0, weight._layout.shape[0])
    if wrong is not None:
        raise IndexError(f"index out of range in self: {wrong}, of a weight of shape {list(weight.shape)}")
    return embedding_op(weight, indices, padding_idx, scale_grad_by_freq)


public(embedding, method=False)
public(gather)
public(take_along_dim)
