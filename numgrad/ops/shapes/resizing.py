"""A tensor is given other memory, or another part of its own: without autograd, which would lose track of it."""

from __future__ import annotations

from typing import Any

from ..._layout import contiguous_strides, numel
from ..._tensor import Tensor, strided
from ...autograd.grad_mode import GRAD, state
from ...autograd.views import check_writable
from ..batches import is_mapped
from ..copying import write
from ..new import zeros_of
from ..one_device import check_one_device
from ..table import check_tensors, public
from .views import sizes_of, view_of
from .windows import as_strided

__all__: list[str] = []


@public(function=False)
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape, in row-major order, of the memory that begins where it does.

    Where that is too small the elements are copied to larger memory, the new ones being 0; tensors that shared the
    old memory keep it.  A tensor that has the shape already stays as it is, with its version.

    Raises:
        RuntimeError: the tensor requires a gradient, or a size is negative.
    """
    if input.requires_grad:
        raise RuntimeError(f"cannot resize variables that require grad (shape {list(input.shape)})")
    shape = sizes_of(sizes)
    if any(size < 0 for size in shape):
        raise RuntimeError(f"resize_: sizes must not be negative, but are {list(shape)}")
    if shape == input._layout.shape:
        return input
    check_writable(input)
    needed = input._offset + numel(shape)
    if needed > input._storage.size:
        input._storage = _enlarged(input, needed)
    _show(input, view_of(input, shape, contiguous_strides(shape)))
    input._counter[0] += 1
    return input


def _enlarged(input: Tensor, size: int) -> Any:
    type, old = input._layout.type, input._storage
    new, count = type.backend.zeros((size,), type), (old.size,)
    write(strided(new, count, (1,), 0, type), strided(old, count, (1,), 0, type))
    return new


@public(function=False)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the shape of another tensor."""
    return resize_(input, the_template._layout.shape)


@public(function=False)
def set_(
    input: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Give the tensor the memory of another one: all of it as that sees it, or, with a ``size``, a part.

    Without a source the tensor has no elements any more.

    Raises:
        RuntimeError: the dtypes differ; the tensor requires a gradient and operations are being recorded; the part
            reaches beyond the memory.
    """
    check_writable(input)
    if is_mapped(input) or (isinstance(source, Tensor) and is_mapped(source)):
        raise RuntimeError("vmap: set_ is not possible: a tensor under vmap has no memory of its own")
    if state.mode & GRAD and input.requires_grad:
        raise RuntimeError(f"set_ has no derivative (shape {list(input.shape)}): detach() the tensor before")
    if source is None:
        source = zeros_of((0,), input._layout.type)
    check_tensors("set_", source=source)
    if source._layout.type is not input._layout.type:
        check_one_device(input, source)
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {input.dtype}")
    if size is not None:
        source = as_strided(source, size, contiguous_strides(tuple(size)) if stride is None else stride, storage_offset)
    _show(input, source)
    input._counter[0] += 1
    return input


def _show(input: Tensor, other: Tensor) -> None:
    """Give the tensor the elements that ``other`` shows."""
    for name in ("_layout", "_offset", "_storage"):
        setattr(input, name, getattr(other, name))
    input._accumulator = None  # the old one expects gradients of the old shape
