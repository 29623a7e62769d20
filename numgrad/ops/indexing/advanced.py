"""Reading and writing at indices given by tensors: the operations behind ``x[indices]`` and ``index_put``.

Index tensors, integers or masks, are combined into one flat index (see ``launchers``) and checked before any
computation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import devices
from ...autograd.grad_mode import ORDINARY, state
from ...core.device import CPU
from ...core.layout import Ints, Layout, all_dims, broadcast_shapes, layout_of
from ...core.types import bool_, int32, int64, tensor_type, uint8
from ...devices import Plan
from ...tensors.tensor import Tensor, check_in_place, check_one_device, tensor_of
from ..batching.batches import is_batched, physical_of
from ..batching.examples import refused
from ..memory.copying import buffer_of, convert
from ..memory.moving import placed
from ..pointwise.arithmetic import add, mul
from ..pointwise.integers import from_start
from ..table.checks import check, check_type
from ..table.dispatch import caller, change
from ..table.entries import Entries
from ..table.op import public
from ..table.operands import check_apart
from .index import index_op, index_put_op
from .launchers import check_held, expanded_layout
from .masking import flat_nonzero_op, nonzero_op


class Selection(NamedTuple):
    """Selection by index tensors: a flat index over ``dims``, ``distinct`` if no element occurs twice."""

    flat_index: Tensor
    dims: Ints
    distinct: bool


_not_batched = refused(
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)


@_not_batched
def _mask_indices(mask: Tensor) -> Tensor:
    """Return, for each dimension, the indices of the nonzero elements of a tensor."""
    return nonzero_op.function(mask, True)


@_not_batched
def _mask_index(mask: Tensor) -> Tensor:
    """Return the flat index of the nonzero elements of a tensor, as a vector."""
    return flat_nonzero_op.function(mask)


def only_tensors(index: Any) -> Sequence[Tensor] | None:
    """Return the tensors of an index; None if it contains anything else, or a tensor without dimensions."""
    if index.__class__ is tuple:
        for item in index:
            if not (isinstance(item, Tensor) and item._layout.shape):
                return None
        return index or None
    return (index,) if isinstance(index, Tensor) and index._layout.shape else None


def indexed(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Return the elements that the index tensors select, see :func:`selected`."""
    plan = _plan(input, indices, index_op) if state.mode <= ORDINARY else None
    try:
        if plan is not None:
            return plan.run(input, plan.flat_index(indices))
        flat_index, dims, distinct = selected(input, indices)
        return index_op(input, flat_index, dims, distinct)
    except devices.OutOfBoundsError as error:
        raise _outside(error, dims if plan is None else plan.dims) from None


class _IndexPlan(NamedTuple):
    """Plan for int64 indices, or a mask, if it depends on layouts alone.

    Attributes:
        dims: the indexed dimensions.
        fold: the function that makes a flat index from several index tensors, or from a mask; None if the only index is
            the flat index.
        run: the call of the operation, or its entry.
    """

    dims: Ints
    fold: Callable[..., Tensor] | None
    run: Any

    def flat_index(self, indices: Sequence[Tensor | None]) -> Tensor:
        if self.fold is None:
            return indices[self.dims[0]]  # type: ignore[return-value]
        if len(indices) > len(self.dims):
            indices = [index for index in indices if index is not None]
        return self.fold(*indices)


def _plan(input: Tensor, indices: Sequence[Tensor | None], op: Any, values: Any = None) -> _IndexPlan | None:
    """Return the plan that reads a tensor at these indices or writes values there; None if there is none."""
    layouts = [None if index is None else index._layout for index in indices]
    key = op, input._layout, None if values is None else values._layout, *layouts
    plan = _plans.find(key)
    if plan is None:
        plan = _plans.make(key, lambda again: _planned(again, *key) or False)
    return plan or None


#: Plans by the operation and the layouts; False where there is none.
_plans = Entries()


def _planned(again: bool, op: Any, input: Layout, values: Layout | None, *indices: Layout | None) -> _IndexPlan | None:
    """Return the plan for these layouts; None for combined masks, indices to convert, and invalid indices."""
    present = tuple([index for index in indices if index is not None])
    dims = tuple([dim for dim, index in enumerate(indices) if index is not None])
    if values is None and len(indices) == 1 and present[0].type == tensor_type(bool_, input.type.device):
        return _planned_mask(input, present[0], again)
    if len(indices) > len(input.shape) or any(
        index.type.dtype is not int64 or index.type.device is not input.type.device for index in present
    ):
        return None
    flat_index, fold = present[0], None
    if len(dims) != 1:
        flat_index, fold = _folding(present, tuple([input.shape[dim] for dim in dims]), dims)
    if values is None:
        return _IndexPlan(dims, fold, caller(op.prepared((input, flat_index, dims, False), again=again), again))
    if values.type is not input.type:
        return None
    return _IndexPlan(dims, fold, op.prepared((input, flat_index, values, dims, False, False), True, again))


def _planned_mask(input: Layout, mask: Layout, again: bool) -> _IndexPlan | None:
    """Return the plan that reads a tensor where a mask is true."""
    dims = all_dims(mask.shape)
    if mask.shape != input.shape[: len(dims)]:
        return None
    find = flat_nonzero_op.prepared((mask,), again=again).launch
    return _IndexPlan(
        dims, lambda mask: tensor_of(*find(mask)), lambda input, flat_index: index_op(input, flat_index, dims, True)
    )


def selected(input: Tensor, indices: Sequence[Tensor | None]) -> Selection:
    """Return the selection of the index tensors: one for each dimension of the input (masks for several), or None.

    Raises:
        IndexError: if a tensor is not an index, there are too many, a mask has another shape, an index is out of
            bounds, or the indices do not broadcast.
        RuntimeError: if a tensor is on a GPU, and the input on another device.
    """
    shape, dim = input._layout.shape, 0
    indexed_dims: list[tuple[Tensor, int]] = []
    for index in indices:
        if index is None:
            dim += 1
            continue
        dtype = index._layout.type.dtype
        if dtype not in (int64, bool_, int32, uint8):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if index._layout.type.device is not input._layout.type.device:
            index = _on_device_of(index, input)
        indexed_dims.append((index, dim))
        dim += len(index._layout.shape) if dtype in (bool_, uint8) else 1
    if dim > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    for index, dim in indexed_dims:
        if index._layout.type.dtype in (bool_, uint8):
            _check_mask(index, shape, dim)
        elif is_batched(index):  # operations make its flat index, and they do not check bounds
            _check_bounds(index, shape, dim)
    if len(indexed_dims) == 1:
        index, dim = indexed_dims[0]
        if index._layout.type.dtype in (bool_, uint8):
            return Selection(_mask_index(index), tuple(range(dim, dim + len(index._layout.shape))), True)
        return Selection(convert(index, int64), (dim,), False)
    return _combined(input, indexed_dims)


def _on_device_of(index: Tensor, input: Tensor) -> Tensor:
    """Return an index tensor on the CPU copied to the device of its input."""
    check(
        index._layout.type.device is CPU,
        "indices should be either on cpu or on the same device as the indexed tensor ({}), but one is on {}",
        input.device, index.device,
    )
    return placed(index, input._layout.type.device)


def _check_mask(mask: Tensor, shape: Ints, dim: int) -> None:
    if mask._layout.type.dtype is uint8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning,
            stacklevel=4,
        )
    for position, extent in enumerate(mask._layout.shape):
        if extent != shape[dim + position]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {position} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {dim + position}"
            )


def _check_bounds(index: Tensor, shape: Ints, dim: int) -> None:
    wrong = index._layout.type.backend.outside(buffer_of(physical_of(index)), -shape[dim], shape[dim])
    if wrong is not None:
        raise _outside(devices.OutOfBoundsError(wrong, shape[dim]), (dim,))


def _outside(error: devices.OutOfBoundsError, dims: Ints) -> IndexError:
    """Return the error for an index out of bounds, with the dimension if only one is indexed."""
    return IndexError(f"{error.args[0].replace('dimension', f'dimension {dims[0]}')}") if len(dims) == 1 else error


def _combined(input: Tensor, indexed_dims: list[tuple[Tensor, int]]) -> Selection:
    """Return the selection by several indices: one flat index over all their dimensions."""
    parts: list[tuple[Tensor, int]] = []  # an index for each dimension
    for index, dim in indexed_dims:
        if index._layout.type.dtype in (bool_, uint8):
            rows = physical_of(_mask_indices(index))
            layout = layout_of(rows._layout.type, rows._layout.shape[1:])
            parts += [
                (tensor_of(layout, rows._storage, n * layout.size), dim + n) for n in range(len(index._layout.shape))
            ]
        else:
            parts.append((index, dim))
    dims = tuple([dim for _, dim in parts])
    if any(is_batched(index) for index, _ in parts):
        return Selection(_folded_by_operations(input._layout.shape, parts), dims, False)
    indices = [physical_of(index) for index, _ in parts]
    if len(indices) == 1:
        return Selection(indices[0], dims, False)
    sizes = tuple([input._layout.shape[dim] for dim in dims])
    _, fold = _folding([index._layout for index in indices], sizes, dims)
    return Selection(fold(*indices), dims, False)


def _folding(indices: Sequence[Layout], sizes: Ints, dims: Ints) -> tuple[Layout, Callable[..., Tensor]]:
    """Return the layout of the flat index over these dimensions, and the function that folds indices into it."""
    shapes = [index.shape for index in indices]
    try:
        shape = broadcast_shapes(*shapes)
    except RuntimeError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join([str(list(s)) for s in shapes])
        ) from None
    type = indices[0].type
    p = Plan(type.backend, type.device.index)
    expanded = [p.contiguous(p.operand(index).viewed(expanded_layout(index, shape)), int64) for index in indices]
    flat_index = p.tensor(p.backend.fold_indices(p, expanded, sizes, dims), type.with_dtype(int64), shape)
    fold, layout = p.returns(flat_index), flat_index.layout
    return layout, lambda *indices: tensor_of(layout, fold(*indices))


def _folded_by_operations(shape: Ints, parts: list[tuple[Tensor, int]]) -> Tensor:
    """Return the flat index under ``vmap``, if the indices differ from example to example."""
    flat_index: Any = None
    for index, dim in parts:
        index = from_start(convert(index, int64), shape[dim])
        flat_index = index if flat_index is None else add(mul(flat_index, shape[dim]), index)
    return flat_index


def _checked_values(input: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> Tensor:
    """Return the values, converted if needed, that may be written at the indices.

    Raises:
        RuntimeError: if they have another dtype, or are on another device.
    """
    layout = input._layout
    dtype = layout.type.dtype
    if values._layout.type is layout.type:
        return values
    if values._layout.type.dtype is not dtype:
        masks = all(index is None or index._layout.type.dtype is bool_ for index in indices)
        if masks and values.numel() == 1:
            check_held(values, dtype)
        else:
            raise RuntimeError(
                "Index put requires the source and destination dtypes match, "
                f"got {dtype.legacy} for the destination and {values.dtype.legacy} for the source."
            )
        values = convert(values, dtype)
    if values._layout.type is not layout.type:  # the device differs
        if values._layout.shape:
            check_one_device(input, values)
        values = placed(values, layout.type.device)
    return values


def write_selected(
    input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False, inplace: bool = True
) -> Tensor:
    """Overwrite the selected elements, in place or in a copy, or add to them, with recording. The values broadcast.

    Raises:
        IndexError, RuntimeError: see :func:`selected`; also if the values have another dtype or shape.
    """
    planned = inplace and not accumulate and state.mode <= ORDINARY
    plan = _plan(input, indices, index_put_op, values) if planned else None
    if plan is not None:
        flat_index, dims = plan.flat_index(indices), plan.dims
    else:
        flat_index, dims, distinct = selected(input, indices)
        values = _checked_values(input, indices, values)
    if inplace:
        check_apart(input, values, flat_index)
    try:
        if plan is not None:
            check_in_place(input, values)
            return change(plan.run, (input, flat_index, values), input)
        put = index_put_op.in_place if inplace else index_put_op
        return put(input, flat_index, values, dims, accumulate, distinct)
    except devices.OutOfBoundsError as error:
        raise _outside(error, dims) from None


@public(in_place=True)
def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False, *, inplace: bool = False
) -> Tensor:
    """Return a copy with ``values`` written at the indices, as by ``x[indices] = values``.

    Args:
        indices: a tuple of tensors of int64, int32 or bool.
        values: a tensor that broadcasts to the selected elements.
        accumulate: if True, add the values; otherwise, the last of several values for an element counts.

    Raises:
        IndexError, RuntimeError: if the indices, or the values' dtype or shape, do not fit.

    Example:
        >>> import numgrad
        >>> numgrad.index_put(numgrad.zeros(3), (numgrad.tensor([2]),), numgrad.tensor(5.0))
        tensor([0., 0., 5.])
    """
    name = "index_put_" if inplace else "index_put"
    tensors = isinstance(indices, tuple | list) and all(isinstance(index, Tensor) for index in indices)
    check_type(tensors and accumulate.__class__ is bool, "{}() takes a tuple of Tensors and a bool", name)
    check(indices, "{}(): at least one index tensor is needed", name)
    return write_selected(input, indices, values, accumulate, inplace)
