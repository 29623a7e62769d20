"""Reading and assigning with ``tensor[...]``.

Integers, slices, ``None`` and ``...`` make views, one after the other; tensors, arrays and lists of integers or bools
select elements of what these leave (``advanced``).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._device import CPU
from ..._tensor import Tensor, strided
from ..._types import bool_, int64, tensor_type, uint8
from ...autograd.grad_mode import GRAD, TRANSFORMED, state
from ...autograd.node import MAYBE, edge_of
from ...autograd.views import View
from ..batches import is_batched, physical_of
from ..copying import clone, convert
from ..creation.from_data import tensor
from ..new import zeros_of
from ..overwriting import assign_number, copy_, fill_
from ..shapes.parts import at_index, select_op, slice_op
from ..shapes.views import expand, unsqueeze_op, view_as_shape
from ..shapes.whole import alias
from ..sharing import overlaps
from ..table import attach
from .advanced import index_op, selected, write_selected
from .masking import masked_fill_
from .updating import number_as

__all__: list[str] = []

#: What an index is for each of the dimensions that it is about: None takes the dimension as it is.
Indices = list[Tensor | None]

_MASKS = (bool_, uint8)


def _items(index: Any) -> Sequence[Any]:
    """The parts of an index: those of a tuple, and of a list that holds more than numbers."""
    if isinstance(index, tuple):
        return index
    if (
        isinstance(index, Sequence)
        and (isinstance(index, str) or len(index) < 32)
        and any(
            item is None or item is Ellipsis or isinstance(item, Tensor | Sequence | slice | np.ndarray)
            for item in index
        )
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated: use x[tuple(seq)] instead of "
            "x[seq].",
            UserWarning,
            stacklevel=4,
        )
        return index
    return (index,)


def _as_tensor(item: Any) -> Tensor:
    """A list, range or array of integers or bools as a tensor.

    Raises:
        IndexError: it is nothing that tensors are indexed with.
        TypeError, ValueError: it is a sequence of something else.
    """
    if isinstance(item, np.ndarray) and item.dtype.kind in "iub":
        return tensor(item if item.dtype.kind == "b" or item.dtype == np.uint8 else item.astype(np.int64), device=CPU)
    if isinstance(item, Sequence | np.ndarray):
        made = tensor(item if isinstance(item, np.ndarray | str) else list(item), device=CPU)
        return made if made.dtype in (int64, bool_) else convert(made, int64)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _consumed(item: Any) -> int:
    """How many dimensions an item of an index is about."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return len(item._layout.shape) if isinstance(item, Tensor) and item._layout.type.dtype in _MASKS else 1


def _sliced(input: Tensor, dim: int, item: slice, alone: bool) -> Tensor:
    if item.step is not None and item.step.__index__() <= 0:
        raise ValueError("step must be greater than zero")
    extent = input._layout.shape[dim]
    start, stop, step = item.indices(extent)
    if stop == extent and step == 1 and not alone and (item.start is None or item.start.__index__() == 0):
        return input
    return slice_op(input, dim, start, max(start, stop), step)


def _resolve(self: Tensor, index: Any, reading: bool) -> tuple[Tensor, Indices | None]:
    """The view that the integers, slices, None and ``...`` of an index make, and its tensors, if there are any.

    Raises:
        IndexError: there are more indices than dimensions, or one that is none.
    """
    rank = len(self._layout.shape)
    items = [
        item
        if item is None or item is Ellipsis or isinstance(item, int | slice | Tensor)
        else int(item) if isinstance(item, np.integer) else _as_tensor(item)
        for item in _items(index)
    ]
    total = sum(map(_consumed, items))
    if total > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    alone = reading and isinstance(index, slice)
    result, dim = self, 0
    found: Indices = []
    tensors = False
    for item in items:
        if item is Ellipsis:
            skipped = rank - total
        elif item is None:
            result = unsqueeze_op(result, dim)
            skipped = 1
        elif isinstance(item, slice):
            result = _sliced(result, dim, item, alone)
            skipped = 1
        elif isinstance(item, Tensor) and (item._layout.shape or item.dtype.kind in "fc" or is_batched(item)):
            found.append(item)
            tensors = True
            dim += max(_consumed(item), 1)
            continue
        elif isinstance(item, bool) or (isinstance(item, Tensor) and item._layout.type.dtype in _MASKS):
            result = unsqueeze_op(result, dim)
            found.append(_whether(bool(item), self))
            tensors = True
            dim += 1
            continue
        else:
            result = at_index(result, dim, int(item))
            continue
        found += [None] * skipped
        dim += skipped
    return result, found if tensors else None


def _whether(condition: bool, input: Tensor) -> Tensor:
    """The index that takes, or leaves, the one element of a dimension of size 1."""
    return zeros_of((int(condition),), tensor_type(int64, input._layout.type.device))


def _recorded(self: Tensor) -> bool:
    """Whether views of the tensor are recorded, or followed otherwise."""
    flag = self._requires_grad
    mode = state.mode
    return mode & TRANSFORMED != 0 or (bool(mode & GRAD and flag) and (flag != MAYBE or edge_of(self) is not None))


def _unrecorded(self: Tensor, index: Any) -> Tensor | None:
    """The view that integers, slices, None and ``...`` make, as one step; None if there is anything else, or an error.

    It is the short way for what is not recorded: the view knows the same steps from its base.
    """
    items = index if index.__class__ is tuple else (index,)
    strides = list(self._layout.strides)
    shape, offset, dim = list(self._layout.shape), self._offset, 0
    view = View(self, _ALIAS)
    above = None if self._view is None else self._view.steps
    steps: Any = above
    for place, item in enumerate(items):
        kind = item.__class__
        if kind is int:
            if dim >= len(shape) or not -shape[dim] <= item < shape[dim]:
                return None
            index = item + shape[dim] if item < 0 else item
            offset += index * strides[dim]
            del shape[dim], strides[dim]
            steps = steps, (select_op, (dim, index))
        elif kind is slice:
            if dim >= len(shape) or (item.step is not None and not (item.step.__class__ is int and item.step > 0)):
                return None
            if item.start is not None or item.stop is not None or item.step is not None or index is item:
                start, stop, step = item.indices(shape[dim])
                stop = max(start, stop)
                steps = steps, (slice_op, (dim, start, stop, step))
                shape[dim] = len(range(start, stop, step))
                offset += start * strides[dim] if shape[dim] else 0
                strides[dim] *= step
            dim += 1
        elif item is None:
            shape.insert(dim, 1)
            strides.insert(dim, shape[dim + 1] * strides[dim] if dim < len(strides) else 1)
            steps = steps, (unsqueeze_op, (dim,))
            dim += 1
        elif item is Ellipsis and Ellipsis not in items[:place]:
            skipped = len(shape) - dim - sum([later is not None for later in items[place + 1 :]])
            if skipped < 0:
                return None
            dim += skipped
        else:
            return None
    if steps is not above:
        view.steps = steps
    result = strided(self._storage, tuple(shape), tuple(strides), offset, self._layout.type)
    result._counter = self._counter
    result._view = view
    result._requires_grad = MAYBE
    return result


_ALIAS = alias, ()


def get_item(self: Tensor, index: Any) -> Tensor:
    """The indexed part: a view of the tensor, or a new tensor where tensors, arrays or lists select elements.

    Raises:
        IndexError: there is no such dimension or index.
    """
    if isinstance(index, Tensor) and index._layout.shape:
        return index_op(self, *selected(self, (index,)))
    if not _recorded(self):
        part = _unrecorded(self, index)
        if part is not None:
            return part
    elif index.__class__ is int:
        return at_index(self, 0, index)
    result, indices = _resolve(self, index, True)
    if indices is not None:
        return index_op(result, *selected(result, indices))
    return alias(result) if result is self else result


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """Overwrite the indexed part with a number or a tensor that broadcasts to it.

    Raises:
        IndexError: there is no such dimension or index.
        RuntimeError: the value does not broadcast to the part.
    """
    if index is False:
        return  # nothing is selected, whatever the value
    part = None if _recorded(self) else _unrecorded(self, index)
    indices = None
    if part is None or part._view.steps[1] is _ALIAS or index.__class__ is slice:
        part, indices = _resolve(self, index, False)
    number = isinstance(value, bool | int | float | complex | np.generic)
    if indices is None and number:
        assign_number(part, value)
        return
    if isinstance(value, list | tuple | np.ndarray):
        value = tensor(value, dtype=self.dtype, device=self.device)
    if not isinstance(value, Tensor) and not number:
        raise TypeError(
            f"can't assign a {type(value).__name__} to a {self._layout.type.name} (shape {list(self.shape)})"
        )
    if indices is not None:
        mask = _whole_mask(part, indices) if number and part._layout.type.device is not CPU else None
        if mask is not None:
            masked_fill_(part, mask, value)
        else:
            write_selected(part, indices, number_as(value, part) if number else _without_leading_ones(value))
        return
    shape, given = part._layout.shape, value._layout.shape
    if given == shape:
        copy_(part, value)
        return
    if not given:
        fill_(part, value)
    else:
        if overlaps(physical_of(part), physical_of(value)):
            value = clone(value)  # it is read several times: from elements that are not yet overwritten
        copy_(part, expand(view_as_shape(value, _inner_shape(given)), shape))


def _whole_mask(part: Tensor, indices: Indices) -> Tensor | None:
    """The mask that is the only index, of the part's number of dimensions: a GPU need not find where it is true."""
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    dim, mask = given[0]
    layout, whole = mask._layout, part._layout
    if len(given) > 1 or layout.type.dtype is not bool_ or layout.type.device is not whole.type.device:
        return None
    rest = len(whole.shape) - dim - len(layout.shape)
    if layout.shape != whole.shape[dim : dim + len(layout.shape)]:
        return None
    return view_as_shape(mask, layout.shape + (1,) * rest)


def _inner_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without the sizes of 1 that it begins with, of which the part may have fewer."""
    count = 0
    while count < len(shape) and shape[count] == 1:
        count += 1
    return shape[count:]


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = _inner_shape(value._layout.shape)
    return value if shape == value._layout.shape else view_as_shape(value, shape)


def del_item(self: Tensor, index: Any) -> None:
    """Tensors have a fixed size: this raises TypeError."""
    raise TypeError("Tensor does not support deleting items")


attach("__delitem__", del_item)
attach("__getitem__", get_item)
attach("__setitem__", set_item)
