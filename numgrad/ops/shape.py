"""Views of all elements in another shape or order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._layout import normal_dim, normal_dims, numel, view_strides
from .._tensor import Tensor, fresh, strided
from .copying import clone, contiguous
from .table import attach, operation, public

__all__ = [
    "alias", "expand", "expand_as", "expand_op", "permute", "permute_op", "reshape", "sizes_of", "squeeze",
    "squeeze_result", "t", "t_op", "transpose", "transpose_op", "unsafe_view", "unsqueeze", "unsqueeze_op", "view",
    "view_of",
]


def view_of(input: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
    """A tensor on the input's memory."""
    start = input._offset if offset is None else offset
    return strided(input._storage, tuple(shape), tuple(strides), start, input._type)


def sizes_of(sizes: tuple[Any, ...]) -> tuple[int, ...]:
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
    return view_of(input, shape, strides)


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
    return view_of(input, input._shape, input._element_strides())


@alias.gradient("input")
def _(grad):
    return grad


def view(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, on the same memory; one size may be -1.

    Raises:
        RuntimeError: the number of elements differs, or only a copy could have this shape.
    """
    return view_as_shape(input, _inferred(sizes_of(shape), numel(input._shape)))


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of ``other``, on the same memory."""
    return view(input, other._shape)


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: on the same memory where possible, else copied."""
    sizes = _inferred(sizes_of(shape), numel(input._shape))
    if view_strides(input._shape, input._element_strides(), sizes) is None:
        return unsafe_view(clone(contiguous(input)) if input._flat is not None else contiguous(input), sizes)
    return view_as_shape(input, sizes)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of ``other``."""
    return reshape(input, other._shape)


@operation("PermuteBackward0", view=True)
def permute_op(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    strides = input._element_strides()
    return view_of(input, [input._shape[d] for d in dims], [strides[d] for d in dims])


@permute_op.gradient("input")
def _(grad, dims):
    return permute_op(grad, tuple(dims.index(d) for d in range(len(dims))))


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order.

    Raises:
        RuntimeError: ``dims`` does not name each dimension once.
    """
    rank, given = len(input._shape), sizes_of(dims)
    order = tuple([normal_dim(d, rank) for d in given]) if len(given) == rank else given
    if sorted(order) != list(range(rank)):
        raise RuntimeError(
            f"permute: dims {list(given)} do not name each dimension of shape {list(input._shape)} once"
        )
    return permute_op(input, order)


@operation("TransposeBackward0", view=True)
def transpose_op(input: Tensor, dim0: int, dim1: int) -> Tensor:
    shape, strides = list(input._shape), list(input._element_strides())
    if shape:
        shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
        strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    return view_of(input, shape, strides)


@transpose_op.gradient("input")
def _(grad, dim0, dim1):
    return transpose_op(grad, dim0, dim1)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    rank = len(input._shape)
    return transpose_op(input, normal_dim(dim0, rank), normal_dim(dim1, rank))


@operation("TBackward0", view=True)
def t_op(input: Tensor) -> Tensor:
    return view_of(input, input._shape[::-1], input._element_strides()[::-1])


@t_op.gradient("input")
def _(grad):
    return t_op(grad)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: the tensor has more than two dimensions.
    """
    if len(input._shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(input._shape)}D")
    return t_op(input)


def _reversed(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return permute_op(self, tuple(range(len(self._shape)))[::-1])


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
    return view_of(input, [input._shape[d] for d in kept], [strides[d] for d in kept])


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
def unsqueeze_op(input: Tensor, dim: int) -> Tensor:
    shape, strides = input._shape, input._element_strides()
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return view_of(input, (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]))


@unsqueeze_op.gradient("input")
def _(grad, dim):
    return squeeze_dim(grad, dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The tensor with a further dimension of size 1 at ``dim``."""
    return unsqueeze_op(input, normal_dim(dim, len(input._shape) + 1))


@operation("ExpandBackward0", view=True)
def expand_op(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    missing = len(shape) - len(input._shape)
    steps = [
        0 if extent == 1 and wanted != 1 else step
        for extent, step, wanted in zip(input._shape, input._element_strides(), shape[missing:], strict=True)
    ]
    return view_of(input, shape, [0] * missing + steps)


@expand_op.gradient("input")
def _(grad):
    return grad  # the engine sums over what was repeated


def expand(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor repeated along dimensions of size 1 (or new ones in front) without copying; -1 keeps a size.

    Raises:
        RuntimeError: a size other than 1 would have to change.
    """
    wanted = sizes_of(sizes)
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
    return expand_op(input, tuple(shape))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of ``other``."""
    return expand(input, other._shape)


for _method in (reshape, permute, transpose, t, squeeze, unsqueeze):
    public(_method)
for _name, _function in {
    "view": view, "view_as": view_as, "reshape_as": reshape_as, "expand": expand, "expand_as": expand_as,
}.items():
    attach(_name, _function)
attach("T", property(_reversed))
attach("mT", property(_matrix_transposed))
