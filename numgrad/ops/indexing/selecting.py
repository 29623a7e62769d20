"""Reading and writing at a vector of indices of one dimension: ``index_select``, ``index_add`` and their relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import devices
from ...core.device import CPU
from ...core.layout import Layout, layout_of, normal_dim
from ...core.types import int64
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor, fresh
from ..batching.batches import is_mapped
from ..matrices.products import times
from ..memory.copying import buffer_of, repeated_zero, zeros_of
from ..memory.overwriting import as_number
from ..pointwise.arithmetic import conj, mul
from ..pointwise.comparison import choose, ne
from ..shapes.views import reshape
from ..table.arguments import Dim
from ..table.checks import check, check_index
from ..table.lookup import lookup, operation
from ..table.op import public, public_functions
from ..table.operands import check_apart
from .gathering import beyond, check_index_dtype
from .index import check_indices, index_backward, index_op, index_put_op, writes_last
from .launchers import check_held, number_as, number_in, pick, put

# -- the entries: ``dim`` is not negative, the index is a checked vector, or 0-d for a 0-d tensor ----------------------


def _dims(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (dim,) if shape else ()


def _vector(input: Layout | TensorRef, index: Layout | TensorRef, message: str) -> None:
    """Raise unless an index has at most one dimension, and one element for a 0-d tensor."""
    check_index(len(index.shape) <= 1, "{}", message, index)
    check(input.shape or index.size == 1, "Index to scalar can have only 1 value, got {} value(s)", index.size, index)


@operation(
    "IndexSelectBackward0", direct=True, public=True, inputs=["input", "index"], nondifferentiable=["index"],
    linear=True, order=["input", "dim", "index"], outside=lambda error, *args, **names: RuntimeError(
        f"INDICES element is out of DATA bounds, id={error.index} axis_dim={error.size}"
    ),
)
def index_select_op(p: Plan, input: TensorRef, index: TensorRef, dim: Dim) -> TensorRef:
    """Return a copy of the tensor's parts at the indices of one dimension, in the order of the indices.

    Args:
        index: a vector of int64 or int32.

    Raises:
        IndexError, RuntimeError: if the index is not a vector, or one of its elements is not in [0, size).

    Example:
        >>> import numgrad
        >>> numgrad.index_select(numgrad.tensor([[1, 2], [3, 4]]), 1, numgrad.tensor([1, 1]))
        tensor([[2, 2],
                [4, 4]])
    """
    check_index_dtype(index, "index_select")
    _vector(input, index, "index_select(): Index is supposed to be a vector")
    shape = (index.size,) if input.shape else ()
    return pick(p, input, index, _dims(input.shape, dim), shape, negative=False, row_major=True)


@index_select_op.decomposed
def _(input, index, dim):
    row = _as_1d(input)
    check_indices(index, row._layout.shape[dim], False)
    selected = index_op(row, _as_1d(index), (dim,), False)
    return selected if input._layout.shape else reshape(selected, ())


def _as_1d(input: Tensor) -> Tensor:
    return input if input._layout.shape else reshape(input, (1,))


def _written(
    input: Tensor, index: Tensor, values: Tensor, dim: int, accumulate: bool, negative: bool = False
) -> Tensor:
    """Return the input with values written, or added, at the indices of a dimension, by operations of the table."""
    if not input._layout.shape:
        return reshape(_written(_as_1d(input), index, values, 0, accumulate, negative), ())
    check_indices(index, input._layout.shape[dim], negative)
    return index_put_op(input, _as_1d(index), values, (dim,), accumulate, False)


@index_select_op.gradient("input")
def _(grad, dim, index, input_shape):
    """``index_add(zeros(input_shape), index, grad, dim)``."""
    if input_shape and index._layout.shape:  # zeros that need no copy
        return index_backward(grad, index, input_shape, (dim,), False)
    return index_add_op(repeated_zero(input_shape, grad._layout.type), index, grad, dim, 1)


@index_select_op.accumulation
def _(total, grad, dim, index, input_shape):
    index_add_op.in_place(total, index, grad, dim, 1)
    return True


def _write(
    p: Plan, input: TensorRef, index: TensorRef, source: Any, dim: int, accumulate: bool = False, negative: bool = False
) -> None:
    """Add the steps that write or add a source, a tensor or a number, at the indices of one dimension."""
    shape = (index.size,) if input.shape else ()
    put(p, input, index, _dims(input.shape, dim), source, accumulate, False, shape, negative)


@operation(
    "IndexAddBackward0", changes="contiguous", inputs=["input", "index", "source"], nondifferentiable=["index"],
    passed=["input"],
)
def index_add_op(p: Plan, input: TensorRef, index: TensorRef, source: TensorRef, dim: int, alpha: Any) -> None:
    if alpha != 1:
        source = mul.op.build(p, source, number_in(alpha, input.type))
    _write(p, input, index, source, dim, True)


@index_add_op.decomposed
def _(input, index, source, dim, alpha):
    return _written(input, index, times(source, alpha), dim, True)


@index_add_op.gradient("source")
def _(grad, dim, index, alpha):
    """``alpha * index_select(grad, index, dim)``."""
    picked = index_select_op(grad, index, dim)
    return picked if alpha == 1 else mul(picked, conj(alpha))


@operation(
    "IndexCopyBackward0", direct=True, changes="contiguous", inputs=["input", "index", "source"],
    nondifferentiable=["index"]
)
def index_copy_op(p: Plan, input: TensorRef, index: TensorRef, source: TensorRef, dim: int) -> None:
    _write(p, input, index, source, dim)


@index_copy_op.decomposed
def _(input, index, source, dim):
    return _written(input, index, source, dim, False)


@index_copy_op.gradient("source")
def _(grad, dim, index, input_shape):
    """``index_select(grad, index, dim)``, 0 for parts that later ones overwrote."""
    picked = index_select_op(grad, index, dim)
    if index._layout.size < 2:
        return picked
    last = writes_last(index, input_shape[dim])
    return choose(reshape(last, (index._layout.size, *(1,) * (len(input_shape) - dim - 1))), picked, 0)


@operation(
    "IndexFillBackward0", direct=True, changes="strided", inputs=["input", "index"], nondifferentiable=["index"],
    numbers=["value"]
)
def index_fill_number(p: Plan, input: TensorRef, index: TensorRef, dim: int, value: Given) -> None:
    _fill(p, input, index, value, dim)


@index_fill_number.decomposed
def _(input, index, dim, value):
    return _written(input, index, number_as(value, input._layout.type), dim, False, True)


@operation(
    "IndexFillBackward1", direct=True, changes="strided", inputs=["input", "index", "value"],
    nondifferentiable=["index"]
)
def index_fill_tensor(p: Plan, input: TensorRef, index: TensorRef, value: TensorRef, dim: int) -> None:
    p.call(check_held, Given(value.memory.number), input.type.dtype)
    _fill(p, input, index, value, dim)


@index_fill_tensor.decomposed
def _(input, index, value, dim):
    return _written(input, index, value, dim, False, True)


def _fill(p: Plan, input: TensorRef, index: TensorRef, value: Any, dim: int) -> None:
    """Add the steps that write one value at indices, which may be negative; a 0-d tensor takes any number of them."""
    if input.shape:
        _write(p, input, index, value, dim, negative=True)
    else:
        put(p, input.viewed(layout_of(input.type, (1,))), index, (0,), value, False, False)


@index_fill_tensor.gradient("value")
def _(grad, index, dim):
    """``sum(index_select(grad, index, dim))``, each index once."""
    layout = index._layout
    if is_mapped(index) or layout.type.device is not CPU:  # on a GPU, counting distinct indices would block
        filled = index_fill_number(zeros_of(grad._layout.shape, grad._layout.type), index, dim, 1)
        return public_functions["sum"](choose(ne(filled, 0), grad, 0))
    buffer = devices.cpu.distinct_indices(buffer_of(index), _extent(grad._layout, dim))
    distinct = fresh(buffer, (buffer.size,), layout.type)
    grad = grad if grad._layout.shape else reshape(grad, (1,))
    return public_functions["sum"](index_select_op(grad, distinct, dim))


@index_copy_op.gradient("input")
@index_fill_number.gradient("input")
@index_fill_tensor.gradient("input")
def _(grad, dim, index):
    return index_fill_number(grad, index, dim, 0)


# -- the public functions -----------------------------------------------------------------------------------------


def _extent(input: Layout, dim: int) -> int:
    return input.shape[dim] if input.shape else 1


def _with_part(
    op: Callable[..., Any], input: Layout, index: Layout, source: Layout, dim: int, *arguments: Any
) -> Any:
    """Return the call of an operation with the source reshaped to the part, from which it may differ by a size of 1."""
    shape_of_input = input.shape
    shape = (*shape_of_input[:dim], index.size, *shape_of_input[dim + 1 :]) if shape_of_input else ()
    if source.shape == shape:
        return op, (dim, *arguments)
    return op, (dim, *arguments), lambda input, index, source: (input, index, reshape(source, shape))


def not_added(error: devices.OutOfBoundsError, *others: Any, **names: Any) -> IndexError:
    return IndexError(f"index out of range in self: {error.index}")


def check_part(name: str, input: Layout, dim: int, index: Layout, source: Layout) -> None:
    """Raise unless a source has a part of the input for each of the indices of one dimension.

    Raises:
        IndexError, RuntimeError: if the index is not a vector of int64 or int32, or the source does not fit.
    """
    check_index_dtype(index, name)
    _vector(input, index, f"{name}(): Index is supposed to be a vector")
    check(
        source.type.dtype is input.type.dtype, "{}(): self ({}) and source ({}) must have the same scalar type",
        name, input.type.dtype.legacy, source.type.dtype.legacy,
    )
    count, extent = index.size, _extent(source, min(dim, max(len(source.shape) - 1, 0)))
    if count != extent:
        raise RuntimeError(
            f"{name}(): Number of indices ({count}) should be equal to source.size(dim): ({extent}), for dim: {dim}"
        )
    shapes = [layout.shape[:dim] + layout.shape[dim + 1 :] for layout in (input, source)]
    check(
        shapes[0] == shapes[1] and bool(input.shape) >= bool(source.shape[1:]),
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {} "
        "source.shape = {}", input, source,
    )


@lookup(outside=not_added, in_place=True)
def index_add(input: Layout, dim: Dim, index: Layout, source: Layout, *, alpha: Any = 1) -> Any:
    """Return a copy with ``alpha * source`` added at the indices of one dimension.

    For ``dim=0`` this is ``out[index[i]] += alpha * source[i]``.  Values for the same element are added in the order of
    the indices.

    Raises:
        IndexError, RuntimeError: if the index is not a vector of int64 or int32 in [0, size), or the source does not
            fit.

    Example:
        >>> import numgrad
        >>> numgrad.index_add(numgrad.zeros(3), 0, numgrad.tensor([0, 0]), numgrad.tensor([1.0, 2.0]))
        tensor([3., 0., 0.])
    """
    check_part("index_add_", input, dim, index, source)
    return _with_part(index_add_op, input, index, source, dim, alpha)


def _not_copied(error: devices.OutOfBoundsError, *others: Any, **names: Any) -> IndexError:
    return IndexError(f"index_copy_(): {beyond(error, *others, **names)}")


@lookup(outside=_not_copied, in_place=True)
def index_copy(input: Layout, dim: Dim, index: Layout, source: Layout) -> Any:
    """Return a copy with ``source`` written at the indices of one dimension.

    For ``dim=0`` this is ``out[index[i]] = source[i]``.  The last of several values for one element counts.

    Raises:
        IndexError, RuntimeError: if the index is not an int64 vector in [0, size), or the source does not fit.

    Example:
        >>> import numgrad
        >>> numgrad.index_copy(numgrad.zeros(3), 0, numgrad.tensor([2, 0]), numgrad.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    if index.type.dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.type.dtype.legacy}")
    check(
        source.type.dtype is input.type.dtype,
        "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
        input.type.dtype.legacy, source.type.dtype.legacy,
    )
    shape, source_shape = input.shape, source.shape
    _vector(input, index, "index_copy_(): Index should have dimension 1 or 0")
    slice_shape = shape[:dim] + shape[dim + 1 :]
    if source_shape and source_shape[:dim] + source_shape[dim + 1 :] != slice_shape:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, slice_shape))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, source_shape[:dim] + source_shape[dim + 1 :]))} at dimension 0."
        )
    count, extent = index.size, _extent(source, dim)
    check_index(
        count == extent, "index_copy_(): Number of indices ({}) should be equal to source.size(dim) ({})", count, extent
    )
    return _with_part(index_copy_op, input, index, source, dim)


@public(in_place=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any, *, inplace: bool = False) -> Tensor:
    """Return a copy with a number, or a 0-d tensor, at the indices of one dimension.

    Raises:
        IndexError, RuntimeError: if the index is not an int64 vector in [-size, size), or the dtype cannot hold the
            value.

    Example:
        >>> import numgrad
        >>> numgrad.index_fill(numgrad.zeros(3), 0, numgrad.tensor([0, 2]), 1)
        tensor([1., 0., 1.])
    """
    check_index(index.dtype is int64, "index_fill_(): Expected dtype int64 for index, not {}", index.dtype)
    dim = normal_dim(dim, len(input._layout.shape))
    check(len(index._layout.shape) <= 1, "Index has to be a vector/scalar, not of shape {}", index)
    if isinstance(value, Tensor):
        check(
            not value._layout.shape,
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            len(value._layout.shape),
        )
        if value._layout.type.device is not input._layout.type.device:
            value = value.to(input.device)
        op, *others = index_fill_tensor, value, dim
    else:
        op, *others = index_fill_number, dim, as_number(value)
    if inplace:
        check_apart(input, index)
    try:
        return (op.in_place if inplace else op)(input, index, *others)
    except devices.OutOfBoundsError as error:
        raise IndexError(str(beyond(error, input, dim))) from None
