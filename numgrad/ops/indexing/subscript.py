"""Reading and assigning with ``tensor[...]``.

Integers, slices, ``None`` and ``...`` make views, one after the other.  Tensors, arrays and lists of integers or bools
select elements of the resulting view (``advanced``).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.grad_mode import GRAD, ORDINARY, TRANSFORMED, state
from ...autograd.node import MAYBE, edge_of
from ...autograd.views import Step, View, record_part
from ...core.device import CPU
from ...core.layout import Layout, overlaps_itself
from ...core.types import bool_, int64, tensor_type, uint8
from ...devices import NUMBERS, recording
from ...tensors.tensor import Tensor, tensor_of, view_on
from ..batching.batches import is_batched, physical_of
from ..creation.from_data import tensor
from ..memory.copying import clone, convert, filling, writers, writing, zeros_of
from ..memory.overwriting import CopyBackwards, FillBackward2, assign_number, copy_, fill_, fitting
from ..shapes.broadcasting import expand
from ..shapes.dimensions import unsqueeze_op
from ..shapes.parts import at_index, select_op, slice_op
from ..shapes.views import alias, view_as_shape
from ..table.dispatch import viewed
from ..table.entries import Entries, Entry
from ..table.op import attach
from ..table.operands import overlaps
from .advanced import indexed, only_tensors, write_selected
from .launchers import number_as
from .masking import masked_fill

#: An index for each of the leading dimensions: None takes the dimension as it is.
Indices = list[Tensor | None]

_MASKS = (bool_, uint8)


def _items(index: Any) -> Sequence[Any]:
    """Return the parts of an index: those of a tuple, or of a list that contains more than numbers."""
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
    """Return a list, range or array of integers or bools as a tensor.

    Raises:
        IndexError: if tensors cannot be indexed with it.
        TypeError, ValueError: if it is a sequence of something else.
    """
    if isinstance(item, np.ndarray) and item.dtype.kind in "iub":
        return tensor(item if item.dtype.kind == "b" or item.dtype == np.uint8 else item.astype(np.int64), device=CPU)
    if isinstance(item, Sequence | np.ndarray):
        result = tensor(item if isinstance(item, np.ndarray | str) else list(item), device=CPU)
        return result if result.dtype in (int64, bool_) else convert(result, int64)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _consumed(item: Any) -> int:
    """Return the number of dimensions that an item of an index consumes."""
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
    """Return the view that integers, slices, None and ``...`` of an index make, and its tensors; None without tensors.

    Raises:
        IndexError: if there are more indices than dimensions, or one is not an index.
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
        if not rank and total == 1 and isinstance(items[0], int):
            at_index(self, 0, items[0])  # raises an error with advice
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    alone = reading and isinstance(index, slice)
    result, dim = self, 0
    indices: Indices = []
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
            indices.append(item)
            dim += max(_consumed(item), 1)
            continue
        elif isinstance(item, bool) or (isinstance(item, Tensor) and item._layout.type.dtype in _MASKS):
            result = unsqueeze_op(result, dim)
            size = int(bool(item))  # 1 or 0 elements of the new dimension
            indices.append(zeros_of((size,), tensor_type(int64, self._layout.type.device)))
            dim += 1
            continue
        else:
            result = at_index(result, dim, int(item))
            continue
        indices += [None] * skipped
        dim += skipped
    return result, indices if any(index is not None for index in indices) else None


def _recorded(self: Tensor) -> bool:
    """Return True if views of the tensor are recorded, or handled by a transform."""
    flag = self._requires_grad
    mode = state.mode
    return mode & TRANSFORMED != 0 or (bool(mode & GRAD and flag) and (flag != MAYBE or edge_of(self) is not None))


#: Layouts of the parts that integers, slices, None and ``...`` make; see ``_walk``.
_parts = Entries()
_known_parts = _parts.recent

#: Entries of the views that single integers and slices make.
_rows, _ranges = select_op.entries.recent, slice_op.entries.recent

#: Modes in which views may be recorded, or handled by a transform.
_FOLLOWED = TRANSFORMED | GRAD


def _walk(layout: Layout, index: Any, reading: bool, steps: list[Step] | None = None) -> tuple[Any, int] | None:
    """Return the key of the layout of an indexed part, and its offset from the beginning of the tensor.

    Return None if the index contains anything but integers, slices, None and ``...``, or is wrong.  Integers and the
    starts of slices are not in the key, so that a loop over indices finds one entry.  The views that make the part are
    appended to ``steps``.
    """
    shape, strides = layout.shape, layout.strides
    if shape:  # fast paths for the most frequent indices, in loops over rows and batches of rows
        extent = shape[0]
        if index.__class__ is int:
            if 0 <= index < extent:
                if steps is not None:
                    steps.append((select_op, (0, index)))
                return (layout, int), index * strides[0]
        elif steps is None and index.__class__ is slice and index.step is None:
            first, stop = index.start, index.stop
            ints = first.__class__ is int and stop.__class__ is int
            if ints and 0 <= first <= stop <= extent and (reading or stop - first < extent):
                return (layout, stop - first, 1), first * strides[0]
    items = index if index.__class__ is tuple else (index,)
    key: list[Any] = [layout]
    source = dim = delta = 0  # the next dimensions of the tensor and of the part
    for item in items:
        cls = item.__class__
        if cls is int or cls is slice:
            if source == len(shape):
                return None
            extent = shape[source]
            if cls is int:
                if item < 0:
                    item += extent
                if not 0 <= item < extent:
                    return None
                delta += item * strides[source]
                key.append(int)
                if steps is not None:
                    steps.append((select_op, (dim, item)))
                dim -= 1
            else:
                start, end, by = item.start, item.stop, item.step
                if not (
                    (start is None or start.__class__ is int) and (end is None or end.__class__ is int)
                    and (by is None or by.__class__ is int)
                ):
                    return None  # the bound may change later, but the view must be made again with this one
                try:
                    first, stop, step = item.indices(extent)
                except ValueError:
                    return None
                if step < 0:
                    return None
                if (
                    stop == extent and step == 1 and not start
                    and not (reading and index is item)
                ):
                    key.append(slice)
                else:
                    delta += first * strides[source]
                    stop = max(first, stop)
                    key.append(stop - first)
                    key.append(step)
                    if steps is not None:
                        steps.append((slice_op, (dim, first, stop, step)))
            source += 1
        elif item is None:
            key.append(None)
            if steps is not None:
                steps.append((unsqueeze_op, (dim,)))
        elif item is Ellipsis:
            skipped = len(shape) + 1 - sum([item_ is not None for item_ in items])
            if skipped < 0 or Ellipsis in key:
                return None
            key.append(Ellipsis)
            source += skipped
            dim += skipped - 1
        else:
            return None
        dim += 1
    return tuple(key), delta


def _new_part(layout: Layout, index: Any, reading: bool, key: Any) -> Layout:
    """Return the layout of an indexed part."""
    result = _parts.find(key)
    if result is None:
        steps: list[Step] = []
        _walk(layout, index, reading, steps)
        for op, args in steps:
            layout, _ = op.prepare(layout, *args)  # type: ignore[attr-defined]
        result = _parts.add(key, layout)
    return result


def _known_view(layout: Layout, index: Any) -> tuple[Entry, tuple[int, ...]] | None:
    """Return the entry of a row, or of adjacent rows, of a tensor, and its numbers; None if there is none yet."""
    extent = layout.shape[0] if layout.shape else 0
    entry: Entry | None = None
    numbers: tuple[int, ...] = ()
    if index.__class__ is int:
        if -extent <= index < extent:
            entry, numbers = _rows.get((layout, 0)), (index % extent,)
    elif index.step is None and index.start.__class__ is int and index.stop.__class__ is int:
        start, stop = index.start, index.stop
        if 0 <= start <= stop <= extent:
            entry, numbers = _ranges.get((layout, 0, stop - start, 1)), (start, stop)
    return None if entry is None else (entry, numbers)


def get_item(self: Tensor, index: Any) -> Tensor:
    """Return the indexed part: a view, or a new tensor if tensors, arrays or lists select elements.

    Raises:
        IndexError: if there is no such dimension or index.
    """
    cls, mode = index.__class__, state.mode
    if mode == GRAD and self._requires_grad and (cls is int or cls is slice):
        cached = _known_view(self._layout, index)
        if cached is not None:
            entry, numbers = cached
            return viewed(entry, (self, *numbers), mode)
    tensors = None if cls is int or cls is slice else only_tensors(index)
    if tensors is not None:
        return indexed(self, tensors)
    steps: list[Step] | None = None
    if mode & _FOLLOWED and _recorded(self):
        steps = []
    key_and_delta = _walk(self._layout, index, True, steps)
    if key_and_delta is None:
        result, indices = _resolve(self, index, True)
        if indices is not None:
            return indexed(result, indices)
    elif steps is None:  # in one step, as nodes are made only if the base is changed
        key, delta = key_and_delta
        layout = _known_parts.get(key) or _new_part(self._layout, index, True, key)
        return view_on(self, layout, delta, View(self, (get_item, (index,)), mode))
    else:
        result = self
        for op, args in steps:
            result = op(result, *args)
    return alias(result) if result is self else result


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """Overwrite the indexed part with a number or a tensor that broadcasts to it.

    Raises:
        IndexError: if there is no such dimension or index.
        RuntimeError: if the value does not broadcast to the part.
    """
    part: Tensor = self
    if index is True:
        index = None  # the whole tensor, as a view, since values of any dtype can be assigned to a view
    indices: Sequence[Tensor | None] | None = only_tensors(index)
    if indices is None:
        if index is False or _written(self, index, value):  # False selects nothing, whatever the value
            return
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
        unseen = part._layout.type.device is not CPU or recording.recorder is not None
        mask = _whole_mask(part, indices) if number and unseen else None
        if mask is not None:
            masked_fill(part, mask, value, inplace=True)
        else:
            values = number_as(value, part._layout.type) if number else _without_leading_ones(value)
            write_selected(part, indices, values)
        return
    shape, value_shape = part._layout.shape, value._layout.shape
    if value_shape == shape:
        copy_(part, value)
    elif not value_shape:
        fill_(part, value)
    else:
        if overlaps(physical_of(part), physical_of(value)):
            value = clone(value)  # elements that are read repeatedly must not be overwritten before
        value = view_as_shape(value, _inner_shape(value_shape))
        copy_(part, value if value._layout.shape == shape else expand(value, shape))


def _written(self: Tensor, index: Any, value: Any) -> bool:
    """Overwrite the part and record that, if it takes one launch and raises no error.

    The value may share no memory with the tensor, unless it is the part itself, as in ``x[0] += 1``.  Return True if
    this was the case.
    """
    layout, mode = self._layout, state.mode
    if mode > ORDINARY or self._counter.__class__ is not list:
        return False
    cls: Any = value.__class__
    number = cls in NUMBERS
    if not number:
        if cls is not Tensor:
            return False
        cls = value._layout
    steps: list[Step] | None = None
    if mode & GRAD and ((not number and value._requires_grad) or _recorded(self)):
        if self._view is not None or (self._requires_grad and self._edge is None):
            return False
        steps = []
    key_and_delta = _walk(layout, index, False, steps)
    if key_and_delta is None or steps == []:
        return False
    key, delta = key_and_delta
    part = _known_parts.get(key) or _new_part(layout, index, False, key)
    if number:
        if 0 in part.strides and overlaps_itself(part.shape, part.strides):
            return False
    elif value._storage is self._storage and (cls is not part or value._offset != self._offset + delta):
        return False
    edge = edge_of(value) if steps and not number else None
    if edge is not None and cls.shape != part.shape:
        return False  # the graph has the views that repeat the value
    entry = writers.recent.get((part, cls)) or (filling if number else writing)(part, cls)
    if entry is None:
        return False
    if number and not (cls is not complex and entry.details[0] <= value <= entry.details[1]):
        value = fitting(value, layout.type.dtype)
    entry.launch(value, tensor_of(part, self._storage, self._offset + delta))
    self._counter[0] += 1
    if steps and part.type.dtype.differentiable and (self._edge is not None or edge is not None):
        node = (FillBackward2 if number else CopyBackwards)((None, edge), part)
        record_part(self, steps, node)
    return True


def _whole_mask(part: Tensor, indices: Sequence[Tensor | None]) -> Tensor | None:
    """Return the mask, viewed with the part's number of dimensions, if it is the only index; otherwise None.

    Such a mask makes it unnecessary to find the indices of its true elements.
    """
    present = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    dim, mask = present[0]
    layout, whole = mask._layout, part._layout
    if len(present) > 1 or layout.type.dtype is not bool_ or layout.type.device is not whole.type.device:
        return None
    trailing = len(whole.shape) - dim - len(layout.shape)
    if layout.shape != whole.shape[dim : dim + len(layout.shape)]:
        return None
    return view_as_shape(mask, layout.shape + (1,) * trailing)


def _inner_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without its leading sizes of 1, of which the part may have fewer."""
    return tuple(itertools.dropwhile(lambda extent: extent == 1, shape))


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = _inner_shape(value._layout.shape)
    return value if shape == value._layout.shape else view_as_shape(value, shape)


def del_item(self: Tensor, index: Any) -> None:
    """Raise TypeError, since tensors have a fixed size."""
    raise TypeError("Tensor does not support deleting items")


attach("__delitem__", del_item)
attach("__getitem__", get_item)
attach("__setitem__", set_item)
