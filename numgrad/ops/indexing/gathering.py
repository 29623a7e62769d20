"""Reading at indices: one index for each element (``gather``), or for whole rows (``embedding``)."""

from __future__ import annotations

import functools
from typing import Any

from ... import devices
from ...autograd.grad_mode import state
from ...core.layout import Layout, broadcast_shapes, layout_of, normal_dim, numel
from ...core.types import TensorType, int32, int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor, tensor_of
from ..batching.batches import physical, size_of
from ..batching.examples import each
from ..batching.physical import aligned, expanded
from ..pointwise.arithmetic import mul, reciprocal
from ..pointwise.comparison import eq, where
from ..pointwise.integers import from_start
from ..shapes.broadcasting import expand_op
from ..shapes.dimensions import unsqueeze_op
from ..shapes.views import reshape
from ..table.arguments import Dim, OptionalDim
from ..table.checks import check
from ..table.lookup import lookup, operation
from .index import index_backward, index_op, index_put_op, indices_of_all
from .launchers import number_buffer, pick

# -- for each element --------------------------------------------------------------------------------------------


def along(shape: tuple[int, ...], dim: int) -> tuple[int, int]:
    """Return the extents of ``dim`` and of all dimensions inside it; a 0-d tensor counts as a vector of one element."""
    return (shape[dim], numel(shape[dim + 1 :])) if shape else (1, 1)


def _part(input: Layout, shape: tuple[int, ...], dim: int) -> Layout:
    """Return the part of a tensor that an index of ``shape`` reaches: outside ``dim``, no larger than the index."""
    extents = [
        min(extent, shape[d]) if d != dim and d < len(shape) else extent for d, extent in enumerate(input.shape)
    ]
    return layout_of(input.type, tuple(extents), input.strides)


def _sizes(part: Layout, index: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """Return the extents of ``dim`` in a part and in an index of this shape, and of all dimensions inside it."""
    length, inner = along(part.shape, dim)
    return length, along(index, dim)[0], inner


def check_index_dtype(index: Layout | TensorRef, name: str) -> None:
    """Raise unless the index is of int32 or int64, or empty.

    Raises:
        RuntimeError: if it is not.
    """
    if index.size and index.type.dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, not {index.type.dtype}")


def beyond(error: devices.OutOfBoundsError, input: Tensor, dim: int, *others: Any, **names: Any) -> RuntimeError:
    """Return the error for an index out of the bounds of a dimension."""
    dim = normal_dim(dim, len(input._layout.shape))
    return RuntimeError(f"index {error.index} is out of bounds for dimension {dim} with size {error.size}")


@operation(
    "GatherBackward0", direct=True, public=True, inputs=["input", "index"], nondifferentiable=["index"],
    linear=True, outside=beyond, order=["input", "dim", "index", "sparse_grad"],
)
def gather_op(p: Plan, input: TensorRef, index: TensorRef, dim: Dim, *, sparse_grad: bool = False) -> TensorRef:
    """Return the elements at ``index`` along ``dim``: ``out[i, j] = input[i, index[i, j]]`` for ``dim=1``.

    Args:
        index: int32 or int64, of the input's number of dimensions, no larger outside ``dim``; or empty.  The output
            has its shape.
        sparse_grad: ignored: gradients are dense.

    Raises:
        RuntimeError: if the index has another dtype or shape, or one of its elements is not in [0, size).

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([[1, 2], [3, 4]])
        >>> numgrad.gather(x, 1, numgrad.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """
    check_index_dtype(index, "gather")
    if not index.size:
        return p.new_tensor(layout_of(input.type, index.shape))
    check(
        max(len(index.shape), 1) == max(len(input.shape), 1),
        "Index tensor must have the same number of dimensions as input tensor (index {}, input {})", index, input,
    )
    for other, extent in enumerate(index.shape):
        if other != dim and extent > input.shape[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {dim}"
            )
    part = _part(input.layout, index.shape, dim)
    sizes = _sizes(part, index.shape, dim)
    devices.check_sizes(index.size, index.size, part.size, *sizes[:2])
    out = p.backend.gather_axis(p, p.contiguous(input.viewed(part)), p.contiguous(index, int64), *sizes)
    return p.tensor(out, input.type, index.shape)


@gather_op.gradient("input")
def _(grad, index, input_shape, dim):
    return scatter_zeros(grad, index, input_shape, dim)


@operation(
    "ScatterAddBackward0", aten="scatter_add", inputs=["src", "index"], nondifferentiable=["index"],
    dims=["dim"], shapes=["shape"],
)
def scatter_zeros(p: Plan, src: TensorRef, index: TensorRef, shape: tuple[int, ...], dim: int) -> TensorRef:
    """Return zeros of ``shape`` with the elements of ``src``, which has the index's shape, added at the index."""
    return scatter_new(p, src, index, shape, dim, "add")


@scatter_zeros.gradient("src")
def _(grad, index, dim):
    return gather_op(grad, index, dim)


def scatter_new(
    p: Plan, src: TensorRef, index: TensorRef, shape: tuple[int, ...], dim: int, mode: str
) -> TensorRef:
    """Add the steps that write to new zeros of ``shape``; see ``scatter_into``."""
    out = p.new_tensor(layout_of(src.type, shape), zeroed=True)
    scatter_into(p, out, index, src, dim, mode)
    return out


def scatter_into(p: Plan, target: TensorRef, index: TensorRef, src: Any, dim: int, mode: str) -> None:
    """Add the steps that overwrite a target at the index, or add, multiply, or take the larger or smaller.

    ``src`` has at least the index's shape, or one element, or is a number; ``mode`` is "set", "add", "multiply", "amax"
    or "amin".
    """
    if not index.size:
        return
    type, part = target.type, _part(target.layout, index.shape, dim)
    sizes = _sizes(part, index.shape, dim)
    if src.__class__ is TensorRef:
        values = p.contiguous(src.viewed(_part(src.layout, index.shape, -1)), type.dtype)
    else:
        values = number_buffer(p, src, type)
    devices.check_sizes(values.size, index.size, part.size, *sizes[:2])
    indices, written = p.contiguous(index, int64), target.viewed(part)
    buffer = p.contiguous(written)
    p.backend.scatter_axis(p, values, indices, buffer, *sizes, mode)
    if not part.contiguous:
        p.assign(p.tensor(buffer, type, part.shape), written)


@lookup
def take_along_dim(input: Layout, indices: Layout, dim: OptionalDim = None) -> Any:
    """Return the elements at ``indices`` along ``dim``.

    The input and the indices are broadcast against each other in the other dimensions.  Without ``dim`` both are
    flattened.  Along ``dim``, an index below 0 counts from the end.  ``take_along_dim(x, x.argsort(d), d)`` is ``x``
    sorted.

    Raises:
        RuntimeError: if the indices are not int64, have another number of dimensions, or are out of bounds.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([[3, 1, 2]])
        >>> numgrad.take_along_dim(x, numgrad.argsort(x), 1)
        tensor([[1, 2, 3]])
    """
    check(
        indices.type.dtype is int64,
        "torch.take_along_dim(): dtype of indices should be Long but got {}", indices.type.dtype.legacy,
    )
    if dim is None:
        return gather_op.public, (), lambda input, indices: (reshape(input, -1), 0, reshape(indices, -1))
    inputs, index_shape = input.shape, indices.shape
    rank = len(inputs)
    check(
        len(index_shape) == rank,
        "torch.take_along_dim(): input and indices should have the same number of dimensions, but got {} dimensions "
        "for input, and {} dimensions for indices", rank, len(index_shape),
    )
    ones = (1,) * min(rank, 1)
    shape = broadcast_shapes(inputs[:dim] + ones + inputs[dim + 1 :], index_shape[:dim] + ones + index_shape[dim + 1 :])
    sizes = [shape[:dim] + extents[dim : dim + 1] + shape[dim + 1 :] for extents in (inputs, index_shape)]
    return _broadcast_and_gather, (*sizes, dim)


def _broadcast_and_gather(input: Tensor, indices: Tensor, input_shape: Any, index_shape: Any, dim: int) -> Tensor:
    if input_shape != input._layout.shape or (state.mode and input._requires_grad):  # PyTorch always expands
        input = expand_op(input, input_shape)
    indices = from_start(indices, input_shape[dim] if input_shape else 1)
    if index_shape != indices._layout.shape:
        indices = expand_op(indices, index_shape)
    return gather_op.public(input, dim, indices)


# -- whole rows --------------------------------------------------------------------------------------------------


def _not_embedded(error: devices.OutOfBoundsError, weight: Tensor, *others: Any, **names: Any) -> IndexError:
    return IndexError(f"index out of range in self: {error.index}, of a weight of shape {list(weight.shape)}")


@operation(
    "EmbeddingBackward0", direct=True, public=True, inputs=["weight", "indices"], nondifferentiable=["indices"],
    linear=True, shared=["weight"], outside=_not_embedded, method=False,
)
def embedding_op(
    p: Plan, weight: TensorRef, indices: TensorRef, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> TensorRef:
    """Return rows of ``weight``: ``out[i, j] = weight[indices[i, j]]``.

    Args:
        weight: of shape (rows, columns).
        indices: int64 or int32, of any shape; the output has one dimension more.
        padding_idx: a row that gets no gradient; -1 for none.
        scale_grad_by_freq: if True, divide a row's gradient by the number of its indices.
        sparse: ignored: gradients are dense.

    Raises:
        IndexError: if an index is not in [0, rows).
        RuntimeError: if the weight is not a matrix, or the indices have another dtype.
    """
    check(len(weight.shape) == 2, "'weight' must be 2-D, not of shape {}", weight)
    check(
        indices.type.dtype in (int32, int64),
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {} "
        "instead (while checking arguments for embedding)", indices.type.name,
    )
    return pick(p, weight, indices, (0,), negative=False)


@embedding_op.batched
def _(weight, indices, padding_idx, scale_grad_by_freq, sparse=False):
    count, width = weight._layout.shape
    return index_op(reshape(physical(weight), (-1, width)), indices_of_all(indices, count, False), (0,), False)


@embedding_op.gradient("weight")
def _(grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
    return embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


@embedding_op.accumulation
def _(total, grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
    if 0 <= padding_idx < weight_shape[0] or scale_grad_by_freq:
        return False
    index_put_op.in_place(total, indices, grad, (0,), True, False)
    return True


@operation(
    "EmbeddingDenseBackwardBackward0", inputs=["grad_output", "indices"], nondifferentiable=["indices"], linear=True,
)
def embedding_dense_backward(
    p: Plan, grad_output: TensorRef, indices: TensorRef, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> TensorRef:
    """Return, for each row of the weight, the sum of the gradients at its uses, or with the scale their mean."""
    width = grad_output.shape[-1]
    out = index_backward.build(p, grad_output, indices, (num_weights, width), (0,), False)
    if scale_grad_by_freq:
        mul.op.build(p, out, _weights(p, indices, num_weights, out.type), into=out)
    if 0 <= padding_idx < num_weights:
        p.fill(p.contiguous(out).part(padding_idx * width, width), 0)
    return out


@embedding_dense_backward.batched
def _(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    grads, flat_indices = expanded(grad_output), indices_of_all(indices, num_weights)
    size, width = size_of(indices), grads._layout.shape[-1]
    if padding_idx >= 0:
        padding = eq(aligned(indices, len(indices._layout.shape)), padding_idx)
        grads = where(unsqueeze_op(padding, len(padding._layout.shape)), 0, grads)
    result = embedding_dense_backward(grads, flat_indices, size * num_weights, -1, scale_grad_by_freq)
    return reshape(result, (size, num_weights, width))


@embedding_dense_backward.gradient("grad_output")
def _(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    """``grad[indices]``, zeros for the padding, each over how often it occurs if ``scale_grad_by_freq``."""
    if scale_grad_by_freq:
        grad = mul(grad, _column(indices, num_weights, grad._layout.type))
    picked = index_op(grad, indices, (0,), False)
    if padding_idx < 0:
        return picked
    return where(unsqueeze_op(eq(indices, padding_idx), len(indices._layout.shape)), 0, picked)


@each
def _column(indices: Tensor, count: int, type: TensorType) -> Tensor:
    plan = _weights_plan(indices._layout, count, type)
    return tensor_of(plan.layout, plan(indices))


@functools.lru_cache(maxsize=256)
def _weights_plan(indices: Layout, count: int, type: TensorType) -> Plan:
    p = Plan(type.backend, type.device.index)
    return p.returns(_weights(p, p.operand(indices), count, type))


def _weights(p: Plan, indices: TensorRef, count: int, type: TensorType) -> TensorRef:
    """Add the steps for a column with the reciprocal of the number of occurrences of each of ``count`` indices."""
    counts = p.tensor(p.backend.counts(p, p.contiguous(indices, int64), count), type.with_dtype(int64), (count, 1))
    return reciprocal.op.build(p, p.tensor(p.contiguous(counts, type.dtype), type, (count, 1)))
