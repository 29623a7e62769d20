"""Collation of a list of samples into one batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.types import float64
from ...ops.creation.from_data import as_tensor, tensor
from ...ops.shapes.joining import stack
from ...tensors.tensor import Tensor

__all__ = ["default_collate", "default_convert"]

#: Functions that make a batch of entries, by the type of the entries.
FunctionsByType: TypeAlias = dict[type | tuple[type, ...], Callable[..., Any]]


def default_collate(batch: Sequence[Any]) -> Any:
    """Return one batch from a list of samples of the same type.

    Tensors and arrays are stacked along a new first dimension, and numbers become a tensor (a float64 one for Python's
    floats); strings and bytes stay a list.  Tuples, lists, named tuples and dicts are batched entry by entry, so
    ``[(x0, y0), (x1, y1)]`` becomes ``[batch of x, batch of y]``.

    Raises:
        RuntimeError: tensors differ in shape, or lists in length.
        TypeError: the samples are of another type.
        KeyError: a key of the first dict is missing from another.

    Example:
        >>> import numgrad
        >>> numgrad.utils.data.default_collate([{"x": 1, "y": 2.0}, {"x": 3, "y": 4.0}])
        {'x': tensor([1, 3]), 'y': tensor([2., 4.], dtype=torch.float64)}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """Return one batch from a list of samples of the same type, as functions for the types of the entries make it.

    Args:
        batch: the samples.
        collate_fn_map: for types, or tuples of types, functions ``function(entries, *, collate_fn_map)``.  The function
            of an entry's own type comes first, then that of the first type of which it is an instance.  Mappings and
            sequences of other types are batched entry by entry.

    Raises:
        RuntimeError: sequences differ in length.
        TypeError: the samples are of another type.
    """
    first, functions = batch[0], collate_fn_map or {}
    function = functions.get(type(first)) or next((f for key, f in functions.items() if isinstance(first, key)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        columns = {key: [sample[key] for sample in batch] for key in first}
        return _like(first, {key: collate(column, collate_fn_map=collate_fn_map) for key, column in columns.items()})
    if _is_named_tuple(first):
        return type(first)(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)])
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "each element in list of batch should be of equal size, "
                f"but the lengths are {[len(sample) for sample in batch]}"
            )
        return _like(first, [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)])
    raise _refused(type(first))


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: FunctionsByType | None = None) -> Tensor:
    """Return tensors, stacked along a new first dimension."""
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """Return arrays as a tensor, stacked along a new first dimension."""
    if batch[0].dtype.kind in "SUO":
        raise _refused(batch[0].dtype)
    return stack([as_tensor(array) for array in batch], 0)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """Return NumPy's numbers as a tensor."""
    return tensor(batch)


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: FunctionsByType | None = None) -> Tensor:
    """Return Python's floats as a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: FunctionsByType | None = None) -> Tensor:
    """Return integers as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: FunctionsByType | None = None) -> Any:
    """Return strings or bytes unchanged."""
    return batch


#: The functions of :func:`default_collate`, to which programs add those of their own types.
default_collate_fn_map: FunctionsByType = {
    Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn, (np.bool_, np.number): collate_numpy_scalar_fn,
    float: collate_float_fn, int: collate_int_fn, str: collate_str_fn, bytes: collate_str_fn,
}

#: Pattern for the kinds of arrays that cannot become tensors, for libraries.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def default_convert(data: Any) -> Any:
    """Return a sample with its arrays and NumPy scalars, at any depth, as tensors; other values stay unchanged.

    Example:
        >>> import numpy
        >>> import numgrad
        >>> numgrad.utils.data.default_convert([numpy.ones(2), "text"])
        [tensor([1., 1.], dtype=torch.float64), 'text']
    """
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    return _converted(data, default_convert)


def pinned(batch: Any) -> Any:
    """Return a batch with all its tensors, and other objects with a method ``pin_memory``, in pinned memory.

    Tensors are found in mappings and sequences at any depth.
    """
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, tuple) and not _is_named_tuple(batch):
        return type(batch)([pinned(item) for item in batch])
    return _converted(batch, pinned)


def _converted(data: Any, convert: Callable[[Any], Any]) -> Any:
    """Return a mapping or a sequence with its entries converted, or any other value unchanged."""
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return _like(data, {key: convert(value) for key, value in data.items()})
    if _is_named_tuple(data):
        return type(data)(*[convert(value) for value in data])
    if isinstance(data, Sequence):
        return _like(data, [convert(value) for value in data])
    return data


def _refused(kind: Any) -> TypeError:
    return TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
    )


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like(model: Any, entries: Any) -> Any:
    """Return a mapping or sequence of the model's class with these entries, or the entries if that is impossible.

    The entries are a dict or a list.  For a tuple, they stay a list.
    """
    if type(model) in (dict, list) or isinstance(model, tuple | range):
        return entries
    try:
        if not isinstance(model, MutableMapping | MutableSequence):
            return type(model)(entries)
        result = copy.copy(model)
        if isinstance(result, MutableMapping):
            result.update(entries)
        else:
            for index, item in enumerate(entries):
                result[index] = item
        return result
    except TypeError:  # the constructor takes other arguments
        return entries
