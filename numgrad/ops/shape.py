"""Views and joins: operations that arrange elements without computing with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import devices
from .._layout import normal_dim, normal_dims, numel, view_strides
from .._tensor import Tensor, fresh, strided
from .copying import clone, contiguous, convert, write
from .promotion import promote_types
from .table import attach, operation, public

__all__ = [
    "cat", "expand", "expand_", "expand_as", "flip", "permute", "reshape", "select", "slice_", "squeeze", "stack", "t",
    "transpose", "unbind", "unsqueeze", "view",
]


def _view(input: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
    """A tensor on the input's memory."""
    start = input._offset if offset is None else offset
    return strided(input._storage, tuple(shape), tuple(strides), start, input._type)


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = tuple(sizes[0])
    for size in sizes:
        if not hasattr(size, "__index__"):
            raise TypeError(f"sizes and dimensions must be ints, not {type(size).__name__} ({size!r})")
    return tuple([size.__index__() for size in sizes])


def _inferred(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The sizes with a -1 replaced by what is left of ``count`` elements."""
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(size < -1 for size in sizes):
        raise RuntimeError(f"invalid shape dimension {min(sizes)} in shape {list(sizes)}")
    if -1 in sizes:
        rest = numel(tuple(size for size in sizes if size != -1))
        if rest == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {list(sizes)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        sizes = tuple([count // rest if size == -1 else size for size in sizes])
    if numel(sizes) != count:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
    return sizes


@operation("ViewBackward0", view=True)
def view_as_shape(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    strides = view_strides(input._shape, input._element_strides(), shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            f"two contiguous subspaces): shape {list(input._shape)} with strides {list(input.stride())} cannot be "
            f"viewed as {list(shape)}. Use .reshape(...) instead."
        )
    return _view(input, shape, strides)


@view_as_shape.gradient("input")
def _(grad, input_shape):
    return reshape(grad, input_shape)


@operation("UnsafeViewBackward0")
def unsafe_view(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A reshaped tensor that takes over the memory of a contiguous intermediate result nobody else holds."""
    return fresh(input._flat, shape, input._type)


@unsafe_view.gradient("input")
def _(grad, input_shape):
    return reshape(grad, input_shape)


@operation("AliasBackward0", view=True)
def alias(input: Tensor) -> Tensor:
    """The whole tensor as a view of itself."""
    return _view(input, input._shape, input._element_strides())


@alias.gradient("input")
def _(grad):
    return grad


def view(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, on the same memory; one size may be -1.

    Raises:
        RuntimeError: the number of elements differs, or only a copy could have this shape.
    """
    return view_as_shape(input, _inferred(_sizes(shape), numel(input._shape)))


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of ``other``, on the same memory."""
    return view(input, other._shape)


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: on the same memory where possible, else copied."""
    sizes = _inferred(_sizes(shape), numel(input._shape))
    if view_strides(input._shape, input._element_strides(), sizes) is None:
        return unsafe_view(clone(contiguous(input)) if input._flat is not None else contiguous(input), sizes)
    return view_as_shape(input, sizes)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of ``other``."""
    return reshape(input, other._shape)


@operation("PermuteBackward0", view=True)
def permute_(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    strides = input._element_strides()
    return _view(input, [input._shape[d] for d in dims], [strides[d] for d in dims])


@permute_.gradient("input")
def _(grad, dims):
    return permute_(grad, tuple(dims.index(d) for d in range(len(dims))))


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order.

    Raises:
        RuntimeError: ``dims`` does not name each dimension once.
    """
    order = tuple(normal_dim(d, len(input._shape)) for d in _sizes(dims))
    if sorted(order) != list(range(len(input._shape))):
        raise RuntimeError(
            f"permute: dims {list(order)} do not name each dimension of shape {list(input._shape)} once"
        )
    return permute_(input, order)


@operation("TransposeBackward0", view=True)
def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    shape, strides = list(input._shape), list(input._element_strides())
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    return _view(input, shape, strides)


@transpose_.gradient("input")
def _(grad, dim0, dim1):
    return transpose_(grad, dim0, dim1)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    rank = len(input._shape)
    first, second = normal_dim(dim0, rank), normal_dim(dim1, rank)
    return transpose_(input, first, second) if rank else view_as_shape(input, ())


@operation("TBackward0", view=True)
def t_(input: Tensor) -> Tensor:
    return _view(input, input._shape[::-1], input._element_strides()[::-1])


@t_.gradient("input")
def _(grad):
    return t_(grad)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: the tensor has more than two dimensions.
    """
    if len(input._shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(input._shape)}D")
    return t_(input)


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return permute_(self, tuple(range(len(self._shape)))[::-1])


def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    if len(self._shape) < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self._shape)}-D tensor."
        )
    return transpose(self, -2, -1)


def _squeezed(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The tensor without those of ``dims`` that have size 1."""
    kept = [d for d, extent in enumerate(input._shape) if extent != 1 or d not in dims]
    strides = input._element_strides()
    return _view(input, [input._shape[d] for d in kept], [strides[d] for d in kept])


@operation("SqueezeBackward0", view=True)
def squeeze_all(input: Tensor) -> Tensor:
    return _squeezed(input, tuple(range(len(input._shape))))


@operation("SqueezeBackward1", view=True)
def squeeze_dim(input: Tensor, dim: int) -> Tensor:
    return _squeezed(input, (dim,))


@operation("SqueezeBackward2", view=True)
def squeeze_dims(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    return _squeezed(input, dims)


@operation("SqueezeBackward4")
def squeeze_result(input: Tensor, dim: int) -> Tensor:
    """A result of one row as a vector: it takes over the memory, as PyTorch's in-place squeeze does."""
    return fresh(input._flat, input._shape[:dim] + input._shape[dim + 1 :], input._type)


@squeeze_all.gradient("input")
@squeeze_dim.gradient("input")
@squeeze_dims.gradient("input")
@squeeze_result.gradient("input")
def _(grad, input_shape):
    return reshape(grad, input_shape)


def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without its dimensions of size 1, or without those of ``dim`` that have it."""
    if dim is None:
        return squeeze_all(input)
    if isinstance(dim, int):
        return squeeze_dim(input, normal_dim(dim, len(input._shape)))
    return squeeze_dims(input, normal_dims(dim, len(input._shape)))


@operation("UnsqueezeBackward0", view=True)
def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    shape, strides = input._shape, input._element_strides()
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return _view(input, (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]))


@unsqueeze_.gradient("input")
def _(grad, dim):
    return squeeze_dim(grad, dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The tensor with a further dimension of size 1 at ``dim``."""
    return unsqueeze_(input, normal_dim(dim, len(input._shape) + 1))


@operation("ExpandBackward0", view=True)
def expand_(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    missing = len(shape) - len(input._shape)
    steps = [
        0 if extent == 1 and wanted != 1 else step
        for extent, step, wanted in zip(input._shape, input._element_strides(), shape[missing:], strict=True)
    ]
    return _view(input, shape, [0] * missing + steps)


@expand_.gradient("input")
def _(grad):
    return grad  # the engine sums over what was repeated


def expand(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor repeated along dimensions of size 1 (or new ones in front) without copying; -1 keeps a size.

    Raises:
        RuntimeError: a size other than 1 would have to change.
    """
    wanted = _sizes(sizes)
    missing = len(wanted) - len(input._shape)
    if missing < 0:
        raise RuntimeError(
            f"expand({input._type.name}{{{list(input._shape)}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(input._shape)})"
        )
    shape = []
    for position, size in enumerate(wanted):
        extent = input._shape[position - missing] if position >= missing else None
        if size == -1 and extent is None:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing dimension "
                f"{position}"
            )
        if extent not in (None, 1, size) and size != -1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({extent}) at non-singleton "
                f"dimension {position}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(input._shape)}"
            )
        shape.append(extent if size == -1 else size)
    return expand_(input, tuple(shape))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of ``other``."""
    return expand(input, other._shape)


@operation("FlipBackward0")
def flip_(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    strides = list(input._element_strides())
    start = input._offset
    for dim in dims:
        start += max(input._shape[dim] - 1, 0) * strides[dim]
        strides[dim] = -strides[dim]
    backwards = strided(input._storage, input._shape, tuple(strides), start, input._type)
    return contiguous(backwards) if numel(input._shape) > 1 else clone(input)


@flip_.gradient("input")
def _(grad, dims):
    return flip_(grad, dims)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy with the order of the indices of some dimensions reversed."""
    return flip_(input, normal_dims(_sizes(dims), len(input._shape)))


def _reversed_rows(self: Tensor) -> Tensor:
    return flip(self, 0) if self._shape else self


attach("__reversed__", _reversed_rows)

# -- parts ------------------------------------------------------------------------------------------------------


@operation("SelectBackward0", view=True)
def select_(input: Tensor, dim: int, index: int) -> Tensor:
    shape, strides = input._shape, input._element_strides()
    start = input._offset + index * strides[dim]
    return _view(input, shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], start)


@select_.gradient("input")
def _(grad, input_shape, dim, index):
    return select_backward(grad, input_shape, dim, index)


@operation("SelectBackwardBackward0", inputs=["grad_output"])
def select_backward(grad_output: Tensor, shape: tuple[int, ...], dim: int, index: int) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of what was selected."""
    out = fresh(devices.zeros(shape, grad_output._type), shape, grad_output._type)
    write(select_.function(out, dim, index), grad_output)
    return out


@select_backward.gradient("grad_output")
def _(grad, dim, index):
    return select_(grad, dim, index)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The part of the tensor at one index of a dimension, which goes.

    Raises:
        IndexError: there is no such dimension or index.
    """
    rank = len(input._shape)
    if rank == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normal_dim(dim, rank)
    extent = input._shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    return select_(input, dim, index % extent)


@operation("SliceBackward0", view=True)
def slice_(input: Tensor, dim: int, start: int, stop: int, step: int) -> Tensor:
    shape, strides = list(input._shape), list(input._element_strides())
    offset = input._offset + start * strides[dim]
    shape[dim] = len(range(start, stop, step))
    strides[dim] *= step
    return _view(input, shape, strides, offset if shape[dim] else input._offset)


@slice_.gradient("input")
def _(grad, input_shape, dim, start, stop, step):
    return slice_backward(grad, input_shape, dim, start, stop, step)


@operation("SliceBackwardBackward0", inputs=["grad_output"])
def slice_backward(
    grad_output: Tensor, shape: tuple[int, ...], dim: int, start: int, stop: int, step: int
) -> Tensor:
    """Zeros of ``shape`` with the gradient in place of the slice."""
    out = fresh(devices.zeros(shape, grad_output._type), shape, grad_output._type)
    write(slice_.function(out, dim, start, stop, step), grad_output)
    return out


@slice_backward.gradient("grad_output")
def _(grad, dim, start, stop, step):
    return slice_(grad, dim, start, stop, step)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` indices of a dimension from ``start``.

    Raises:
        RuntimeError: they reach beyond the dimension.
    """
    dim = normal_dim(dim, len(input._shape))
    extent = input._shape[dim]
    start = start + extent if start < 0 else start
    if not (start >= 0 and length >= 0 and start + length <= extent):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_(input, dim, start, start + length, 1)


@operation("UnbindBackward0", view=True)
def unbind_(input: Tensor, dim: int) -> tuple[Tensor, ...]:
    shape, strides = input._shape, input._element_strides()
    rest = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]
    return tuple([_view(input, *rest, input._offset + i * strides[dim]) for i in range(shape[dim])])


@unbind_.gradient("input")
def _(grad, input_shape, dim):
    grads = grad if isinstance(grad, list) else [grad]
    given = next(g for g in grads if g is not None)
    missing = fresh(devices.zeros(given._shape, given._type), given._shape, given._type)
    return stack([missing if g is None else g for g in grads], dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of the tensor at every index of a dimension."""
    return unbind_(input, normal_dim(dim, len(input._shape)))


# -- joining ----------------------------------------------------------------------------------------------------


@operation("CatBackward0", inputs=["tensors"], sequence=True)
def cat_(tensors: tuple[Tensor, ...], dim: int, extents: tuple[int, ...]) -> Tensor:
    first = tensors[0]
    shape = (*first._shape[:dim], sum(extents), *first._shape[dim + 1 :])
    out = fresh(devices.empty(shape, first._type), shape, first._type)
    start = 0
    for tensor, extent in zip(tensors, extents, strict=True):
        write(slice_.function(out, dim, start, start + extent, 1), tensor)
        start += extent
    return out


@cat_.gradient("tensors")
def _(grad, dim, extents):
    starts = [sum(extents[:i]) for i in range(len(extents))]
    return [slice_(grad, dim, s, s + extent, 1) for s, extent in zip(starts, extents, strict=True)]


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors joined along an existing dimension.

    Raises:
        ValueError: there are none.
        RuntimeError: their other sizes differ.
    """
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' must be a list of Tensors, not Tensor")
    tensors = tuple(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 0, but got {type(tensor).__name__}")
        if not tensor._shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")
    kept = tuple([t for t in tensors if t._shape != (0,)]) or tensors[:1]
    dim = normal_dim(dim, len(kept[0]._shape))
    expected = kept[0]._shape
    kind = tensors[0].dtype
    for number, tensor in enumerate(kept):
        kind = promote_types(kind, tensor.dtype)
        shape = tensor._shape
        if len(shape) != len(expected) or shape[:dim] + shape[dim + 1 :] != expected[:dim] + expected[dim + 1 :]:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected shape {list(expected)} but got "
                f"{list(shape)} for tensor number {number} in the list."
            )
    parts = tuple([convert(t, kind) for t in kept])
    return cat_(parts, dim, tuple([t._shape[dim] for t in parts]))


@operation("StackBackward0", inputs=["tensors"], sequence=True)
def stack_(tensors: tuple[Tensor, ...], dim: int) -> Tensor:
    return cat([unsqueeze_(tensor, dim) for tensor in tensors], dim)


@stack_.gradient("tensors")
def _(grad, dim):
    return list(unbind_(grad, dim))


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors, all of one shape, joined along a new dimension.

    Raises:
        RuntimeError: there are none, or their shapes differ.
    """
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for number, tensor in enumerate(tensors):
        if tensor._shape != tensors[0]._shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0]._shape)} at entry 0 and "
                f"{list(tensor._shape)} at entry {number}"
            )
    return stack_(tensors, normal_dim(dim, len(tensors[0]._shape) + 1))


for _method in (reshape, permute, transpose, flip, t, squeeze, unsqueeze, select, narrow, unbind):
    public(_method)
public(cat, method=False)
public(stack, method=False)
for _name, _function in {
    "view": view, "view_as": view_as, "reshape_as": reshape_as, "expand": expand, "expand_as": expand_as,
}.items():
    attach(_name, _function)
attach("T", property(_reversed))
attach("mT", property(_matrix_transposed))
