"""Joining tensors along a dimension, and splitting a tensor into its indices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from ...core.layout import Layout, layout_of, normal_dim
from ...core.types import tensor_type
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.physical import expanded
from ..memory.copying import RUNS_FROM, convert, zeros_of
from ..memory.images import following
from ..table.arguments import Dim
from ..table.checks import check, check_index, check_type, check_value
from ..table.dispatch import caller, perform
from ..table.entries import Entries
from ..table.lookup import operation
from ..table.op import composite, public
from ..table.out import write_out
from ..table.promotion import promote_types
from ..table.public_signatures import Several
from .broadcasting import atleast_1d, atleast_2d, atleast_3d
from .dimensions import unsqueeze_op
from .parts import select_op, slice_op
from .views import grad_view, reshape


@operation("UnbindBackward0", public=True, view=True)
def unbind_op(input: Layout, dim: Dim = 0) -> Several:
    """Return the parts of the tensor at every index of a dimension.

    Raises:
        IndexError: if there is no such dimension.

    Example:
        >>> import numgrad
        >>> numgrad.unbind(numgrad.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    check_index(input.shape, "Dimension specified as {} but tensor has no dimensions", dim)
    part, step = select_op.prepare(input, dim, 0)
    return (part,) * input.shape[dim], tuple([index * step for index in range(input.shape[dim])])


@unbind_op.gradient("input")
def _(grad, input_shape, dim):
    """``stack(grad, dim)``, zeros instead of gradients that did not come."""
    grads = grad if isinstance(grad, list) else [grad]
    example = next(g for g in grads if g is not None)
    missing = zeros_of(example._layout.shape, example._layout.type)
    return stack([missing if g is None else g for g in grads], dim)


@operation("CatBackward0", direct=True, inputs=["tensors"], sequence=True, linear=True)
@following("tensors")
def cat_op(p: Plan, tensors: tuple[TensorRef, ...], dim: int, extents: tuple[int | None, ...]) -> TensorRef:
    """Add the steps that join tensors along a dimension; empty 1-D tensors have the extent None and fit any others."""
    first = next(tensor for tensor, extent in zip(tensors, extents, strict=True) if extent is not None)
    shape = (*first.shape[:dim], sum([extent or 0 for extent in extents]), *first.shape[dim + 1 :])
    return _concatenated(p, tensors, dim, layout_of(first.type, shape))


def _concatenated(p: Plan, tensors: Sequence[TensorRef], dim: int, layout: Layout) -> TensorRef:
    """Add the steps that join the tensors along a dimension; tensors without elements are left out."""
    out = p.new_tensor(layout)
    parts, on_gpu = [tensor for tensor in tensors if tensor.size], out.type.device.type != "cpu"
    if (on_gpu or out.size < RUNS_FROM) and all(part.layout.contiguous and part.type is out.type for part in parts):
        p.backend.join_rows(p, parts, dim, out)
        return out
    start = 0
    for each in parts:
        p.assign(each, out.viewed(layout_of(out.type, each.shape, layout.strides), start * layout.strides[dim]))
        start += each.shape[dim]
    return out


@cat_op.batched
def _(tensors, dim, extents):
    if None in extents:
        kept = [pair for pair in zip(tensors, extents, strict=True) if pair[1] is not None]
        tensors, extents = [tuple(part) for part in zip(*kept, strict=True)]
    return cat_op(tuple(map(expanded, tensors)), dim + 1, extents)


@cat_op.gradient("tensors")
def _(grad, dim, extents):
    """``narrow(grad, dim, start, extent)``, the part that the tensor was put at."""
    starts = [sum([e or 0 for e in extents[:i]]) for i in range(len(extents))]
    return [
        zeros_of((0,), grad._layout.type)
        if extent is None
        else grad_view(slice_op, grad, dim, start, start + extent, 1)
        for start, extent in zip(starts, extents, strict=True)
    ]


def checked_tensors(name: str, tensors: Any, argument: int = 0) -> tuple[Tensor, ...]:
    """Return the tensors, given as this argument, as a tuple.

    Raises:
        TypeError: if they are not a sequence of tensors.
    """
    if not isinstance(tensors, tuple | list):
        actual = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {actual}")
    for number, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            kind = type(item).__name__
            raise TypeError(f"expected Tensor as element {number} in argument {argument}, but got {kind}")
    return tuple(tensors)


#: Calls of ``cat`` and ``stack``, by their name, the dimension and the layouts of the tensors.
_calls = Entries()
_known_calls = _calls.recent


@public(method=False, names=["concat", "concatenate"], direct=True)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Tensor:
    """Return the tensors joined along an existing dimension, in the dtype that all can be converted to.

    NumPy's name of the dimension, ``axis``, is accepted, too.

    Raises:
        ValueError: if there are none.
        RuntimeError: if their other sizes differ.

    Example:
        >>> import numgrad
        >>> numgrad.cat([numgrad.tensor([1, 2]), numgrad.tensor([3])])
        tensor([1, 2, 3])
    """
    return _joined("cat", _cat, tensors, dim, out, axis)


@public(method=False, direct=True)
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Tensor:
    """Return the tensors, all of one shape, joined along a new dimension, which may be called ``axis``.

    Raises:
        RuntimeError: if there are none, or their shapes differ.

    Example:
        >>> import numgrad
        >>> numgrad.stack([numgrad.tensor([1, 2]), numgrad.tensor([3, 4])], 1)
        tensor([[1, 3],
                [2, 4]])
    """
    return _joined("stack", _stack, tensors, dim, out, axis)


def _joined(name: str, resolve: Any, tensors: Any, dim: Any, out: Any, axis: Any) -> Tensor:
    """Return the joined tensors, by the operation and the arguments that ``resolve`` returns."""
    if axis is not None:
        check_type(dim == 0, "{}() got multiple values for argument 'dim'", name)
        dim = axis
    if out is not None:
        return write_out(name, out, _joined(name, resolve, tensors, dim, None, None))
    key: Any = None
    if dim.__class__ is int and (tensors.__class__ is list or tensors.__class__ is tuple):
        try:
            parts = [resolve, dim]
            for tensor in tensors:
                parts.append(tensor._layout)
            key = tuple(parts)
            call = _known_calls[key]
        except (KeyError, AttributeError):
            pass
        else:
            return call(*tensors)
    op, joined, *options = resolve(checked_tensors(name, tensors), dim)
    entry, operands = op.entry((joined, *options))
    if key is not None and _calls.again(key) and all(map(operator.is_, operands, tensors)):
        _calls.keep(key, caller(entry))
    return perform(entry, operands)


def _cat(tensors: tuple[Tensor, ...], dim: int) -> tuple[Any, ...]:
    check_value(tensors, "torch.cat(): expected a non-empty list of Tensors")
    dtype = tensors[0]._layout.type.dtype
    for number, tensor in enumerate(tensors):
        check(tensor._layout.shape, "zero-dimensional tensor (at position {}) cannot be concatenated", number)
        dtype = promote_types(dtype, tensor.dtype)
    expected = next((t._layout.shape for t in tensors if t._layout.shape != (0,)), (0,))
    dim = normal_dim(dim, len(expected))
    extents: list[int | None] = []
    for number, tensor in enumerate(tensors):
        shape = tensor._layout.shape
        if shape == (0,) and len(expected) != 1:
            extents.append(None)
            continue
        if len(shape) != len(expected):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(expected)} and {len(shape)} (shapes "
                f"{list(expected)} and {list(shape)})"
            )
        for d, (extent, size) in enumerate(zip(shape, expected, strict=True)):
            if extent != size and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {size} but got size "
                    f"{extent} for tensor number {number} in the list (shapes {list(expected)} and {list(shape)})."
                )
        extents.append(shape[dim])
    return cat_op, tuple([convert(t, dtype) for t in tensors]), dim, tuple(extents)


@operation("StackBackward0", direct=True, inputs=["tensors"], sequence=True, linear=True)
def stack_op(p: Plan, tensors: tuple[TensorRef, ...], dim: int) -> TensorRef:
    dtype = functools.reduce(promote_types, [tensor.type.dtype for tensor in tensors])
    first = tensors[0]
    out = layout_of(tensor_type(dtype, first.type.device), (*first.shape[:dim], len(tensors), *first.shape[dim:]))
    return _concatenated(p, [part.viewed(unsqueeze_op.prepare(part.layout, dim)[0]) for part in tensors], dim, out)


@stack_op.batched
def _(tensors, dim):
    return stack_op(tuple(map(expanded, tensors)), dim + 1)


@stack_op.gradient("tensors")
def _(grad, dim):
    """``unbind(grad, dim)``."""
    return list(unbind_op(grad, dim))


def _stack(tensors: tuple[Tensor, ...], dim: int) -> tuple[Any, ...]:
    check(tensors, "stack expects a non-empty TensorList")
    for number, tensor in enumerate(tensors):
        check(
            tensor._layout.shape == tensors[0]._layout.shape,
            "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {}",
            tensors[0], tensor, number,
        )
    return stack_op, tensors, normal_dim(dim, len(tensors[0]._layout.shape) + 1)


# -- rows, columns, layers ----------------------------------------------------------------------------------------


@composite(method=False, takes_out=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along the columns (vectors along their elements).

    Example:
        >>> import numgrad
        >>> numgrad.hstack([numgrad.tensor([1, 2]), numgrad.tensor([3])])
        tensor([1, 2, 3])
    """
    check(tensors, "hstack expects a non-empty TensorList")
    parts = atleast_1d(tensors)
    return cat(parts, 0 if len(parts[0]._layout.shape) == 1 else 1)


@composite(method=False, names=["row_stack"], takes_out=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along the rows; a vector counts as one row.

    Example:
        >>> import numgrad
        >>> numgrad.vstack([numgrad.tensor([1, 2]), numgrad.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    check(tensors, "vstack expects a non-empty TensorList")
    return cat(atleast_2d(tensors), 0)


@composite(method=False, takes_out=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along dimension 2; a matrix counts as one layer.

    Example:
        >>> import numgrad
        >>> numgrad.dstack((numgrad.ones(2), numgrad.ones(2))).shape
        torch.Size([1, 2, 2])
    """
    check(tensors, "dstack expects a non-empty TensorList")
    return cat(atleast_3d(tensors), 2)


@composite(method=False, takes_out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along the columns; a vector counts as one column.

    Example:
        >>> import numgrad
        >>> numgrad.column_stack((numgrad.tensor([1, 2]), numgrad.tensor([3, 4])))
        tensor([[1, 3],
                [2, 4]])
    """
    check(tensors, "column_stack expects a non-empty TensorList")
    return hstack([t if len(t._layout.shape) > 1 else reshape(t, (t.numel(), 1)) for t in tensors])
