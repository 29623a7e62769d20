"""Views of all elements in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.accumulation import Deferred
from ...autograd.grad_mode import TRACED, state
from ...core import types
from ...core.layout import Layout, layout_of, numel, view_strides
from ...devices import Plan, TensorRef
from ...devices.recording import place_read
from ...tensors.tensor import Tensor, tensor_of
from ..batching.batches import is_mapped, mapped, physical, size_of
from ..memory.copying import contiguous
from ..table.arguments import Dim
from ..table.checks import check
from ..table.lookup import lookup, operation
from ..table.op import attach, composite


@operation("AliasBackward0", view=True, dims=(), passed=["input"])
def alias(input: Layout) -> tuple[Layout, int]:
    """Return the whole tensor as a view of itself."""
    return input, 0


@operation("ViewBackward0", aten="view", view=True, dims=(), passed=["input"])
def primal_of(input: Layout) -> tuple[Layout, int]:
    """Return the whole tensor as a view of itself, without its tangents, for forward mode."""
    return input, 0


primal_of.hides_tangents = True
attach("_primal", lambda self: primal_of(self))


def grad_view(op: Any, grad: Tensor, *arguments: Any) -> Tensor:
    """Return a view of a gradient, ``op(grad, *arguments)``, recorded if computations are recorded or transformed.

    Otherwise, the result replaces the gradient: it may be overwritten if the gradient may.  So the view must show all
    elements, or, if a gradient is split, elements that no other part shows.
    """
    if state.mode & TRACED:
        return op(grad, *arguments)
    out = op.function(grad, *arguments)
    out._shared = grad._shared or grad._view is not None
    return out


def in_shape(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the gradient in the input's shape."""
    return grad_view(view_as_shape, grad, shape) if grad._flat is not None else reshape(grad, shape)


def sizes_of(sizes: tuple[Any, ...], named: Any = None, argument: str = "argument 'size'") -> tuple[int, ...]:
    """Return sizes or dimensions given one by one, as one sequence, or by name.

    Raises:
        TypeError: if they are not ints, or missing.
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
    """Return the argument ``name`` for ``rank`` dimensions, one number for all or a sequence, as a tuple."""
    numbers = sizes_of((), value if isinstance(value, tuple | list) else (value,), f"argument '{name}'")
    return numbers * rank if len(numbers) == 1 else numbers


def _as_int(size: Any, argument: str) -> int:
    if not hasattr(size, "__index__"):
        raise TypeError(f"{argument} must be tuple of ints, not {type(size).__name__} ({size!r})")
    return size.__index__()


def _inferred(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the sizes with a -1 replaced by the size that leads to ``count`` elements."""
    if sizes and min(sizes) < 0:
        check(sizes.count(-1) <= 1, "only one dimension can be inferred")
        for position, size in enumerate(sizes):
            check(size >= -1, "invalid shape dimension {} at index {} of shape {}", size, position, sizes)
        known_size = -numel(sizes)
        check(
            known_size != 0 or count != 0,
            "cannot reshape tensor of {} elements into shape {} because the unspecified dimension size -1 can be any "
            "value and is ambiguous", count, sizes,
        )
        if known_size == 0 or count % known_size:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {count}")
        return tuple([count // known_size if size == -1 else size for size in sizes])
    check(numel(sizes) == count, "shape '{}' is invalid for input of size {}", sizes, count)
    return sizes


@operation("ViewBackward0", aten="view", view=True, shapes=["shape"])
def view_as_shape(input: Layout, shape: tuple[int, ...]) -> tuple[Layout, int]:
    strides = view_strides(input.shape, input.strides, shape)
    check(
        strides is not None,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces): shape {} with strides {} cannot be viewed as {}. Use .reshape(...) instead.",
        input, input.strides, shape,
    )
    return layout_of(input.type, shape, strides), 0


@operation("ReshapeAliasBackward0", aten="_reshape_alias", view=True)
def reshape_alias(input: Layout, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Layout, int]:
    """Return the reshaped view of a tensor with gaps, or in another order, that needs no copy."""
    return layout_of(input.type, shape, strides), 0


@reshape_alias.batched
def _(input, shape, strides):
    return view_as_shape(physical(input), (size_of(input), *shape))


@view_as_shape.gradient("input")
@reshape_alias.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    if grad.__class__ is not Deferred:
        return in_shape(grad, input_shape)
    layout = layout_of(grad._layout.type, input_shape)
    return Deferred(layout, lambda: in_shape(grad.compute(), input_shape), grad.pass_on)


view_as_shape.reshapes = True


@operation("UnsafeViewBackward0", aten="_unsafe_view", linear=True, shapes=["shape"])
def unsafe_view(p: Plan, input: TensorRef, shape: tuple[int, ...]) -> TensorRef:
    """Return a reshaped tensor that takes over the memory of a contiguous intermediate result without other users."""
    return p.tensor(p.contiguous(input), input.type, shape)


@unsafe_view.gradient("input")
def _(grad, input_shape):
    """``reshape(grad, input_shape)``."""
    return in_shape(grad, input_shape)


def viewed_as(input: Tensor, dtype: types.dtype) -> Tensor:
    """Return the bytes of a tensor as elements of another dtype, along the last dimension, without recording."""
    layout = input._layout
    if layout.type.dtype is dtype:
        return input._alias()
    names = f"{layout.type.dtype.legacy} as {dtype.legacy} (different element sizes)"
    wide, narrow = dtype.itemsize, layout.type.dtype.itemsize
    shape, strides, offset = layout.shape, layout.strides, input._offset
    check(wide == narrow or shape, "self.dim() cannot be 0 to view {}", names)
    if wide < narrow:
        times = narrow // wide
        check(strides[-1] == 1, "self.stride(-1) must be 1 to view {}, but got {}", names, strides[-1])
        shape, strides = (*shape[:-1], shape[-1] * times), (*[step * times for step in strides[:-1]], 1)
        offset *= times
    elif wide > narrow:
        times = wide // narrow
        place_read(input._storage, "view(dtype)")
        if shape[-1] % times:
            raise RuntimeError(f"self.size(-1) must be divisible by {times} to view {names}, but got {shape[-1]}")
        check(strides[-1] == 1, "self.stride(-1) must be 1 to view {}, but got {}", names, strides[-1])
        steps = {f"stride({dim})": step for dim, step in enumerate(strides[:-1])}
        for what, number in {"storage_offset()": offset, **steps}.items():
            if number % times:
                raise RuntimeError(f"self.{what} must be divisible by {times} to view {names}, but got {number}")
        shape, strides = (*shape[:-1], shape[-1] // times), (*[step // times for step in strides[:-1]], 1)
        offset //= times
    type = types.tensor_type(dtype, layout.type.device)
    if is_mapped(input):
        mapping = input._mapped
        return mapped(mapping.level, viewed_as(mapping.tensor, dtype), mapping.batched)
    row = input._storage
    remainder = row.size * narrow % wide  # bytes that do not fill an element of the other dtype
    whole = row[: row.size - remainder // narrow] if remainder else row
    out = tensor_of(layout_of(type, shape, strides), whole.view(type.numpy), offset)
    out._counter = input._counter
    return out


@lookup(function=False)
def view(input: Layout, *shape: Any, size: Any = None, dtype: types.dtype | None = None) -> Any:
    """Return the same memory in another shape, of which one size may be -1, or as elements of another dtype.

    For another dtype, the last dimension has as many elements as fit in its bytes.  Such a view is not part of the
    graph, as in PyTorch, but shares the version counter.

    Raises:
        RuntimeError: if the number of elements differs, only a copy could have this shape, elements of the other dtype
            would not lie at multiples of their size, or the last dimension has gaps.
    """
    if dtype is None and len(shape) == 1 and isinstance(shape[0], types.dtype):
        dtype = shape[0]
    if dtype is not None:
        return viewed_as, (dtype,)
    sizes = sizes_of(shape, size, "view(): argument 'size'")
    return view_as_shape, (_inferred(sizes, input.size),)


@lookup(function=False)
def view_as(input: Layout, other: Layout) -> Any:
    """Return the elements in the shape of ``other``, on the same memory."""
    return view_as_shape, (_inferred(other.shape, input.size),)


@lookup
def reshape(input: Layout, *sizes: Any, shape: Any = None) -> Any:
    """Return the elements in another shape: on the same memory if possible, otherwise copied.

    Raises:
        RuntimeError: if the number of elements differs.

    Example:
        >>> import numgrad
        >>> numgrad.reshape(numgrad.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    return how_reshaped(input, _inferred(sizes_of(sizes, shape, "reshape(): argument 'shape'"), input.size))


def how_reshaped(input: Layout, shape: tuple[int, ...]) -> Any:
    """Return the function that reshapes a tensor to a shape with as many elements, and its further arguments."""
    if input.contiguous:
        return view_as_shape, (shape,)
    strides = view_strides(input.shape, input.strides, shape)
    if strides is None:
        return lambda tensor: unsafe_view(contiguous(tensor), shape), ()
    return reshape_alias, (shape, strides)


def reshaped(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the tensor reshaped to a shape that has as many elements, without checks."""
    op, arguments = how_reshaped(input._layout, shape)
    return op(input, *arguments)


@composite(function=False)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of ``other``."""
    return reshape(input, other._layout.shape)


@lookup
def flatten(input: Layout, start_dim: Dim = 0, end_dim: Dim = -1) -> Any:
    """Return the tensor with the dimensions ``start_dim`` to ``end_dim`` merged; a vector for a 0-d tensor.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the first comes after the last.

    Example:
        >>> import numgrad
        >>> numgrad.flatten(numgrad.zeros(2, 3, 4), 1).shape
        torch.Size([2, 12])
    """
    shape = input.shape
    check(
        start_dim <= end_dim,
        "flatten() has invalid args: start_dim cannot come after end_dim (start_dim {}, end_dim {}, shape {})",
        start_dim, end_dim, shape,
    )
    if start_dim == end_dim and shape:
        return (lambda input: input), ()
    stop = end_dim + 1
    return how_reshaped(input, (*shape[:start_dim], numel(shape[start_dim:stop]), *shape[stop:]))


@lookup
def unflatten(input: Layout, dim: Dim, sizes: Sequence[int]) -> Any:
    """Return the tensor with one dimension split into several of the given sizes, one of which may be -1.

    Raises:
        IndexError: if there is no such dimension.
        RuntimeError: if the tensor is 0-d, or the sizes do not multiply to that of the dimension.

    Example:
        >>> import numgrad
        >>> numgrad.unflatten(numgrad.arange(4), 0, (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    shape = input.shape
    check(shape, "unflatten: dimension specified as 0 but tensor has no dimensions")
    lengths = sizes_of((), sizes, "unflatten(): argument 'sizes'")
    check(lengths, "unflatten: sizes must be non-empty")
    extent = shape[dim]
    check(lengths.count(-1) <= 1, "unflatten: only one dimension can be inferred, but got sizes {}", lengths)
    given_size = numel(tuple([size for size in lengths if size != -1]))
    if given_size != extent if -1 not in lengths else given_size == 0 or extent % given_size:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(lengths)} don't multiply up to the size of dim {dim} ({extent}) in the "
            f"input tensor (shape {list(input.shape)})"
        )
    split = [extent // given_size if size == -1 else size for size in lengths]
    return view_as_shape, ((*shape[:dim], *split, *shape[dim + 1 :]),)


@lookup
def ravel(input: Layout) -> Any:
    """Return all elements as a vector: on the same memory if they lie in row-major order, otherwise copied.

    Example:
        >>> import numgrad
        >>> numgrad.ravel(numgrad.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    if input.contiguous:
        return view_as_shape, ((input.size,),)
    return lambda tensor: view_as_shape(contiguous(tensor), (input.size,)), ()
