"""Reading and assigning with ``tensor[...]``: integers, slices, ``None`` and ``...``, all of them views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import Tensor
from .copying import clone, copy_, fill_, overlaps
from .from_data import tensor
from .parts import select, slice_op
from .shape import alias, expand, reshape, unsqueeze
from .table import attach

__all__: list[str] = []


def _is_integer(item: Any) -> bool:
    if isinstance(item, bool | np.bool_):
        return False
    if isinstance(item, int | np.integer):
        return True
    return isinstance(item, Tensor) and not item._shape and item._type.numpy.kind in "iu"


def _filled_out(index: Any, rank: int) -> list[Any]:
    """The index as a list with ``...`` replaced by the slices that it stands for.

    Raises:
        IndexError: there are more indices than dimensions, or one that numgrad does not know.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, slice) or _is_integer(item)):
            raise IndexError(
                "tensors are indexed with integers, slices (`:`), ellipsis (`...`) and None so far, "
                f"not with {type(item).__name__}"
            )
    consumed = sum(item is not None and item is not Ellipsis for item in items)
    if consumed > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if places:
        items[places[0] : places[0] + 1] = [slice(None)] * (rank - consumed)
    return items


def _sliced(input: Tensor, dim: int, item: slice, alone: bool) -> Tensor:
    if item.step is not None and item.step.__index__() <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = item.indices(input._shape[dim])
    if (start, stop, step) == (0, input._shape[dim], 1) and not alone:
        return input
    return slice_op(input, dim, start, max(start, stop), step)


def get_item(self: Tensor, index: Any) -> Tensor:
    """The indexed part, a view of the tensor.

    Raises:
        IndexError: there is no such dimension or index.
    """
    result, dim = self, 0
    for item in _filled_out(index, len(self._shape)):
        if item is None:
            result = unsqueeze(result, dim)
            dim += 1
        elif isinstance(item, slice):
            result = _sliced(result, dim, item, item is index)
            dim += 1
        else:
            result = select(result, dim, int(item))
    return alias(result) if result is self else result


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """Overwrite the indexed part with a number or a tensor that broadcasts to it.

    Raises:
        IndexError: there is no such dimension or index.
        RuntimeError: the value does not broadcast to the part.
    """
    part = get_item(self, index)
    if isinstance(value, bool | int | float | np.generic):
        fill_(part, value)
        return
    if isinstance(value, list | tuple | np.ndarray):
        value = tensor(value)
    if not isinstance(value, Tensor):
        raise TypeError(f"can't assign a {type(value).__name__} to a {self._type.name} (shape {list(self._shape)})")
    # As in NumPy, leading dimensions of size 1 that the part does not have are dropped.
    extra = len(value._shape) - len(part._shape)
    if extra > 0 and all(extent == 1 for extent in value._shape[:extra]):
        value = reshape(value, value._shape[extra:])
    if value._shape != part._shape and overlaps(part, value):
        value = clone(value)  # it is read several times: from elements that are not yet overwritten
    try:
        value = expand(value, part._shape)
    except RuntimeError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value._shape)} cannot be broadcast to indexing result of "
            f"shape {list(part._shape)}"
        ) from None
    copy_(part, value)


def del_item(self: Tensor, index: Any) -> None:
    """Tensors have a fixed size: this raises TypeError."""
    raise TypeError("Tensor does not support deleting items")


attach("__delitem__", del_item)
attach("__getitem__", get_item)
attach("__setitem__", set_item)
