"""In-place changes of a tensor's shape, to the shape of one of its views or to any other."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...autograd.calls import transformed
from ...autograd.grad_mode import GRAD, TRANSFORMED, state
from ...autograd.views import check_writable, reshaped_in_place
from ...core.formats import formatted_layout, has_channels_last, new_format
from ...core.layout import contiguous_strides, layout_of, normal_dim, numel
from ...core.types import channels_last, channels_last_3d, preserve_format
from ...devices.recording import place_read
from ...tensors.tensor import Tensor, check_one_device, show_elements_of, strided, tensor_of
from ..batching.batches import is_mapped
from ..memory.copying import write, zeros_of
from ..table.checks import check
from ..table.op import public
from ..table.planned import Planned
from ..table.transforms import ShapeCall
from .dimensions import squeeze, squeeze_all, squeeze_dim, squeeze_dims, t_op, transpose_op, unsqueeze_op
from .views import sizes_of
from .windows import as_strided, as_strided_op, is_shown, strided_arguments

#: Views whose shape a tensor may take on in place, recorded by nodes of these names.
_RECORDED = {
    op: op.recorded_by(node)
    for op, node in (
        (t_op, "TBackward1"), (transpose_op, "TransposeBackward1"), (unsqueeze_op, "UnsqueezeBackward1"),
        (squeeze_all, "SqueezeBackward3"), (squeeze_dim, "SqueezeBackward4"), (squeeze_dims, "SqueezeBackward5"),
        (as_strided_op, "AsStridedBackward1"),
    )
}


def _in_place(op: Planned, input: Tensor, *args: Any) -> Tensor:
    """Give the tensor the shape of its view by ``op``."""
    if state.mode & TRANSFORMED:
        return transformed(ShapeCall(op, functools.partial(_in_place, op), (input, *args)))
    check_writable(input)
    seen = _RECORDED[op](input, *args)
    show_elements_of(input, seen)
    input._counter[0] += 1
    reshaped_in_place(input, seen._edge and seen._edge[0], (op, args))
    return input


@public(function=False, direct=True)
def t_(input: Tensor) -> Tensor:
    """Exchange the two dimensions of a matrix in place; leave a tensor of fewer dimensions as it is.

    Raises:
        RuntimeError: if the tensor has more than two dimensions.
    """
    if len(input._layout.shape) > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {len(input._layout.shape)}D")
    return _in_place(t_op, input)


@public(function=False, names=["swapaxes_", "swapdims_"], direct=True)
def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions in place.

    Raises:
        IndexError: if there is no such dimension.
    """
    rank = len(input._layout.shape)
    return _in_place(transpose_op, input, normal_dim(dim0, rank), normal_dim(dim1, rank))


@public(function=False, direct=True)
def squeeze_(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Remove the dimensions of size 1 in place, or those of ``dim`` that have size 1.

    Raises:
        IndexError: if there is no such dimension.
    """
    op, dims = squeeze.resolve(input._layout, dim)
    return _in_place(op, input, *dims)


@public(function=False, direct=True)
def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 at ``dim`` in place.

    Raises:
        IndexError: if ``dim`` is beyond the dimensions of the result.
    """
    return _in_place(unsqueeze_op, input, normal_dim(dim, len(input._layout.shape) + 1))


@public(function=False, direct=True)
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Show another part of the tensor's storage in place; see :func:`numgrad.as_strided`."""
    place_read(input._storage, "as_strided_()")
    arguments = strided_arguments(input, size, stride, storage_offset)
    check(
        not input.requires_grad or input._view is None or is_shown(*arguments),
        "as_strided_({}, {}) shows elements that the tensor of shape {} does not have, and cannot be recorded: use "
        "as_strided()", size, stride, input,
    )
    return _in_place(as_strided_op, input, *arguments)


@public(function=False)
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape; its elements start at the present offset of its memory.

    The elements lie in row-major order, or in that of a memory format.  If the memory is too small, the elements are
    copied to larger memory, in which the new elements are 0.  Tensors that shared the old memory keep it.  A tensor
    that already has the shape stays as it is, with its version.

    Raises:
        RuntimeError: if the tensor requires a gradient, a size is negative, or the format is for other shapes.
    """
    check(not input.requires_grad, "cannot resize variables that require grad", input)
    shape = sizes_of(sizes)
    check(all(size >= 0 for size in shape), "resize_: sizes must not be negative, but are {}", shape)
    layout = layout_of(input._layout.type, shape)
    if memory_format is not None:
        layout = formatted_layout(layout, new_format(memory_format))
    if shape == input._layout.shape and (memory_format is None or layout is input._layout):
        return input
    check_writable(input)
    place_read(input._storage, "resize_()")
    needed = input._offset + numel(shape)
    if needed > input._storage.size:
        input._storage = _enlarged(input, needed)
    _show(input, tensor_of(layout, input._storage, input._offset))
    input._counter[0] += 1
    return input


def _enlarged(input: Tensor, size: int) -> Any:
    type, old = input._layout.type, input._storage
    new, count = type.backend.zeros((size,), type), (old.size,)
    write(strided(new, count, (1,), 0, type), strided(old, count, (1,), 0, type))
    return new


@public
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the shape of another one, as ``resize_`` does.

    With ``preserve_format``, it takes on the other tensor's memory format, too.
    """
    layout = the_template._layout
    if memory_format is preserve_format:
        rank = len(layout.shape)
        memory_format = (channels_last if rank == 4 else channels_last_3d) if has_channels_last(layout) else None
    return resize_(input, layout.shape, memory_format=memory_format)


@public(function=False)
def set_(
    input: Tensor, source: Tensor | None = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Give the tensor the memory of another one: all of it in the same layout, or, with a ``size``, a part.

    Without a source, the tensor becomes empty.

    Raises:
        RuntimeError: if the dtypes differ, the tensor requires a gradient while operations are recorded, or the part is
            out of the bounds of the memory.
    """
    check_writable(input)
    if is_mapped(input) or (isinstance(source, Tensor) and is_mapped(source)):
        raise RuntimeError("vmap: set_ is not possible: a tensor under vmap has no memory of its own")
    if state.mode & GRAD and input.requires_grad:
        raise RuntimeError(f"set_ has no derivative (shape {list(input.shape)}): detach() the tensor first")
    if source is None:
        source = zeros_of((0,), input._layout.type)
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
    show_elements_of(input, other)
    input._accumulator = None  # the old one expects gradients of the old shape
