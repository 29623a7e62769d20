"""Views of all elements in another shape or order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import TRACED, state
from ...core.layout import (
    Layout,
    broadcast_strides,
    layout_of,
    normal_dim,
    normal_dims,
    numel,
    view_strides,
)
from ...core.tensor import Tensor, strided
from ..batching.batches import physical, size_of
from ..memory.copying import contiguous, row_reader
from ..table.arguments import Dim
from ..table.lookup import lookup
from ..table.op import composite
from ..table.operation import operation
from ..table.planned import planned


@planned("AliasBackward0", view=True, dims=())
def alias(input: Layout) -> tuple[Layout, int]:
    """The whole tensor as a view of itself."""
    return input, 0


@planned("ViewBackward0", view=True, dims=())
def primal_of(input: Layout) -> tuple[Layout, int]:
    """The same without its tangents, for forward mode."""
    return input, 0


primal_of.hides_tangents = True


@alias.gradient("input")
@primal_of.gradient("input")
def _(grad):
    return grad


def view_of(input: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> Tensor:
    """A tensor on the input's memory."""
    return strided(
        input._storage, tuple(shape), tuple(strides), input._offset if offset is None else offset, input._layout.type
    )


def passed_on(op: Any, grad: Tensor, *arguments: Any) -> Tensor:
    """A view of a gradient, ``op(grad, *arguments)``, recorded where what is computed is followed.

    Where it is not, the result takes the place of the gradient: it may be overwritten if that could.  So it shows all
    elements, or, where a gradient is taken apart, some that no other part shows.
    """
    if state.mode & TRACED:
        return op(grad, *arguments)
    out = op.function(grad, *arguments)
    out._shared = grad._shared or grad._view is not None
    return out


def _restored(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient in the input's shape."""
    return passed_on(view_as_shape, grad, shape) if grad._flat is not None else reshape(grad, shape)


def sizes_of(sizes: tuple[Any, ...], named: Any = None, argument: str = "argument 'size'") -> tuple[int, ...]:
    """Sizes or dimensions given one by one, as one sequence, or by name.

    Raises:
        TypeError: they are no ints, or not given.
    """
    if named is not None:
        sizes = named
    elif len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = tuple(sizes[0])
    elif not sizes:
        raise TypeError(f"{argument} is missing")
    for size in sizes:
        if size.__class__ is not int:
            return tuple([_as_int(size, argument) for size in sizes])
    return tuple(sizes)


def for_each_dimension(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """The argument ``name`` for ``rank`` dimensions, one number for all or a sequence of some, as a tuple."""
    given = sizes_of((), value if isinstance(value, tuple | list) else (value,), f"argument '{name}'")
    return given * rank if len(given) == 1 else given


def _as_int(size: Any, argument: str) -> int:
    if not hasattr(size, "__index__"):
        raise TypeError(f"{argument} must be tuple of ints, not {type(size).__name__} ({size!r})")
    return size.__index__()


def _inferred(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The sizes with a -1 replaced by what is left of ``count`` elements."""
    if sizes and min(sizes) < 0:
        if sizes.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        for place, size in enumerate(sizes):
            if size < -1:
                raise RuntimeError(f"invalid shape dimension {size} at index {place} of shape {list(sizes)}")
        rest = -numel(sizes)
        if rest == 0 and count == 0:
            raise RuntimeError(
                f"cannot reshape tensor of {count} elements into shape {list(sizes)} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        if rest == 0 or count % rest:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
        return tuple([count // rest if size == -1 else size for size in sizes])
    if numel(sizes) != count:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
    return sizes


@planned("ViewBackward0", view=True, shapes=["shape"])
def view_as_shape(input: Layout, shape: tuple[int, ...]) -> tuple[Layout, int]:
    strides = view_strides(input.shape, input.strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            f"two contiguous subspaces): shape {list(input.shape)} with strides {list(input.strides)} cannot be "
            f"viewed as {list(shape)}. Use .reshape(...) instead."
        )
    return layout_of(input.type, shape, strides), 0


@planned("ReshapeAliasBackward0", view=True)
def reshape_alias(input: Layout, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Layout, int]:
    """What reshape makes of a tensor with gaps, or in another order, that needs no copy all the same."""
    return layout_of(input.type, shape, strides), 0


@reshape_alias.batched
def _(input, shape, strides):
    return view_as_shape(physical(input), (size_of(input), *shape))


@view_as_shape.gradient("input")
@reshape_alias.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    return _restored(grad, input_shape)


@planned("UnsafeViewBackward0", linear=True, shapes=["shape"])
def unsafe_view(input: Layout, shape: tuple[int, ...]) -> Any:
    """A reshaped tensor that takes over the memory of a contiguous intermediate result nobody else holds."""
    return layout_of(input.type, shape), row_reader(input)


@unsafe_view.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    return _restored(grad, input_shape)


@lookup(function=False)
def view(input: Layout, *shape: Any, size: Any = None) -> Any:
    """The same elements in another shape, on the same memory; one size may be -1.

    Raises:
        RuntimeError: the number of elements differs, or only a copy could have this shape.
    """
    sizes = sizes_of(shape, size, "view(): argument 'size'")
    return view_as_shape, (_inferred(sizes, input.size),)


@lookup(function=False)
def view_as(input: Layout, other: Layout) -> Any:
    """The same elements in the shape of ``other``, on the same memory."""
    return view_as_shape, (_inferred(other.shape, input.size),)


@lookup
def reshape(input: Layout, *sizes: Any, shape: Any = None) -> Any:
    """The same elements in another shape: on the same memory where possible, else copied.

    Raises:
        RuntimeError: the number of elements differs.
    """
    return how_reshaped(input, _inferred(sizes_of(sizes, shape, "reshape(): argument 'shape'"), input.size))


def how_reshaped(input: Layout, shape: tuple[int, ...]) -> Any:
    """What reshapes a tensor, and its further arguments: to a shape that is known to have as many elements."""
    if input.contiguous:
        return view_as_shape, (shape,)
    strides = view_strides(input.shape, input.strides, shape)
    if strides is None:
        return lambda tensor: unsafe_view(contiguous(tensor), shape), ()
    return reshape_alias, (shape, strides)


def reshaped(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``reshape`` to a shape that is known to have as many elements."""
    op, arguments = how_reshaped(input._layout, shape)
    return op(input, *arguments)


@composite(function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of ``other``."""
    return reshape(input, other._layout.shape)


@planned("PermuteBackward0", view=True)
def permute_op(input: Layout, dims: tuple[int, ...]) -> tuple[Layout, int]:
    return _chosen(input, dims), 0


@permute_op.batched
def _(input, dims):
    return permute_op(physical(input), (0, *[d + 1 for d in dims]))


def _chosen(input: Layout, dims: Sequence[int]) -> Layout:
    """The layout of some of the dimensions."""
    return layout_of(input.type, tuple([input.shape[d] for d in dims]), tuple([input.strides[d] for d in dims]))


@permute_op.gradient("input")
def _(grad, dims):
    """``permute(grad, argsort(dims))``."""
    return passed_on(permute_op, grad, tuple([dims.index(d) for d in range(len(dims))]))


@lookup
def permute(input: Layout, *order: Any, dims: Any = None) -> Any:
    """The dimensions in another order.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: they do not name each dimension once.
    """
    rank, given = len(input.shape), sizes_of(order, dims, "permute(): argument 'dims'")
    if len(given) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(given)}"
        )
    normal = tuple([normal_dim(d, rank) for d in given])
    if len(set(normal)) != rank:
        raise RuntimeError(
            f"permute(): duplicate dims are not allowed. (dims {list(given)}, shape {list(input.shape)})"
        )
    return permute_op, (normal,)


@operation("TransposeBackward0", view=True)
def transpose_op(input: Layout, dim0: Dim, dim1: Dim) -> tuple[Layout, int]:
    """Two dimensions exchanged."""
    exchanged = {dim0: dim1, dim1: dim0}  # of no dimensions, too
    return _chosen(input, [exchanged.get(d, d) for d in range(len(input.shape))]), 0


@transpose_op.gradient("input")
def _(grad, dim0, dim1):
    return passed_on(transpose_op, grad, dim0, dim1)


def how_transposed(input: Layout, dim0: int, dim1: int) -> Any:
    """What exchanges two dimensions, and its further arguments."""
    rank = len(input.shape)
    return transpose_op, (normal_dim(dim0, rank), normal_dim(dim1, rank))


@operation("TBackward0", view=True)
def t_op(input: Layout) -> tuple[Layout, int]:
    """The transpose of a matrix; a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: the tensor has more than two dimensions.
    """
    if len(input.shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(input.shape)}D")
    return layout_of(input.type, input.shape[::-1], input.strides[::-1]), 0


@t_op.batched
def _(input):
    return transpose_op(physical(input), 1, max(len(input._layout.shape), 1))


@t_op.gradient("input")
def _(grad):
    return passed_on(t_op, grad)


t = t_op.public


def _squeezed(input: Layout, dims: Sequence[int]) -> tuple[Layout, int]:
    """The layout without those of ``dims`` that have size 1."""
    return _chosen(input, [d for d, extent in enumerate(input.shape) if extent != 1 or d not in dims]), 0


@planned("SqueezeBackward0", view=True)
def squeeze_all(input: Layout) -> tuple[Layout, int]:
    return _squeezed(input, range(len(input.shape)))


@planned("SqueezeBackward1", view=True, dims=["dim"])
def squeeze_dim(input: Layout, dim: int) -> tuple[Layout, int]:
    return _squeezed(input, (dim,))


@planned("SqueezeBackward2", view=True, dims=["dims"])
def squeeze_dims(input: Layout, dims: tuple[int, ...]) -> tuple[Layout, int]:
    return _squeezed(input, dims)


@squeeze_all.batched
def _(input):
    return squeeze_dims(physical(input), tuple(range(1, len(input._layout.shape) + 1)))


@planned("SqueezeBackward4", linear=True, dims=["dim"])
def squeeze_result(input: Layout, dim: int) -> Any:
    """A result of one row as a vector: it takes over the memory, as PyTorch's in-place squeeze does."""
    return layout_of(input.type, input.shape[:dim] + input.shape[dim + 1 :]), row_reader(input)


@squeeze_all.gradient("input")
@squeeze_dim.gradient("input")
@squeeze_dims.gradient("input")
@squeeze_result.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    return _restored(grad, input_shape)


@lookup
def squeeze(input: Layout, dim: int | Sequence[int] | None = None) -> Any:
    """The tensor without its dimensions of size 1, or without those of ``dim`` that have it."""
    if dim is None:
        return squeeze_all, ()
    if not isinstance(dim, Sequence):
        return squeeze_dim, (normal_dim(dim, len(input.shape)),)
    return squeeze_dims, (normal_dims(dim, len(input.shape)) if dim else (),)


@planned("UnsqueezeBackward0", view=True, dims=["dim"])
def unsqueeze_op(input: Layout, dim: int) -> tuple[Layout, int]:
    shape, strides = input.shape, input.strides
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return layout_of(input.type, (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:])), 0


@unsqueeze_op.gradient("input")
def _(grad, dim):
    return passed_on(squeeze_dim, grad, dim)


@lookup
def unsqueeze(input: Layout, dim: int) -> Any:
    """The tensor with a further dimension of size 1 at ``dim``.

    Raises:
        IndexError: ``dim`` is beyond the dimensions that the result has.
    """
    return unsqueeze_op, (normal_dim(dim, len(input.shape) + 1),)


@planned("ExpandBackward0", view=True)
def expand_op(input: Layout, shape: tuple[int, ...]) -> tuple[Layout, int]:
    missing = len(shape) - len(input.shape)
    strides = list(broadcast_strides(input.shape, input.strides, shape))
    for dim in range(missing - 1, -1, -1):
        if shape[dim] == 1:
            strides[dim] = shape[dim + 1] * strides[dim + 1] if dim + 1 < len(shape) else 1
    return layout_of(input.type, shape, tuple(strides)), 0


@expand_op.batched
def _(input, shape):
    size, own = size_of(input), input._layout.shape
    return expand_op(reshape(physical(input), (size, *(1,) * (len(shape) - len(own)), *own)), (size, *shape))


@expand_op.gradient("input")
def _(grad):
    return grad  # the engine sums over what was repeated


@lookup(function=False)
def expand(input: Layout, *sizes: Any, size: Any = None) -> Any:
    """The tensor repeated along dimensions of size 1 (or new ones in front) without copying; -1 keeps a size.

    Raises:
        RuntimeError: a size other than 1 would have to change.
    """
    wanted = sizes_of(sizes, size, "expand(): argument 'size'")
    missing = len(wanted) - len(input.shape)
    if missing < 0:
        raise RuntimeError(
            f"expand({input.type.name}{{{list(input.shape)}}}, size={list(wanted)}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(input.shape)})"
        )
    shape = []
    for position, goal in enumerate(wanted):
        extent = input.shape[position - missing] if position >= missing else None
        if goal < 0 and extent is None:
            raise RuntimeError(
                f"The expanded size of the tensor ({goal}) isn't allowed in a leading, non-existing dimension "
                f"{position}"
            )
        if goal != -1 and (goal < 0 or extent not in (None, 1, goal)):
            raise RuntimeError(
                f"The expanded size of the tensor ({goal}) must match the existing size ({extent}) at non-singleton "
                f"dimension {position}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(input.shape)}"
            )
        shape.append(extent if goal == -1 else goal)
    return expand_op, (tuple(shape),)


@composite(function=False)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of ``other``."""
    return expand(input, other._layout.shape)
