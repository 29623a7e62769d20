"""Reading and writing at a row of indices: of one dimension (``index_*``), or of the flattened tensor."""

from __future__ import annotations

from typing import Any

from ... import devices
from ..._device import CPU
from ..._layout import all_dims, normal_dim
from ..._tensor import Tensor, fresh
from ..._types import int64
from ..arguments import checked
from ..batches import is_mapped, physical_of
from ..copying import contiguous, repeated_zero, row_of
from ..new import zeros_of
from ..pointwise.arithmetic import conj, mul
from ..pointwise.comparison import choose, ne
from ..shapes.views import reshape
from ..sharing import check_apart
from ..table import attach, operation, public, public_functions
from .gathering import check_index_dtype
from .places import pick, put
from .updating import number_as, updating

__all__ = ["index_add", "index_copy", "index_fill", "index_select", "take"]

# -- the entries: ``dim`` is not negative, the index is a checked vector, or 0-d for a 0-d tensor ----------------------


def _dims(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (dim,) if shape else ()


@operation("IndexSelectBackward0", inputs=["input", "index"], nondifferentiable=["index"], linear=True)
def index_select_op(input: Tensor, index: Tensor, dim: int) -> Tensor:
    return pick(contiguous(input), index, _dims(input._layout.shape, dim))


@index_select_op.gradient("input")
def _(grad, dim, index, input_shape):
    """``index_add(zeros(input_shape), index, grad, dim)``."""
    return index_add_op(repeated_zero(input_shape, grad._layout.type), index, grad, dim, 1)


@updating("IndexAddBackward0", inputs=["input", "index", "source"], nondifferentiable=["index"])
def index_add_op(input: Tensor, index: Tensor, source: Tensor, dim: int, alpha: Any) -> None:
    values = source if alpha == 1 else mul(source, number_as(alpha, source))
    put(input, index, _dims(input._layout.shape, dim), values, True, False)


@index_add_op.gradient("input")
def _(grad):
    return grad


@index_add_op.gradient("source")
def _(grad, dim, index, alpha):
    """``alpha * index_select(grad, index, dim)``."""
    picked = index_select_op(grad, index, dim)
    return picked if alpha == 1 else mul(picked, conj(alpha))


@updating("IndexCopyBackward0", inputs=["input", "index", "source"], nondifferentiable=["index"])
def index_copy_op(input: Tensor, index: Tensor, source: Tensor, dim: int) -> None:
    put(input, index, _dims(input._layout.shape, dim), source, False, False)


@index_copy_op.gradient("source")
def _(grad, dim, index):
    return index_select_op(grad, index, dim)


@updating("IndexFillBackward0", inputs=["input", "index"], nondifferentiable=["index"], kept=True)
def index_fill_number(input: Tensor, index: Tensor, dim: int, value: Any) -> None:
    put(input, index, _dims(input._layout.shape, dim), number_as(value, input), False, False)


@updating("IndexFillBackward1", inputs=["input", "index", "value"], nondifferentiable=["index"], kept=True)
def index_fill_tensor(input: Tensor, index: Tensor, value: Tensor, dim: int) -> None:
    put(input, index, _dims(input._layout.shape, dim), number_as(value, input), False, False)


@index_fill_tensor.gradient("value")
def _(grad, index, dim):
    """``sum(index_select(grad, index, dim))``, each index once."""
    layout = index._layout
    if is_mapped(index) or layout.type.device is not CPU:  # a GPU would have to be waited for to say how many there are
        filled = index_fill_number(zeros_of(grad._layout.shape, grad._layout.type), index, dim, 1)
        return public_functions["sum"](choose(ne(filled, 0), grad, 0))
    row = devices.distinct_places(row_of(index), _extent(grad, dim))
    distinct = fresh(row, (row.size,) if layout.shape else (), layout.type)
    return public_functions["sum"](index_select_op(grad, distinct, dim))


@index_copy_op.gradient("input")
@index_fill_number.gradient("input")
@index_fill_tensor.gradient("input")
def _(grad, dim, index):
    return index_fill_number(grad, index, dim, 0)


@operation("TakeBackward0", inputs=["input", "index"], nondifferentiable=["index"], linear=True)
def take_op(input: Tensor, index: Tensor) -> Tensor:
    return pick(input, index, all_dims(input._layout.shape))


@take_op.gradient("input")
def _(grad, index, input_shape):
    """``put(zeros(input_shape), index, grad, accumulate=True)``."""
    return put_op(repeated_zero(input_shape, grad._layout.type), index, grad, True)


@updating("PutBackward0", inputs=["input", "index", "source"], nondifferentiable=["index"], kept=True)
def put_op(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> None:
    put(input, index, all_dims(input._layout.shape), reshape(source, index._layout.shape), accumulate, False)


@put_op.gradient("input")
def _(grad, index, accumulate):
    """``put(grad, index, 0)``; ``grad`` itself where values were added."""
    return grad if accumulate else put_op(grad, index, zeros_of(index._layout.shape, grad._layout.type), False)


@put_op.gradient("source")
def _(grad, index, input_shape):
    return take_op(grad, index)


# -- the public functions -----------------------------------------------------------------------------------------


def _vector(input: Tensor, index: Tensor, message: str, several: bool = False) -> Tensor:
    """An index of one dimension at most as the entries take it; ``several`` if a 0-d tensor may have any number of it.
    """
    layout = index._layout
    if len(layout.shape) > 1:
        raise IndexError(f"{message} (shape {list(index.shape)})")
    if not input._layout.shape and layout.size != 1:
        if several:
            return index
        raise RuntimeError(
            f"Index to scalar can have only 1 value, got {layout.size} value(s) (shape {list(index.shape)})"
        )
    if len(layout.shape) == 1 and input._layout.shape:
        return index
    return reshape(index.detach(), (-1,) if input._layout.shape else ())


def _check_range(index: Tensor, size: int, error: type[Exception], message: str, low: int = 0) -> None:
    wrong = devices.outside(row_of(physical_of(index)), low, size)
    if wrong is not None:
        raise error(message.format(wrong))


def _extent(input: Tensor, dim: int) -> int:
    return input._layout.shape[dim] if input._layout.shape else 1


@checked
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The tensor at the indices of one dimension, in their order; a copy.

    Args:
        index: a vector of int64 or int32.

    Raises:
        IndexError, RuntimeError: the index is no vector, or one of it is not in [0, size).
    """
    index = check_index_dtype(index, "index_select")
    dim = normal_dim(dim, len(input._layout.shape))
    index = _vector(input, index, "index_select(): Index is supposed to be a vector")
    size = _extent(input, dim)
    _check_range(index, size, RuntimeError, f"INDICES element is out of DATA bounds, id={{}} axis_dim={size}")
    return index_select_op(input, index, dim)


def _added(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> tuple[Any, ...]:
    """The checked arguments of the entry."""
    index = check_index_dtype(index, "index_add_")
    dim = normal_dim(dim, len(input._layout.shape))
    index = _vector(input, index, "index_add_(): Index is supposed to be a vector")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype.legacy}) and source ({source.dtype.legacy}) must have the same scalar "
            "type"
        )
    count, extent = index._layout.size, _extent(source, min(dim, max(len(source._layout.shape) - 1, 0)))
    if count != extent:
        raise RuntimeError(
            f"index_add_(): Number of indices ({count}) should be equal to source.size(dim): ({extent}), for dim: {dim}"
        )
    rest = [tensor._layout.shape[:dim] + tensor._layout.shape[dim + 1 :] for tensor in (input, source)]
    if rest[0] != rest[1] or bool(input._layout.shape) < bool(source._layout.shape[1:]):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )
    _check_range(index, _extent(input, dim), IndexError, "index out of range in self: {}")
    return input, index, _as_part(source, input, dim, index), dim, alpha


def _as_part(source: Tensor, input: Tensor, dim: int, index: Tensor) -> Tensor:
    """A source with the shape of the part: without, or with, a dimension of size 1."""
    shape = input._layout.shape[:dim] + index._layout.shape + input._layout.shape[dim + 1 :]
    return source if source._layout.shape == shape else reshape(source, shape)


@checked
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with ``alpha * source`` added at the indices of one dimension: ``out[index[i]] += alpha * source[i]``.

    What is added to one element is added in the order of the indices.

    Raises:
        IndexError, RuntimeError: the index is no vector of int64 or int32 in [0, size), or the source does not fit.
    """
    return index_add_op(*_added(input, dim, index, source, alpha))


@checked
def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """:func:`index_add` in place: overwrites the tensor and returns it."""
    arguments = _added(input, dim, index, source, alpha)
    check_apart(input, *arguments[1:3])
    return index_add_op.in_place(*arguments)


def _copied(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Any, ...]:
    """The checked arguments of the entry."""
    if index.dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.legacy}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype.legacy} and (source) {source.dtype.legacy}"
        )
    own, given = input._layout.shape, source._layout.shape
    dim = normal_dim(dim, len(own))
    index = _vector(input, index, "index_copy_(): Index should have dimension 1 or 0")
    rest = own[:dim] + own[dim + 1 :]
    if given and given[:dim] + given[dim + 1 :] != rest:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, rest))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, given[:dim] + given[dim + 1 :]))} at dimension 0."
        )
    count, extent = index._layout.size, _extent(source, dim)
    if count != extent:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({extent})"
        )
    size = _extent(input, dim)
    _check_range(
        index, size, IndexError, f"index_copy_(): index {{}} is out of bounds for dimension {dim} with size {size}"
    )
    return input, index, _as_part(source, input, dim, index), dim


@checked
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with ``source`` in place of what is at the indices of one dimension: ``out[index[i]] = source[i]``.

    Of several for one element the last one counts.

    Raises:
        IndexError, RuntimeError: the index is no int64 vector in [0, size), or the source does not fit.
    """
    return index_copy_op(*_copied(input, dim, index, source))


@checked
def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """:func:`index_copy` in place: overwrites the tensor and returns it."""
    arguments = _copied(input, dim, index, source)
    check_apart(input, *arguments[1:3])
    return index_copy_op.in_place(*arguments)


def _filled(input: Tensor, dim: int, index: Tensor, value: Any) -> tuple[Any, tuple[Any, ...]]:
    """The entry to use and its checked arguments."""
    if index.dtype is not int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, not {index.dtype}")
    dim = normal_dim(dim, len(input._layout.shape))
    if len(index._layout.shape) > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, not of shape {list(index.shape)}")
    index = _vector(input, index, "", several=True)
    size = _extent(input, dim)
    message = f"index {{}} is out of bounds for dimension {dim} with size {size}"
    _check_range(index, size, IndexError, message, -size)
    if isinstance(value, Tensor):
        if value._layout.shape:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{len(value._layout.shape)} dimension(s)."
            )
        return index_fill_tensor, (input, index, value, dim)
    return index_fill_number, (input, index, dim, value)


@checked
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number, or a 0-d tensor, at the indices of one dimension.

    Raises:
        IndexError, RuntimeError: the index is no int64 vector in [-size, size), or the dtype cannot hold the value.
    """
    op, arguments = _filled(input, dim, index, value)
    return op(*arguments)


@checked
def index_fill_(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """:func:`index_fill` in place: overwrites the tensor and returns it."""
    op, arguments = _filled(input, dim, index, value)
    check_apart(input, arguments[1])
    return op.in_place(*arguments)


def _check_flat_index(input: Tensor, index: Tensor, name: str) -> None:
    if index.dtype is not int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.legacy}")
    count = input._layout.size
    if not count and index._layout.size:
        raise IndexError(f"{name}(): tried to {'put elements into' if name == 'put_' else 'take from'} an empty tensor")
    message = f"out of range: tried to access index {{}} on a tensor of {count} elements."
    _check_range(index, count, IndexError, message, -count)


@checked
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at the indices, of any shape, of the flattened tensor.

    Raises:
        IndexError, RuntimeError: the index is not int64, or one of it is not in [-count, count).
    """
    _check_flat_index(input, index, "take")
    return take_op(input, index)


def _put(input: Tensor, index: Tensor, source: Tensor) -> None:
    _check_flat_index(input, index, "put_")
    if source._layout.size != index._layout.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._layout.size}, index.numel() = {index._layout.size}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype} and "
            f"source.dtype = {source.dtype}"
        )


@checked
def put_copy(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with the elements of ``source`` at the indices of the flattened tensor, or added there.

    Raises:
        IndexError, RuntimeError: the index does not fit, or the source has another dtype or number of elements.
    """
    _put(input, index, source)
    return put_op(input, index, source, accumulate)


@checked
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``put`` in place: overwrites the tensor and returns it."""
    _put(input, index, source)
    check_apart(input, index, source)
    return put_op.in_place(input, index, source, accumulate)


for _function in (index_select, index_add, index_copy, index_fill, take):
    public(_function)
public(put_copy, name="put")
for _method in (index_add_, index_copy_, index_fill_, put_):
    attach(_method.__name__, _method)
