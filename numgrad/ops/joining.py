"""Taking a tensor apart along a dimension, and joining tensors along one."""

from __future__ import annotations

from collections.abc import Sequence

from .. import devices
from .._layout import normal_dim
from .._tensor import Tensor, fresh
from .copying import convert, write
from .parts import slice_op
from .promotion import promote_types
from .shape import unsqueeze_op, view_of
from .table import operation, public

__all__ = ["cat", "stack", "unbind"]


@operation("UnbindBackward0", view=True)
def unbind_op(input: Tensor, dim: int) -> tuple[Tensor, ...]:
    shape, strides = input._shape, input._element_strides()
    rest = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]
    return tuple([view_of(input, *rest, input._offset + i * strides[dim]) for i in range(shape[dim])])


@unbind_op.gradient("input")
def _(grad, input_shape, dim):
    grads = grad if isinstance(grad, list) else [grad]
    given = next(g for g in grads if g is not None)
    missing = fresh(devices.zeros(given._shape, given._type), given._shape, given._type)
    return stack([missing if g is None else g for g in grads], dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of the tensor at every index of a dimension."""
    return unbind_op(input, normal_dim(dim, len(input._shape)))


@operation("CatBackward0", inputs=["tensors"], sequence=True)
def cat_op(tensors: tuple[Tensor, ...], dim: int, extents: tuple[int, ...]) -> Tensor:
    first = tensors[0]
    shape = (*first._shape[:dim], sum(extents), *first._shape[dim + 1 :])
    out = fresh(devices.empty(shape, first._type), shape, first._type)
    start = 0
    for tensor, extent in zip(tensors, extents, strict=True):
        write(slice_op.function(out, dim, start, start + extent, 1), tensor)
        start += extent
    return out


@cat_op.gradient("tensors")
def _(grad, dim, extents):
    starts = [sum(extents[:i]) for i in range(len(extents))]
    return [slice_op(grad, dim, s, s + extent, 1) for s, extent in zip(starts, extents, strict=True)]


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
    return cat_op(parts, dim, tuple([t._shape[dim] for t in parts]))


@operation("StackBackward0", inputs=["tensors"], sequence=True)
def stack_op(tensors: tuple[Tensor, ...], dim: int) -> Tensor:
    return cat([unsqueeze_op(tensor, dim) for tensor in tensors], dim)


@stack_op.gradient("tensors")
def _(grad, dim):
    return list(unbind_op(grad, dim))


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
    return stack_op(tensors, normal_dim(dim, len(tensors[0]._shape) + 1))


public(unbind)
public(cat, method=False)
public(stack, method=False)
