"""Making tensors: from data, filled with a number, as a range, at random."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import devices, random
from .._layout import numel, output_strides
from .._tensor import Tensor, fresh, strided
from .._types import (
    Size,
    TensorType,
    bool_,
    dtype,
    float32,
    float64,
    get_default_dtype,
    int64,
    tensor_type,
    to_device,
    to_dtype,
)
from ..autograd.grad_mode import GRAD, _Mode
from .copying import fill_
from .promotion import number_dtype, promote_types
from .table import public

__all__ = [
    "arange", "as_tensor", "empty", "eye", "from_numpy", "full", "legacy_tensor", "ones", "rand", "randn", "rebuild",
    "tensor", "zeros",
]


def _type(kind: Any, place: Any, default: dtype | None = None) -> TensorType:
    chosen = default or get_default_dtype() if kind is None else to_dtype(kind)
    return tensor_type(chosen, to_device(place))


def _size(sizes: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """A size given as ints, as one sequence or by name.

    Raises:
        TypeError: it is neither, or not given, or given twice.
        RuntimeError: it is negative.
    """
    if size is not None:
        if sizes or not isinstance(size, Sequence):
            raise TypeError("argument 'size' must be one tuple of ints")
    elif not sizes:
        raise TypeError("missing 1 required positional argument: 'size'")
    else:
        size = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    for extent in size:
        if not hasattr(extent, "__index__") or isinstance(extent, bool):
            raise TypeError(f"a size must be ints, not {type(extent).__name__} ({extent!r})")
    result = tuple([extent.__index__() for extent in size])
    if any(extent < 0 for extent in result):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(result)}: {list(result)}")
    return result


def _finished(result: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        result.requires_grad = True
    return result


# -- from data --------------------------------------------------------------------------------------------------


def from_array(array: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array."""
    type = tensor_type(to_dtype(array.dtype))
    if not array.dtype.isnative:
        raise ValueError(f"given numpy array has a byte order that is not this machine's: {array.dtype}")
    if array.flags.c_contiguous:
        return fresh(array.reshape(-1), array.shape, type)
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any(step % array.itemsize for step in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size")
    steps = tuple(step // array.itemsize for step in array.strides)
    reach = sum((extent - 1) * step for extent, step in zip(array.shape, steps, strict=True)) if array.size else -1
    row = np.lib.stride_tricks.as_strided(array, (reach + 1,), (array.itemsize,))
    return strided(row, array.shape, steps, 0, type)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array: changes to one are seen in the other.

    Raises:
        TypeError: it is no array, or numgrad has no such dtype.
        ValueError: it has a negative stride.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return from_array(ndarray)


def _leaves(data: Any, kinds: set[dtype], depth: int = 0) -> Any:
    """Nested lists with whatever is no Python number in them turned into one; collects the dtypes of all the leaves."""
    if isinstance(data, Tensor):
        if numel(data._shape) != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, not shape {list(data._shape)}"
            )
        kinds.add(data._type.dtype)
        return data.item()
    if hasattr(data, "__array__"):
        array = np.asarray(data)
        kinds.add(to_dtype(array.dtype))
        return array.tolist()
    if isinstance(data, bool | int | float):
        kinds.add(number_dtype(data))
        return data
    if isinstance(data, str | bytes):
        if depth:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, complex):
        raise TypeError("numgrad has no complex dtypes yet")
    if not isinstance(data, Sequence):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    classes = set(map(type, data))
    if classes <= _NUMBER_CLASSES:  # without a look at each of many
        kinds.update([number_dtype(kind()) for kind in classes])
        return list(data)
    return [_leaves(item, kinds, depth + 1) for item in data]


_NUMBER_CLASSES = {bool, int, float}


def _ragged(data: Any) -> tuple[int, int, int] | None:
    """Where nested lists are not of one shape: expected length, dimension, found length."""
    item: Any = data
    expected = []
    while isinstance(item, list):
        expected.append(len(item))
        item = item[0] if item else None
    level: Any = data
    for dim in range(1, len(expected)):
        level = [inner for outer in level for inner in outer]
        for inner in level:
            found = len(inner) if isinstance(inner, list) else 0
            if found != expected[dim]:
                return expected[dim], dim, found
    return None


def _array_of(data: Any, kind: dtype | None) -> np.ndarray:
    """New memory with the data, in the dtype asked for or the one PyTorch infers."""
    with np.errstate(over="ignore", invalid="ignore"):  # a number too large for float32 becomes infinity
        if isinstance(data, Tensor):
            data = data.detach()._array()
        if isinstance(data, np.ndarray | np.generic):
            return np.array(data, dtype=kind.numpy if kind else to_dtype(data.dtype).numpy, order="K")
        kinds: set[dtype] = set()
        data = _leaves(data, kinds)
        inferred = functools.reduce(promote_types, kinds) if kinds else get_default_dtype()
        chosen = kind or inferred
        try:
            return np.array(data, dtype=chosen.numpy)
        except (OverflowError, TypeError, ValueError) as error:
            wrong = _ragged(data)
            if wrong is not None:
                raise ValueError("expected sequence of length {} at dim {} (got {})".format(*wrong)) from None
            if not inferred.is_floating_point:
                raise ValueError(f"Overflow when unpacking long long: {error}") from None
            raise RuntimeError(f"value cannot be converted to type {chosen.name} without overflow") from None


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested lists, an array or a tensor.

    Floating-point numbers become float32, ints int64, bools bool; arrays and tensors keep their dtype.

    Raises:
        ValueError: nested lists are of different lengths, or an int is too large.
        TypeError, RuntimeError: something in the data is no number, or one that the dtype cannot hold.
    """
    to_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _finished(from_array(_array_of(data, None if dtype is None else to_dtype(dtype))), requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: a tensor itself, an array on its own memory, else copied."""
    to_device(device)
    kind = None if dtype is None else to_dtype(dtype)
    if isinstance(data, Tensor):
        return data if kind is None else data.to(kind)
    if isinstance(data, np.ndarray):
        return from_numpy(data) if kind is None else from_numpy(data).to(kind)
    return tensor(data, dtype=kind)


def rebuild(cls: type, elements: tuple[Any, ...], requires_grad: bool) -> Tensor:
    """A tensor from its pickle."""
    result = strided(*elements)
    result.__class__ = cls
    result._requires_grad = requires_grad
    return result


# -- filled -----------------------------------------------------------------------------------------------------


def _empty(shape: tuple[int, ...], type: TensorType) -> Tensor:
    return fresh(devices.empty(shape, type), shape, type)


def _zeros(shape: tuple[int, ...], type: TensorType) -> Tensor:
    return fresh(devices.zeros(shape, type), shape, type)


def _filled(shape: tuple[int, ...], value: Any, type: TensorType) -> Tensor:
    result = _empty(shape, type)
    with _Mode(GRAD, False):
        fill_(result, value)
    result._counter[0] = 0
    return result


def zeros(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros."""
    return _finished(_zeros(_size(sizes, size), _type(dtype, device)), requires_grad)


def ones(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones."""
    return _finished(_filled(_size(sizes, size), 1, _type(dtype, device)), requires_grad)


def empty(
    *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    return _finished(_empty(_size(sizes, size), _type(dtype, device)), requires_grad)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor filled with a number, in the number's dtype unless one is given."""
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = fill_value.item() if isinstance(fill_value, Tensor | np.generic) else fill_value
    result = _filled(_size((size,)), value, _type(dtype, device, number_dtype(value)))
    return _finished(result, requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    rows, columns = _size((n, n if m is None else m))
    result = _zeros((rows, columns), _type(dtype, device))
    count = min(rows, columns)
    with _Mode(GRAD, False):
        fill_(strided(result._storage, (count,), (columns + 1,), 0, result._type), 1)
    return _finished(result, requires_grad)


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` up to and without ``end``, ``step`` apart; int64 if all three are ints.

    Raises:
        RuntimeError: a bound is infinite or NaN, or the step is 0 or leads away from ``end``.
    """
    if end is None:
        start, end = None, start
    start, end, step = [
        v.item() if isinstance(v, Tensor | np.generic) else v for v in (0 if start is None else start, end, step)
    ]
    for value in (start, end, step):
        if not isinstance(value, bool | int | float):
            raise TypeError(f"arange(): start, end and step must be numbers, not {value.__class__.__name__}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    whole = all(isinstance(v, int) for v in (start, end, step))
    type = _type(dtype, device, int64 if whole else None)
    if type.dtype is bool_:
        raise NotImplementedError("\"arange_cpu\" not implemented for 'Bool'")
    if not type.dtype.is_floating_point:
        start, end, step, whole = int(start), int(end), int(step), True
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")
    count = max(0, math.ceil((end - start) / step)) if not whole else len(range(start, end, step))
    row = (start + np.arange(count) * step).astype(type.numpy)
    return _finished(fresh(row, (count,), type), requires_grad)


# -- random -----------------------------------------------------------------------------------------------------


def _random(
    draw: str, size: tuple[int, ...], type: TensorType, generator: random.Generator | None, requires_grad: bool
) -> Tensor:
    if not type.dtype.is_floating_point:
        raise NotImplementedError(f'"{draw}" not implemented for \'{type.dtype.legacy}\' (shape {list(size)})')
    source = random.default_generator if generator is None else generator
    row = getattr(source, draw)(numel(size), type.numpy)
    return _finished(fresh(row, size, type), requires_grad)


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random numbers from the uniform distribution on [0, 1), those of PyTorch for the same seed."""
    return _random("uniform", _size(sizes, size), _type(dtype, device), generator, requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random numbers from the standard normal distribution, those of PyTorch for the same seed."""
    return _random("normal", _size(sizes, size), _type(dtype, device), generator, requires_grad)


# -- like another -----------------------------------------------------------------------------------------------


def _check_tensor(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")


def _laid_out_as(input: Tensor, made: Tensor) -> Tensor:
    """The new tensor with its dimensions in the order in which the input's lie in memory."""
    if input._strides is None:
        return made
    strides = output_strides(input._shape, ((input._shape, input._strides),))
    return strided(made._storage, made._shape, strides, 0, made._type)


def _like(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def like(
        input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        _check_tensor(name, input)
        made = function(input._shape, dtype=input.dtype if dtype is None else dtype, device=device)
        return _finished(_laid_out_as(input, made), requires_grad)

    like.__name__ = like.__qualname__ = name
    made = f"``numgrad.{function.__name__}``"
    like.__doc__ = f"{made} of the shape and, unless one is given, the dtype of another tensor."
    return public(like, method=False)


zeros_like = _like(zeros, "zeros_like")
ones_like = _like(ones, "ones_like")
empty_like = _like(empty, "empty_like")
rand_like = _like(rand, "rand_like")
randn_like = _like(randn, "randn_like")


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``numgrad.full`` of the shape and, unless one is given, the dtype of another tensor."""
    _check_tensor("full_like", input)
    made = full(input._shape, fill_value, dtype=input.dtype if dtype is None else dtype, device=device)
    return _finished(_laid_out_as(input, made), requires_grad)


for _function in (
    tensor, as_tensor, from_numpy, zeros, ones, empty, full, eye, arange, rand, randn, full_like,
):
    public(_function, method=False)

# -- the older spelling -----------------------------------------------------------------------------------------


def legacy_tensor(cls: type, kind: dtype, *data: Any, **kwargs: Any) -> Tensor:
    """``FloatTensor(2, 3)`` with sizes, or ``FloatTensor([1, 2])`` with data.

    Raises:
        TypeError: another dtype than the class's is asked for.
    """
    if kwargs:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not data:
        result = _empty((0,), tensor_type(kind))
    elif all(isinstance(item, int) and not isinstance(item, bool) for item in data):
        result = _empty(_size(data), tensor_type(kind))
    elif len(data) == 1 and isinstance(data[0], Size):
        result = _empty(data[0], tensor_type(kind))
    elif len(data) == 1 and isinstance(data[0], Tensor):
        if data[0].dtype is not kind and cls is not Tensor:
            raise TypeError(f"expected {kind} (got {data[0].dtype})")
        result = data[0].detach()
    elif len(data) != 1 or isinstance(data[0], bool | float | complex):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    else:
        result = from_array(_array_of(data[0], kind))
    if cls is not Tensor and issubclass(cls, Tensor):
        result.__class__ = cls
    return result


class _LegacyType(type):
    """Makes ``isinstance(x, FloatTensor)`` a question about the dtype."""

    kind: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.kind

    def __call__(cls, *data: Any, **kwargs: Any) -> Any:
        return legacy_tensor(Tensor, cls.kind, *data, **kwargs)


def _legacy_type(kind: dtype) -> Any:
    name = f"{kind.legacy}Tensor"
    return _LegacyType(name, (), {"kind": kind, "__doc__": f"PyTorch's older spelling for making a {kind} tensor."})


FloatTensor, DoubleTensor, LongTensor, BoolTensor = map(_legacy_type, (float32, float64, int64, bool_))
for _class in (FloatTensor, DoubleTensor, LongTensor, BoolTensor):
    public(_class, method=False)
