"""Masks: filling, reading and writing where a mask is true, and the indices of nonzero elements."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.device import CPU, to_device
from ...core.layout import Ints, Layout, all_dims, broadcast_shapes, layout_of, outgrown
from ...core.types import TensorType, bfloat16, bool_, dtype, int32, int64, tensor_type, to_dtype, uint8
from ...devices import Given, InputNumber, Plan, TensorRef
from ...tensors.tensor import Tensor, fresh, tensor_of
from ..batching.batches import DYNAMIC, is_shared
from ..batching.physical import aligned, expanded
from ..memory.copying import convert, write, zeros_of
from ..memory.overwriting import fitting
from ..pointwise.comparison import choose
from ..shapes.broadcasting import expand
from ..table.checks import check, check_implemented
from ..table.lookup import lookup, operation, overwriting
from ..table.op import attach, check_tensors, public, public_functions
from ..table.operands import NUMBERS_OF, check_apart
from ..table.promotion import check_fits, result_dtype
from .index import index_op, index_put_op
from .launchers import check_held, expanded_layout, flat_result, is_held, number_as

# -- filling ------------------------------------------------------------------------------------------------------


@operation("MaskedFillBackward0", direct=True, inputs=["input", "mask"], nondifferentiable=["mask"], numbers=["value"])
def masked_fill_number(p: Plan, input: TensorRef, mask: TensorRef, value: Given) -> TensorRef:
    return _filled(p, input, mask, value, value.kind)


@masked_fill_number.batched
def _(input, mask, value):
    rank = max(len(input._layout.shape), len(mask._layout.shape))
    broadcast = expanded(input) if is_shared(input) else aligned(input, rank)
    return masked_fill_number(broadcast, aligned(mask, rank), value)


@operation(
    "MaskedFillBackward1", direct=True, inputs=["input", "mask", "value"], nondifferentiable=["mask"],
    anywhere=["value"]
)
def masked_fill_tensor(p: Plan, input: TensorRef, mask: TensorRef, value: TensorRef) -> TensorRef:
    return _filled(p, input, mask, *_read(p, value, input.type.dtype))


@masked_fill_tensor.decomposed
def _(input, mask, value):
    return choose(mask, convert(value, input.dtype), input)


@masked_fill_number.changing
def _(p: Plan, input: TensorRef, mask: TensorRef, value: Given) -> None:
    _filled(p, input, mask, value, value.kind, into=input)


@masked_fill_tensor.changing
def _(p: Plan, input: TensorRef, mask: TensorRef, value: TensorRef) -> None:
    _filled(p, input, mask, *_read(p, value, input.type.dtype), into=input)


def _read(p: Plan, value: TensorRef, dtype: dtype) -> tuple[Any, Any]:
    """Return a 0-d tensor as an operand and its kind: on the CPU, a number that must fit the ``dtype``."""
    type, number = value.type, value.memory.number
    if type.device is not CPU or (type.dtype is bfloat16 and p.device is None):  # NumPy has no bfloat16
        return value, type.numpy
    if type.dtype is not dtype:
        p.call(check_held, Given(number), dtype)
    return InputNumber(number), NUMBERS_OF[type.dtype.kind]


def _filled(
    p: Plan, input: TensorRef, mask: TensorRef, value: Any, kind: Any, into: TensorRef | None = None
) -> TensorRef:
    """Add the step that writes the value where the mask is true, else the input, to a new tensor or ``into``."""
    type, shape = input.type, broadcast_shapes(input.shape, mask.shape)
    if mask.type.dtype is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.type.dtype}")
    if into is not None and shape != input.shape:
        raise outgrown(input.shape, shape)
    out = p.new_tensor(layout_of(type, shape)) if into is None else into
    program = choose.op.program([mask.type.numpy, kind, type.numpy], choose.op.attributes, type.dtype, type.dtype)
    p.pointwise(program, [mask, value, input], out)
    return out


@masked_fill_number.gradient("input")
@masked_fill_tensor.gradient("input")
def _(grad, mask):
    return masked_fill_number(grad, mask, 0.0)


@masked_fill_tensor.gradient("value")
def _(grad, mask):
    """``sum(where(mask, grad, 0))``."""
    return public_functions["sum"](choose(mask, grad, number_as(0, grad._layout.type)))


@public(in_place=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any, *, inplace: bool = False) -> Tensor:
    """Return a copy with ``value``, a number or a 0-d tensor, where ``mask`` is true; the two are broadcast.

    Raises:
        TypeError, RuntimeError: if the mask is not a bool tensor, the shapes do not fit, or the dtype cannot hold the
            value.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1, 2, 3])
        >>> numgrad.masked_fill(x, x > 1, 0)
        tensor([1, 0, 0])
    """
    op = masked_fill_number
    if isinstance(value, Tensor):
        check(
            not value._layout.shape,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            len(value._layout.shape),
        )
        op = masked_fill_tensor
    else:
        dtype = input._layout.type.dtype
        if not (value.__class__ in (float, int) and dtype.is_floating_point and is_held(value)):
            value = fitting(value, dtype)
        elif value.__class__ is int:
            value = float(value)  # a kernel for floats exists already
    if not inplace:
        return op(input, mask, value)
    if mask._storage is input._storage:
        check_apart(input, mask)
    return op.in_place(input, mask, value)


# -- reading and writing ------------------------------------------------------------------------------------------


@operation(
    "MaskedSelectBackward0", direct=True, public=True, inputs=["input", "mask"], nondifferentiable=["mask"],
    linear=True
)
def masked_select_op(p: Plan, input: TensorRef, mask: TensorRef) -> Plan:
    """Return the elements where ``mask`` is true, as a vector; the two are broadcast.

    Raises:
        TypeError, RuntimeError: if the mask is not a bool tensor, or the shapes do not fit.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([1, 2, 3])
        >>> numgrad.masked_select(x, x > 1)
        tensor([2, 3])
    """
    check(mask.type.dtype is bool_, "masked_select: expected BoolTensor for mask, not {}", mask.type.dtype)
    return p.returns_from(_picked, *_selection(p, input, mask))


def _selection(p: Plan, input: TensorRef, mask: TensorRef) -> tuple[Any, ...]:
    """Add the steps that find the true elements of a mask, and return the arguments of ``_picked``.

    These are the flat indices, the memory, start and broadcast layout of the input, all its dimensions, and the type of
    indices.
    """
    shape = broadcast_shapes(input.shape, mask.shape)
    held = p.contiguous(mask.viewed(expanded_layout(mask.layout, shape)))
    flat = p.backend.flatnonzero(p, held)
    return flat, *p.strided(input), expanded_layout(input.layout, shape), all_dims(shape), input.type.with_dtype(int64)


def _picked(buffer: Any, storage: Any, start: int, layout: Layout, dims: Ints, type: TensorType) -> tuple[Layout, Any]:
    """Return the layout and memory of the elements of a tensor of this layout at flat indices of this type."""
    whole, flat_index = tensor_of(layout, storage, start), tensor_of(layout_of(type, (buffer.size,)), buffer)
    picked = index_op.function(whole, flat_index, dims, True)
    return picked._layout, picked._storage


@masked_select_op.batched
def _(input, mask):
    if is_shared(mask):
        return NotImplemented
    raise RuntimeError(
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
        "each batch this would return a differently shaped Tensor. Use where() to keep the shape."
    )


@masked_select_op.gradient("input")
def _(grad, mask, input_shape):
    """``masked_scatter(zeros(input_shape), mask, grad)``."""
    shape = broadcast_shapes(input_shape, mask._layout.shape)
    zeros = zeros_of(shape, grad._layout.type)
    return masked_scatter_op(zeros, mask, grad)  # the engine sums over broadcast dimensions


@operation(
    "MaskedScatterBackward0", changes="contiguous", inputs=["input", "mask", "source"], nondifferentiable=["mask"]
)
def masked_scatter_op(p: Plan, input: TensorRef, mask: TensorRef, source: TensorRef) -> None:
    indices, target, *where = _selection(p, input, mask)
    p.call(_scatter, indices, target, *where, p.contiguous(source), written=(target,))


def _scatter(
    buffer: Any, storage: Any, start: int, layout: Layout, dims: Ints, type: TensorType, source: Any
) -> None:
    """Overwrite the elements of a tensor of this layout at flat indices with those of a source, in order."""
    count = buffer.size
    check(count <= source.size, "Number of elements of source < number of ones in mask ({} < {})", source.size, count)
    target = tensor_of(layout, storage, start)
    flat_index, values = fresh(buffer, (count,), type), fresh(source[:count], (count,), layout.type)
    options = dims, False, True
    entry = index_put_op.recent_in_place.get((layout, flat_index._layout, values._layout, *options))
    if entry is None:
        entry = index_put_op.entry((target, flat_index, values, *options), True)[0]
    entry.launch(target, flat_index, values, target)


@masked_scatter_op.gradient("input")
def _(grad, mask):
    return masked_fill_number(grad, mask, 0.0)


@masked_scatter_op.gradient("source")
def _(grad, mask, source_shape):
    return masked_scatter_backward(grad, mask, source_shape)


@operation("MaskedScatterBackwardBackward0", inputs=["grad_output", "mask"], nondifferentiable=["mask"], linear=True)
def masked_scatter_backward(p: Plan, grad_output: TensorRef, mask: TensorRef, shape: tuple[int, ...]) -> TensorRef:
    """Return a tensor of ``shape`` that holds the masked elements of the gradient followed by zeros."""
    out = p.new_tensor(layout_of(grad_output.type, shape), zeroed=True)
    target = p.contiguous(out)
    p.call(_write_picked, target, *_selection(p, grad_output, mask), written=(target,))
    return out


def _write_picked(out: Any, buffer: Any, *source: Any) -> None:
    """Write the elements of a tensor at flat indices to the front of memory; see :func:`_picked`."""
    check(buffer.size <= out.size, "the mask selects {} elements, more than a source of {} has", buffer.size, out.size)
    chosen, picked = _picked(buffer, *source)
    write(tensor_of(chosen, out), tensor_of(chosen, picked))


@masked_scatter_backward.gradient("grad_output")
def _(grad, mask, grad_output_shape):
    """``masked_scatter(zeros(grad_output_shape), mask, grad)``."""
    zeros = zeros_of(grad_output_shape, grad._layout.type)
    return masked_scatter_op(zeros, mask, grad)


def _scattered_shape(input: Layout, mask: Layout, source: Layout) -> tuple[int, ...]:
    if mask.type.dtype is not bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.type.dtype}")
    check(
        source.type.dtype is input.type.dtype,
        "masked_scatter: expected self and source to have same dtypes but got {} and {}",
        input.type.dtype.legacy, source.type.dtype.legacy,
    )
    return broadcast_shapes(input.shape, mask.shape)


@lookup
def masked_scatter(input: Layout, mask: Layout, source: Layout) -> Any:
    """Return a copy with the first elements of ``source`` where ``mask`` is true, in order.

    The input and the mask are broadcast.

    Raises:
        TypeError, RuntimeError: if the mask is not a bool tensor, or the source has another dtype or too few elements.

    Example:
        >>> import numgrad
        >>> numgrad.masked_scatter(numgrad.zeros(3), numgrad.tensor([True, False, True]), numgrad.tensor([5.0, 6.0]))
        tensor([5., 0., 6.])
    """
    shape = _scattered_shape(input, mask, source)
    if shape != input.shape:
        return masked_scatter_op, (), lambda input, *others: (expand(input, shape), *others)
    return masked_scatter_op, ()


@public(function=False)
@lookup(export=False)
def masked_scatter_(self: Layout, mask: Layout, source: Layout) -> Any:
    """Overwrite the tensor as :func:`masked_scatter` does and return it."""
    shape = _scattered_shape(self, mask, source)
    if shape != self.shape:
        raise outgrown(self.shape, shape)
    return overwriting(masked_scatter_op), ()


# -- choosing -----------------------------------------------------------------------------------------------------


@public(method=False, direct=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Return ``input`` where ``condition`` is true, ``other`` elsewhere: tensors or numbers, broadcast together.

    With the condition alone, return the indices where it is true, as ``nonzero(condition, as_tuple=True)`` does.

    Raises:
        TypeError: if the condition is not a tensor, or only one of the others is given.
        RuntimeError: if the condition is not a bool tensor, the shapes do not fit, or a number is too large for the
            result.

    Example:
        >>> import numgrad
        >>> x = numgrad.tensor([-1.0, 2.0])
        >>> numgrad.where(x > 0, x, 0.0)
        tensor([0., 2.])
        >>> numgrad.where(x > 0)
        (tensor([1]),)
    """
    if (
        condition.__class__ is Tensor and condition._layout.type.dtype is bool_ and input.__class__ is Tensor
        and (other.__class__ is Tensor or other.__class__ is float)
    ):
        return choose.op.short(condition, input, other)
    check_tensors("where", condition=condition)
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where() takes either the condition alone, or the condition, input and other")
    if condition.dtype is uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=2,
        )
        condition = convert(condition, bool_)
    if condition.dtype is not bool_:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.legacy}"
        )
    for number, partner in ((input, other), (other, input)):
        if number.__class__ is int and isinstance(partner, Tensor):
            check_fits(number, result_dtype((number, partner)))
    return choose(condition, input, other)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return this tensor's elements where ``condition`` is true, ``other``'s elsewhere."""
    return where(condition, self, other)


where.scalar_function = choose.scalar_function
attach("where", _where_method)


# -- indices ------------------------------------------------------------------------------------------------------


@operation("NonzeroBackward0", nondifferentiable=["input"])
def nonzero_op(p: Plan, input: TensorRef, as_tuple: bool) -> Plan:
    """Return the indices of nonzero elements: (count, dimensions), or transposed if ``as_tuple``."""
    indices = p.backend.nonzero_indices(p, p.contiguous(input), input.shape or (1,))
    return p.returns_from(_as_indices, input.type.with_dtype(int64), len(input.shape), as_tuple, indices)


def _as_indices(type: TensorType, rank: int, as_tuple: bool, indices: Any) -> tuple[Layout, Any]:
    count = indices.size // max(rank, 1)
    if as_tuple:
        return layout_of(type, (max(rank, 1), count)), indices
    return layout_of(type, (count, rank), (1, count)), indices


@operation("NonzeroBackward0", aten="nonzero", nondifferentiable=["input"])
def flat_nonzero_op(p: Plan, input: TensorRef) -> Plan:
    """Return the flat index of the nonzero elements, as a vector."""
    return p.returns_from(flat_result, input.type.with_dtype(int64), p.backend.flatnonzero(p, p.contiguous(input)))


@nonzero_op.batched
def _(input, as_tuple):
    raise RuntimeError(DYNAMIC.format("nonzero"))


@public(direct=True)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of the nonzero elements, in row-major order.

    The result is a tensor of shape (count, dimensions).  With ``as_tuple``, it is a vector for each dimension instead,
    so that ``x[x.nonzero(as_tuple=True)]`` are those elements.

    Example:
        >>> import numgrad
        >>> numgrad.nonzero(numgrad.tensor([0, 3, 0, 4]))
        tensor([[1],
                [3]])
    """
    indices = nonzero_op(input, as_tuple)
    return indices.unbind(0) if as_tuple else indices


@public
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the nonzero elements, as a tensor of shape (count, dimensions).

    Example:
        >>> import numgrad
        >>> numgrad.argwhere(numgrad.tensor([0.0, 5.0, 7.0]))
        tensor([[1],
                [2]])
    """
    return nonzero(input)


def _triangle(name: str, row: int, col: int, offset: int, dtype: Any, device: Any, upper: bool) -> Tensor:
    chosen, type = to_dtype(int64 if dtype is None else dtype), tensor_type(int64, to_device(device))
    for what, size in (("row", row), ("col", col)):
        check(size >= 0, "{} must be non-negative, got {}", what, size)
    check_implemented(chosen in (int32, int64), "\"{}\" not implemented for '{}'", name, chosen.legacy)
    rows, count = type.backend.triangle_indices(row, col, min(max(offset, -row), col), upper, type)
    return convert(fresh(rows, (2, count), type), chosen)


@public(method=False)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the indices, of shape (2, count), of the elements of a matrix on and below a diagonal, row by row.

    Example:
        >>> import numgrad
        >>> numgrad.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _triangle("tril_indices", row, col, offset, dtype, device, False)


@public(method=False)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the indices, of shape (2, count), of the elements of a matrix on and above a diagonal, row by row.

    Example:
        >>> import numgrad
        >>> numgrad.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _triangle("triu_indices", row, col, offset, dtype, device, True)
