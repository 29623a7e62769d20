"""Reading and writing at flat indices: the operations behind ``x[indices]`` and ``index_put``; ``take`` and ``put``.

Under ``vmap`` the batch becomes one more dimension that the indices count along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import devices
from ...core.layout import Ints, all_dims, broadcasts, contiguous_strides, layout_of, numel
from ...core.types import int64
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import is_shared, physical, physical_of, size_of, zeros_with
from ..batching.physical import aligned, expanded
from ..creation.spaced import arange
from ..memory.copying import buffer_of, contiguous_op, convert, repeated_zero, zeros_of
from ..pointwise.arithmetic import add
from ..pointwise.comparison import choose, eq
from ..pointwise.integers import from_start
from ..shapes.broadcasting import expand_op
from ..shapes.dimensions import permute_op, unsqueeze_op
from ..shapes.views import reshape
from ..table.checks import check, check_index
from ..table.lookup import operation
from .launchers import index_begin, part_shape, pick, put


@operation("IndexBackward0", direct=True, inputs=["input", "flat_index"], nondifferentiable=["flat_index"], linear=True)
def index_op(p: Plan, input: TensorRef, flat_index: TensorRef, dims: Ints, distinct: bool) -> TensorRef:
    return pick(p, input, flat_index, dims)


@index_op.batched
def _(input, flat_index, dims, distinct):
    shape, rank = input._layout.shape, len(flat_index._layout.shape)
    if is_shared(input):
        part = index_op(physical(input), physical(flat_index), dims, False)
        first = index_begin(dims)
        return _row_major(permute_op(part, (first, *[d for d in range(len(part._layout.shape)) if d != first])))
    permuted = permute_op(expanded(input), _order(len(shape), dims))
    part = index_op(permuted, *_permuted_index(flat_index, shape, dims), distinct)
    return _row_major(permute_op(part, _inverse(_index_first(part, dims, rank))))


@index_op.gradient("input")
def _(grad, flat_index, input_shape, dims, distinct):
    return index_backward(grad, flat_index, input_shape, dims, distinct)


@index_op.accumulation
def _(total, grad, flat_index, input_shape, dims, distinct):
    index_put_op.in_place(total, flat_index, grad, dims, True, distinct)
    return True


def _indices(node: Any) -> tuple[Tensor | None, ...]:
    """Return the flat index as an index for each dimension or None, as PyTorch's node saves it.

    Raises:
        RuntimeError: if it was freed by an earlier backward.
    """
    saved = {**node.constants, **node.unpack()}
    flat_index, dims = saved["flat_index"], saved["dims"]
    if len(dims) == 1:
        return (*[None] * dims[0], flat_index)
    indices: list[Tensor | None] = [None] * (dims[-1] + 1 if dims else 0)
    for dim in reversed(dims):
        extent = saved["input_shape"][dim]
        indices[dim] = flat_index % extent
        flat_index = flat_index // extent
    return tuple(indices)


index_op.node_class._saved_indices = property(_indices)  # type: ignore[attr-defined]


@operation(
    "IndexPutImplBackward0", aten="index_put", inputs=["grad_output", "flat_index"], nondifferentiable=["flat_index"],
    linear=True,
)
def index_backward(
    p: Plan, grad_output: TensorRef, flat_index: TensorRef, shape: Ints, dims: Ints, distinct: bool
) -> TensorRef:
    """Return zeros of ``shape`` with the gradient added at the flat index."""
    out = p.new_tensor(layout_of(grad_output.type, shape), zeroed=True)
    put(p, out, flat_index, dims, grad_output, not distinct, distinct)
    return out


@index_backward.batched
def _(grad_output, flat_index, shape, dims, distinct):
    order = _order(len(shape), dims)
    wide, grads = (size_of(grad_output), *shape), expanded(grad_output)
    grads = permute_op(grads, _index_first(grads, dims, len(flat_index._layout.shape)))
    moved, along = _permuted_index(flat_index, shape, dims)
    return permute_op(index_backward(grads, moved, tuple([wide[d] for d in order]), along, distinct), _inverse(order))


@index_backward.gradient("grad_output")
def _(grad, flat_index, dims, distinct):
    return index_op(grad, flat_index, dims, distinct)


@operation(
    "IndexPutBackward0", direct=True, changes="strided", inputs=["input", "flat_index", "values"],
    nondifferentiable=["flat_index"]
)
def index_put_op(
    p: Plan, input: TensorRef, flat_index: TensorRef, values: TensorRef, dims: Ints, accumulate: bool, distinct: bool
) -> None:
    _check_shape(input, flat_index, values, dims)
    put(p, input, flat_index, dims, values, accumulate, distinct)


def _check_shape(input: TensorRef, flat_index: TensorRef, values: TensorRef, dims: Ints) -> None:
    """Raise unless values broadcast to the part at the flat index."""
    part = part_shape(input.shape, dims, flat_index.shape)
    check(
        broadcasts(values.shape, part),
        "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}", values, part,
    )


@index_put_op.batched
def _(input, flat_index, values, dims, accumulate, distinct):
    shape, rank = input._layout.shape, len(flat_index._layout.shape)
    order = _order(len(shape), dims)
    part = part_shape(shape, dims, flat_index._layout.shape)
    new_values = aligned(values, len(part))
    if is_shared(values):
        new_values = unsqueeze_op(new_values, 0)
    new_values = expand_op(new_values, (size_of(input), *part))
    new_values = permute_op(new_values, _index_first(new_values, dims, rank))
    moved, permuted = indices_of_all(flat_index, _count(shape, dims)), permute_op(expanded(input), order)
    return permute_op(index_put_op(permuted, moved, new_values, _indexed(dims), accumulate, distinct), _inverse(order))


@index_put_op.gradient("input")
def _(grad, flat_index, dims, accumulate, distinct):
    """``index_put(grad, flat_index, 0)``; ``grad`` itself where values were added."""
    if accumulate:
        return grad
    return index_put_op(grad, flat_index, zeros_of((), grad._layout.type), dims, False, distinct)


@index_put_op.gradient("values")
def _(grad, flat_index, input_shape, dims, accumulate, distinct):
    """``grad[index]``, 0 for values that later ones overwrote."""
    picked = index_op(grad, flat_index, dims, distinct)  # the engine sums over broadcast dimensions
    if accumulate or distinct or flat_index._layout.size < 2:
        return picked
    behind = len(picked._layout.shape) - index_begin(dims) - len(flat_index._layout.shape)
    last = writes_last(flat_index, _count(input_shape, dims))
    return choose(reshape(last, (*flat_index._layout.shape, *(1,) * behind)), picked, 0)


def writes_last(flat_index: Tensor, size: int) -> Tensor:
    """Return a mask of an index into ``size`` elements: True for its last occurrence, whose write persists."""

    def written(numbers: Tensor) -> Tensor:
        target = zeros_with((flat_index,), (size,), numbers._layout.type)
        return index_op(index_put_op.in_place(target, flat_index, numbers, (0,), False, False), flat_index, (0,), False)

    return stays(flat_index, written)


def stays(index: Tensor, written: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a mask of an index: True if no later write overwrites the value written there.

    ``written`` writes numbers, which have the index's shape, at the index, and returns the numbers there afterwards.
    """
    layout = index._layout
    numbers = reshape(arange(layout.size, device=index.device), layout.shape)
    return eq(written(numbers), numbers)


# -- under ``vmap`` -----------------------------------------------------------------------------------------------


def _order(rank: int, dims: Ints) -> Ints:
    """Return the order of a physical tensor's dimensions that puts ``dims`` of the examples right after the batch."""
    return (0, *[d + 1 for d in dims], *[d + 1 for d in range(rank) if d not in dims])


def _inverse(order: Ints) -> Ints:
    return tuple([order.index(d) for d in range(len(order))])


def _index_first(part: Tensor, dims: Ints, rank: int) -> Ints:
    """Return the order of a physical part's dimensions that puts the ``rank`` index dimensions after the batch."""
    first = index_begin(dims)
    return _order(len(part._layout.shape) - 1, tuple(range(first, first + rank)))


def _permuted_index(flat_index: Tensor, shape: Ints, dims: Ints) -> tuple[Tensor, Ints]:
    """Return the flat index in a physical tensor whose ``dims`` follow the batch, and the dimensions that it spans."""
    if is_shared(flat_index):
        return physical(flat_index), tuple(range(1, len(dims) + 1))
    return indices_of_all(flat_index, _count(shape, dims)), _indexed(dims)


def _count(shape: Ints, dims: Ints) -> int:
    return numel(tuple([shape[d] for d in dims]))


def indices_of_all(flat_index: Tensor, count: int, negative: bool = True) -> Tensor:
    """Return the flat indices of all examples, as indices into the whole batch; each example has ``count`` elements.

    Raises:
        OutOfBoundsError: if one is out of the bounds of its example, or is negative without ``negative``.
    """
    indices = expanded(flat_index)
    check_indices(flat_index, count, negative)
    indices = from_start(indices, count)
    starts = arange(indices._layout.shape[0], device=indices.device) * count
    return add(indices, reshape(starts, (indices._layout.shape[0], *(1,) * len(flat_index._layout.shape))))


def check_indices(index: Tensor, size: int, negative: bool) -> None:
    """Raise unless all indices are within ``size``; if ``negative`` is True, they may count from the end.

    Raises:
        OutOfBoundsError: if one is not.
    """
    buffer = buffer_of(convert(physical_of(index), int64))
    wrong = index._layout.type.backend.outside(buffer, -size if negative else 0, size)
    if wrong is not None:
        raise devices.OutOfBoundsError(wrong, size)


def _indexed(dims: Ints) -> Ints:
    """Return the batch dimension and the indexed ones, which follow it."""
    return tuple(range(len(dims) + 1))


def _row_major(part: Tensor) -> Tensor:
    """Return a physical part in row-major order, as without ``vmap``: later operations may view its memory."""
    return part if part._layout.strides == contiguous_strides(part._layout.shape) else contiguous_op(part)


# -- of the flattened tensor -------------------------------------------------------------------------------------


def _not_flat(error: devices.OutOfBoundsError, *others: Any, **names: Any) -> IndexError:
    return IndexError(f"out of range: tried to access index {error.index} on a tensor of {error.size} elements.")


def _check_flat_index(input: TensorRef, index: TensorRef, name: str) -> None:
    if index.type.dtype is not int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.type.dtype.legacy}")
    if not input.size and index.size:
        raise IndexError(f"{name}(): tried to {'put elements into' if name == 'put_' else 'take from'} an empty tensor")


@operation(
    "TakeBackward0", direct=True, public=True, inputs=["input", "index"], nondifferentiable=["index"], linear=True,
    outside=_not_flat,
)
def take_op(p: Plan, input: TensorRef, index: TensorRef) -> TensorRef:
    """Return the elements at the indices, of any shape, of the flattened tensor.

    Raises:
        IndexError, RuntimeError: if the index is not int64, or one of its elements is not in [-count, count).

    Example:
        >>> import numgrad
        >>> numgrad.take(numgrad.tensor([[1, 2], [3, 4]]), numgrad.tensor([0, 3]))
        tensor([1, 4])
    """
    _check_flat_index(input, index, "take")
    return pick(p, input, index, all_dims(input.shape))


@take_op.decomposed
def _(input, index):
    return index_op(reshape(input, (input._layout.size,)), index, (0,), False)


@take_op.gradient("input")
def _(grad, index, input_shape):
    """``put(zeros(input_shape), index, grad, accumulate=True)``."""
    return put_op(repeated_zero(input_shape, grad._layout.type), index, grad, True)


@operation(
    "PutBackward0", changes="strided", inputs=["input", "index", "source"], nondifferentiable=["index"], public=True,
    in_place=True, outside=_not_flat,
)
def put_op(p: Plan, input: TensorRef, index: TensorRef, source: TensorRef, accumulate: bool = False) -> Any:
    """Return a copy with the elements of ``source`` written or added at the indices of the flattened tensor.

    Raises:
        IndexError, RuntimeError: if the index does not fit, or the source has another dtype or number of elements.
    """
    _check_flat_index(input, index, "put_")
    check_index(
        source.size == index.size,
        "put_(): Expected source and index to have the same number of elements, but got source.numel() = {}, "
        "index.numel() = {}", source.size, index.size,
    )
    dtype, source_dtype = input.type.dtype, source.type.dtype
    check(
        source_dtype is dtype,
        "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
        dtype, source_dtype,
    )
    values = p.tensor(p.contiguous(source), source.type, index.shape)
    put(p, input, index, all_dims(input.shape), values, accumulate, False)


@put_op.gradient("input")
def _(grad, index, accumulate):
    """``put(grad, index, 0)``; ``grad`` itself where values were added."""
    return grad if accumulate else put_op(grad, index, zeros_of(index._layout.shape, grad._layout.type), False)


@put_op.gradient("source")
def _(grad, index, input_shape, source_shape, accumulate):
    """``take(grad, index)``, 0 for elements that later ones overwrote."""
    grad_source = take_op(grad, index)
    if not accumulate and index._layout.size > 1:
        grad_source = choose(writes_last(index, numel(input_shape)), grad_source, 0)
    return reshape(grad_source, source_shape)
