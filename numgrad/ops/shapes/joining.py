"""Joining tensors along a dimension, and taking one apart into its indices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ... import devices
from ..._layout import normal_dim, numel
from ..._tensor import Tensor, fresh
from ..copying import convert, write
from ..new import empty_of, zeros_of
from ..outputs import write_out
from ..promotion import promote_types
from ..reductions.axes import numpy_names
from ..table import operation, public
from .dimensions import atleast_1d, atleast_2d, atleast_3d
from .parts import slice_op
from .views import passed_on, reshape, unsqueeze_op, view_of

__all__ = ["cat", "cat_op", "checked_tensors", "stack", "unbind"]


@operation("UnbindBackward0", view=True, dims=["dim"])
def unbind_op(input: Tensor, dim: int) -> tuple[Tensor, ...]:
    shape, strides = input._layout.shape, input._layout.strides
    rest = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]
    return tuple([view_of(input, *rest, input._offset + i * strides[dim]) for i in range(shape[dim])])


@unbind_op.gradient("input")
def _(grad, input_shape, dim):
    """``stack(grad, dim)``, zeros in place of gradients that did not come."""
    grads = grad if isinstance(grad, list) else [grad]
    given = next(g for g in grads if g is not None)
    missing = zeros_of(given._layout.shape, given._layout.type)
    return stack([missing if g is None else g for g in grads], dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of the tensor at every index of a dimension.

    Raises:
        IndexError: there is no such dimension.
    """
    dim = normal_dim(dim, len(input._layout.shape))
    if not input._layout.shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return unbind_op(input, dim)


@operation("CatBackward0", inputs=["tensors"], sequence=True, linear=True)
def cat_op(tensors: tuple[Tensor, ...], dim: int, extents: tuple[Any, ...]) -> Tensor:
    if None in extents:  # rows of no elements, which may stand beside tensors of any shape
        tensors, extents = _without_empty_rows(tensors, extents)
    layout = tensors[0]._layout
    shape = (*layout.shape[:dim], sum(extents), *layout.shape[dim + 1 :])
    size = numel(shape)
    row = devices.joined(tensors, dim, shape, size)
    if row is not None:
        return fresh(row, shape, layout.type)
    out = empty_of(shape, layout.type)
    start = 0
    for tensor, extent in zip(tensors, extents, strict=True):
        write(slice_op.function(out, dim, start, start + extent, 1), tensor)
        start += extent
    return out


def _without_empty_rows(tensors: Any, extents: Any) -> Any:
    return zip(*[pair for pair in zip(tensors, extents, strict=True) if pair[1] is not None], strict=True)


@cat_op.gradient("tensors")
def _(grad, dim, extents):
    """``narrow(grad, dim, start, extent)``, the part that the tensor was put at."""
    starts = [sum([e or 0 for e in extents[:i]]) for i in range(len(extents))]
    return [
        zeros_of((0,), grad._layout.type)
        if extent is None
        else passed_on(slice_op, grad, dim, start, start + extent, 1)
        for start, extent in zip(starts, extents, strict=True)
    ]


def checked_tensors(name: str, tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as a tuple.

    Raises:
        TypeError: they are no sequence of tensors.
    """
    if not isinstance(tensors, tuple | list):
        given = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}")
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 0, but got {type(tensor).__name__}")
    return tuple(tensors)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **names: Any) -> Tensor:
    """The tensors joined along an existing dimension, in the dtype that all can be converted to.

    The dimension may be called ``axis``, as NumPy calls it.

    Raises:
        ValueError: there are none.
        RuntimeError: their other sizes differ.
    """
    if names:
        dim, _ = numpy_names("cat", names, dim, empty=0)
    if out is not None:
        return write_out("cat", out, cat(tensors, dim))
    given = checked_tensors("cat", tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    layout = given[0]._layout
    if layout.shape and all(t._layout.shape == layout.shape and t._layout.type is layout.type for t in given):
        dim = normal_dim(dim, len(layout.shape))
        return cat_op(given, dim, (layout.shape[dim],) * len(given))
    kind = layout.type.dtype
    for number, tensor in enumerate(given):
        if not tensor._layout.shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {number}) cannot be concatenated")
        kind = promote_types(kind, tensor.dtype)
    expected = next((t._layout.shape for t in given if t._layout.shape != (0,)), (0,))
    dim = normal_dim(dim, len(expected))
    extents: list[int | None] = []
    for number, tensor in enumerate(given):
        shape = tensor._layout.shape
        if shape == (0,) and len(expected) != 1:
            extents.append(None)
            continue
        if len(shape) != len(expected):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)} (shapes "
                f"{list(expected)} and {list(shape)})"
            )
        for place, (extent, wanted) in enumerate(zip(shape, expected, strict=True)):
            if extent != wanted and place != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size "
                    f"{extent} for tensor number {number} in the list (shapes {list(expected)} and {list(shape)})."
                )
        extents.append(shape[dim])
    return cat_op(tuple([convert(t, kind) for t in given]), dim, tuple(extents))


@operation("StackBackward0", inputs=["tensors"], sequence=True, linear=True)
def stack_op(tensors: tuple[Tensor, ...], dim: int) -> Tensor:
    rows = [unsqueeze_op.function(tensor, dim) for tensor in tensors]
    kind = functools.reduce(promote_types, [tensor.dtype for tensor in tensors])
    return cat_op.function(tuple([convert(row, kind) for row in rows]), dim, (1,) * len(rows))


@stack_op.gradient("tensors")
def _(grad, dim):
    """``unbind(grad, dim)``."""
    return list(unbind_op(grad, dim))


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, **names: Any) -> Tensor:
    """The tensors, all of one shape, joined along a new dimension, which may be called ``axis``.

    Raises:
        RuntimeError: there are none, or their shapes differ.
    """
    if names:
        dim, _ = numpy_names("stack", names, dim, empty=0)
    if out is not None:
        return write_out("stack", out, stack(tensors, dim))
    given = checked_tensors("stack", tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    for number, tensor in enumerate(given):
        if tensor._layout.shape != given[0]._layout.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(given[0].shape)} at entry 0 and "
                f"{list(tensor.shape)} at entry {number}"
            )
    return stack_op(given, normal_dim(dim, len(given[0]._layout.shape) + 1))


# -- rows, columns, layers ----------------------------------------------------------------------------------------


def _several(name: str, tensors: Any) -> tuple[Tensor, ...]:
    given = checked_tensors(name, tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return given


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the columns (vectors along their elements)."""
    parts = atleast_1d(_several("hstack", tensors))
    return cat(parts, 0 if len(parts[0]._layout.shape) == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the rows, a vector being one row."""
    return cat(atleast_2d(_several("vstack", tensors)), 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along dimension 2, a matrix being one layer."""
    return cat(atleast_3d(_several("dstack", tensors)), 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors joined along the columns, a vector being one column."""
    given = _several("column_stack", tensors)
    return hstack([t if len(t._layout.shape) > 1 else reshape(t, (t.numel(), 1)) for t in given])


public(unbind)
for _function in (cat, stack, hstack, vstack, dstack, column_stack):
    public(_function, method=False)
public(cat, name="concat", method=False)
public(cat, name="concatenate", method=False)
public(vstack, name="row_stack", method=False)
