"""Dimensions merged, split, moved, added or repeated, by the views of ``views``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core import layout as layouts
from ...core.layout import Layout, normal_dim
from ...core.tensor import Tensor
from ...core.types import Size, size_of
from ..memory.copying import contiguous, same
from ..pointwise.arithmetic import conj
from ..table.lookup import lookup
from ..table.op import attach, check_tensors, composite, named, public
from .views import (
    alias,
    expand,
    expand_op,
    how_reshaped,
    how_transposed,
    permute_op,
    reshape,
    sizes_of,
    transpose_op,
    unsqueeze_op,
    view_as_shape,
)


@lookup
def flatten(input: Layout, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from ``start_dim`` to ``end_dim`` as one; a 0-d tensor becomes one of a single element.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the first comes after the last.
    """
    shape = input.shape
    first, last = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError(
            "flatten() has invalid args: start_dim cannot come after end_dim "
            f"(start_dim {start_dim}, end_dim {end_dim}, shape {list(shape)})"
        )
    if first == last and shape:
        return same, ()
    return how_reshaped(input, (*shape[:first], layouts.numel(shape[first : last + 1]), *shape[last + 1 :]))


@lookup
def unflatten(input: Layout, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension as several, of the sizes given, one of which may be -1.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the tensor is 0-d, or the sizes do not multiply to that of the dimension.
    """
    shape = input.shape
    dim = normal_dim(dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten: dimension specified as 0 but tensor has no dimensions")
    wanted = sizes_of((), sizes, "unflatten(): argument 'sizes'")
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    extent = shape[dim]
    if wanted.count(-1) > 1:
        raise RuntimeError(f"unflatten: only one dimension can be inferred, but got sizes {list(wanted)}")
    known = layouts.numel(tuple([size for size in wanted if size != -1]))
    if known != extent if -1 not in wanted else known == 0 or extent % known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {dim} ({extent}) in the "
            f"input tensor (shape {list(input.shape)})"
        )
    split = [extent // known if size == -1 else size for size in wanted]
    return view_as_shape, ((*shape[:dim], *split, *shape[dim + 1 :]),)


@lookup
def ravel(input: Layout) -> Any:
    """All elements in a row: on the same memory where they lie in row-major order, else copied."""
    if input.contiguous:
        return view_as_shape, ((input.size,),)
    return lambda tensor: view_as_shape(contiguous(tensor), (input.size,)), ()


@lookup(names=["moveaxis"])
def movedim(input: Layout, source: Any, destination: Any) -> Any:
    """The dimensions ``source`` (one or several) moved to the places ``destination``, the others in their order.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice, or the numbers of dimensions differ.
    """
    rank = len(input.shape)
    given = [sizes_of((), d if isinstance(d, tuple | list) else (d,)) for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(given[0])} dims) should contain the same "
            f"number of dims as destination ({list(given[1])} dims)"
        )
    origins, places = [[normal_dim(d, rank) for d in dims] for dims in given]
    for name, dims, normal in zip(("source", "destination"), given, (origins, places), strict=True):
        if len(set(normal)) != len(normal):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not rank:
        return alias, ()
    rest = iter([d for d in range(rank) if d not in origins])
    moved = dict(zip(places, origins, strict=True))
    return permute_op, (tuple([moved[place] if place in moved else next(rest) for place in range(rank)]),)


@lookup
def swapaxes(input: Layout, axis0: int, axis1: int) -> Any:
    """Two dimensions exchanged: NumPy's name of ``transpose``."""
    return how_transposed(input, axis0, axis1)


@lookup
def swapdims(input: Layout, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged: another name of ``transpose``."""
    return how_transposed(input, dim0, dim1)


# -- transposes ---------------------------------------------------------------------------------------------------


@lookup(export=False)
def _reversed(self: Layout) -> Any:
    """The dimensions in reverse order."""
    return permute_op, (tuple(range(len(self.shape)))[::-1],)


def _check_matrices(input: Layout, name: str) -> None:
    if len(input.shape) == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {len(input.shape)}-D tensor."
        )


@lookup(export=False)
def _matrix_transposed(self: Layout) -> Any:
    """The last two dimensions exchanged."""
    _check_matrices(self, "mT")
    rank = len(self.shape)
    return transpose_op, (rank - 2, rank - 1) if rank else (0, 0)


def _adjoint_matrix(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated."""
    _check_matrices(self._layout, "mH")
    return conj(_matrix_transposed(self))


def _conjugate_transposed(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if len(self._layout.shape) not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if len(self._layout.shape) > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(self._layout.shape)}-D tensor.{hint}"
        )
    return _adjoint_matrix(self)


@composite
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, complex numbers conjugated.

    Raises:
        RuntimeError: the tensor is a vector.
    """
    _check_matrices(input._layout, "adjoint()")
    return _adjoint_matrix(input)


# -- more dimensions ----------------------------------------------------------------------------------------------


def _for_each(function: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Decorate a function of one tensor: of several, or of a sequence of them, it gives a tuple."""
    name = function.__name__

    def call(*tensors: Any) -> Any:
        several = len(tensors) != 1 or isinstance(tensors[0], tuple | list)
        given = tensors[0] if several and len(tensors) == 1 else tensors
        for tensor in given:
            check_tensors(name, input=tensor)
        results = tuple([function(tensor) for tensor in given])
        return results if several else results[0]

    return composite(named(call, name, function.__doc__), method=False)


@_for_each
def atleast_1d(input: Tensor) -> Tensor:
    """The tensor with at least one dimension; several tensors, also as a sequence, give a tuple."""
    return input if input._layout.shape else reshape(input, (1,))


@_for_each
def atleast_2d(input: Tensor) -> Tensor:
    """The tensor with at least two dimensions, new ones in front; several tensors give a tuple."""
    if not input._layout.shape:
        return reshape(input, (1, 1))
    return unsqueeze_op(input, 0) if len(input._layout.shape) == 1 else input


@_for_each
def atleast_3d(input: Tensor) -> Tensor:
    """The tensor with at least three dimensions, a vector being (1, n, 1) and a matrix (n, m, 1)."""
    if not input._layout.shape:
        return reshape(input, (1, 1, 1))
    if len(input._layout.shape) == 1:
        return unsqueeze_op(unsqueeze_op(input, 0), 2)
    return unsqueeze_op(input, 2) if len(input._layout.shape) == 2 else input


@composite
def broadcast_to(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The tensor expanded to a shape: ``expand``, with NumPy's name."""
    return expand(input, sizes_of(sizes, size, "broadcast_to(): argument 'size'"))


@composite(method=False)
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors, given one by one or as one sequence, expanded to their common shape.

    Raises:
        RuntimeError: they have none.
    """
    several: Any = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], tuple | list) else tensors
    if not several:
        raise RuntimeError("expected a non-empty list of Tensors")
    shape = layouts.broadcast_shapes(*[tensor._layout.shape for tensor in several])
    return tuple([tensor if tensor._layout.shape == shape else expand_op(tensor, shape) for tensor in several])


@public(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes (ints stand for one dimension) have when they are broadcast.

    Raises:
        RuntimeError: there is none.
        ValueError: a size is negative.
    """
    normal = [(shape,) if isinstance(shape, int) else tuple(map(operator.index, shape)) for shape in shapes]
    if any(extent < 0 for shape in normal for extent in shape):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    result = [1] * max(map(len, normal), default=0)
    for number, shape in enumerate(normal):
        for place in range(-1, -len(shape) - 1, -1):
            if result[place] == 1:
                result[place] = shape[place]
            elif shape[place] not in (1, result[place]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[place]} at {place}! Mismatching argument at "
                    f"index {number} had {shape}; but expected shape should be broadcastable to {result}"
                )
    return size_of(tuple(result))


# -- what a tensor is ---------------------------------------------------------------------------------------------


@public(method=False)
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._layout.size


@public(method=False, direct=True)
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@public
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero.

    Raises:
        RuntimeError: the tensor has more or fewer elements than one.
    """
    return bool(input)


@public
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return input._layout.shape == other._layout.shape


@public(function=False)
def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self._layout.shape)


attach("T", property(_reversed))
attach("mT", property(_matrix_transposed))
attach("H", property(_conjugate_transposed))
attach("mH", property(_adjoint_matrix))
