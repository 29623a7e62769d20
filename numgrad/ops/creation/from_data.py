"""Creation of tensors from data: numbers, nested lists, arrays, other tensors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import devices
from ...autograd.locations import FOREIGN
from ...core.device import CPU, device, to_device
from ...core.halves import BFLOAT16, narrowed
from ...core.layout import span
from ...core.types import Size, bfloat16, dtype, float32, get_default_dtype, int64, tensor_type, to_dtype, uint64
from ...devices.recording import WatchedNumber
from ...tensors.tensor import Tensor, fresh, strided
from ..memory.copying import empty_of
from ..memory.moving import placed
from ..table.checks import check_type, check_value
from ..table.op import attach, export, public
from ..table.promotion import number_dtype, promote_types
from .cuda_arrays import from_interface, is_cuda_array
from .factories import as_size, finished, number_tensor


def from_array(array: np.ndarray) -> Tensor:
    """Return a tensor on the memory of a NumPy array."""
    array = array.view(np.ndarray)  # drops subclasses (a memory map, a matrix)
    if not array.dtype.isnative:
        raise ValueError(f"given numpy array has a byte order that is not this machine's: {array.dtype}")
    type = tensor_type(bfloat16 if array.dtype == BFLOAT16 else to_dtype(array.dtype))
    array = array.view(type.numpy)
    if array.flags.c_contiguous:
        result = fresh(array.reshape(-1), array.shape, type)
        result._origin = FOREIGN
        return result
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any(step % array.itemsize for step in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size")
    steps = tuple(step // array.itemsize for step in array.strides)
    buffer = np.lib.stride_tricks.as_strided(array, (span(array.shape, steps),), (array.itemsize,))
    result = strided(buffer, array.shape, steps, 0, type)
    result._origin = FOREIGN
    return result


@public(method=False, direct=True)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array: changes to one appear in the other.

    Raises:
        TypeError: the argument is not an array, or numgrad has no such dtype.
        ValueError: a stride is negative.

    Example:
        >>> import numgrad
        >>> import numpy as np
        >>> array = np.zeros(2)
        >>> x = numgrad.from_numpy(array)
        >>> array[0] = 1
        >>> x
        tensor([1., 0.], dtype=torch.float64)
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


def _leaves(data: Any, dtypes: set[dtype], depth: int = 0) -> Any:
    """Return nested lists with all leaves converted to Python numbers; collect the leaves' dtypes."""
    if data.__class__ in _SEQUENCE_CLASSES and (classes := set(map(type, data))) <= _NUMBER_CLASSES:
        dtypes.update([number_dtype(cls()) for cls in classes])  # avoids a call for each of many numbers
        return list(data)
    if isinstance(data, Tensor):
        check_value(
            data._layout.size == 1, "only one element tensors can be converted to Python scalars, not shape {}", data
        )
        dtypes.add(data._layout.type.dtype)
        return data.item()
    if hasattr(data, "__array__") and not isinstance(data, WatchedNumber):  # a WatchedNumber counts as a Python number
        array = np.asarray(data)
        dtypes.add(to_dtype(array.dtype))
        return array.tolist()
    if isinstance(data, bool | int | float | complex):
        dtypes.add(number_dtype(data))
        return data
    if isinstance(data, str | bytes):
        check_value(not depth, "too many dimensions '{}'", type(data).__name__)
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, Sequence):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    return [_leaves(item, dtypes, depth + 1) for item in data]


_NUMBER_CLASSES, _SEQUENCE_CLASSES = {bool, int, float, complex}, {list, tuple, range}


def _check_regular(data: Any) -> None:
    """Raise unless nested lists have equal lengths at each depth."""
    level, dim = data, 0
    while isinstance(level[0] if level else None, list):
        dim += 1
        expected = len(level[0])
        for item in level:
            length = len(item) if isinstance(item, list) else 0
            if length != expected:
                raise ValueError(f"expected sequence of length {expected} at dim {dim} (got {length})")
        level = [item for inner in level for item in inner]
    if any(isinstance(item, list) for item in level):
        raise TypeError(f"expected a number at dim {dim}, but got a list")


@devices.reports_memory
def _array_of(data: Any, chosen: dtype | None) -> np.ndarray:
    """Return new memory with the data, in the chosen dtype or the one that PyTorch infers."""
    with np.errstate(over="ignore", invalid="ignore"):  # a number too large for float32 becomes infinity
        if isinstance(data, Tensor):
            chosen = chosen or data.dtype
            data = data.detach()._numbers()
        if isinstance(data, np.ndarray | np.generic) and (chosen or to_dtype(data.dtype)).is_half:
            return narrowed(data, (chosen or to_dtype(data.dtype)).numpy)
        if isinstance(data, np.ndarray | np.generic):
            order: Any = "C" if 0 in data.strides else "K"
            return np.array(data, dtype=chosen.numpy if chosen else to_dtype(data.dtype).numpy, order=order)
        dtypes: set[dtype] = set()
        data = _leaves(data, dtypes)
        inferred = functools.reduce(promote_types, dtypes) if dtypes else get_default_dtype()
        chosen = chosen or inferred
        if inferred.is_complex and not chosen.is_complex:
            raise TypeError(f"must be real number, not complex: the data cannot become {chosen}")
        try:
            if chosen is uint64 and not inferred.is_floating_point:
                return np.array(data, dtype=np.uint64)
            if chosen.kind == "i" and chosen is not int64:
                return _narrowed(np.array(data, dtype=inferred.compute.numpy), chosen)
            if chosen.is_half:
                return narrowed(np.array(data, dtype=np.float64), chosen.numpy)
            return np.array(data, dtype=chosen.numpy)
        except (OverflowError, TypeError, ValueError) as error:
            _check_regular(data if isinstance(data, list) else [data])
            if not inferred.is_floating_point:
                raise ValueError(f"Overflow when unpacking long long: {error}") from None
            raise RuntimeError(f"value cannot be converted to type {chosen.name} without overflow") from None


def _narrowed(wide: np.ndarray, dtype: dtype) -> np.ndarray:
    """Return the numbers as integers of ``dtype``; negative ones may wrap around if it is unsigned, as in PyTorch."""
    bounds = np.iinfo(dtype.numpy)
    lowest = bounds.min if dtype.is_signed or dtype is uint64 else -bounds.max
    if not ((wide >= lowest) & (wide <= bounds.max)).all():
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return wide.astype(dtype.numpy if dtype is uint64 else np.int64).astype(dtype.numpy)


@public(method=False, direct=True)
def tensor(
    data: Any, *, dtype: dtype | None = None, device: device | str | int | None = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested lists, an array or a tensor.

    Floating-point numbers become float32, ints int64, bools bool; arrays and tensors keep their dtype.

    Raises:
        ValueError: nested lists have different lengths, or an int is too large.
        TypeError, RuntimeError: the data contain something other than numbers, or one that the dtype cannot hold.

    Example:
        >>> import numgrad
        >>> numgrad.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> numgrad.tensor([1.0, 2.0], requires_grad=True)
        tensor([1., 2.], requires_grad=True)
    """
    target = to_device(device)
    if data.__class__ in (float, int, bool) and dtype is None and target is CPU:
        number = number_tensor(data)
        if number is not None:
            return finished(number, requires_grad, pin_memory)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        target = data.device if device is None else target
    if data.is_cuda if isinstance(data, Tensor) else is_cuda_array(data):
        out = data.detach() if isinstance(data, Tensor) else from_interface(data)
        out = out.to(out.device if device is None else target, out.dtype if dtype is None else dtype, copy=True)
        return finished(out, requires_grad, pin_memory)
    out = from_array(_array_of(data, None if dtype is None else to_dtype(dtype)))
    return finished(out if target == CPU else placed(out, target), requires_grad, pin_memory)


@public(method=False, direct=True)
def as_tensor(data: Any, dtype: dtype | None = None, device: device | str | int | None = None) -> Tensor:
    """``data`` as a tensor: a tensor itself, an array on its own memory, anything else copied.

    Arrays of other libraries on GPUs (CuPy, Numba), with ``__cuda_array_interface__``, are also shared without a copy,
    unless ``device`` or ``dtype`` differs.

    Example:
        >>> import numgrad
        >>> numgrad.as_tensor([1.0, 2.0])
        tensor([1., 2.])
    """
    if dtype is None and device is None and isinstance(data, Tensor):
        return data
    target = to_device(device)
    chosen = None if dtype is None else to_dtype(dtype)
    if isinstance(data, Tensor):
        return data.to(data.device if device is None else target, chosen)
    if isinstance(data, np.ndarray):
        return from_numpy(data).to(target, chosen)
    if is_cuda_array(data):
        result = from_interface(data)
        return result.to(result.device if device is None else target, chosen)
    return tensor(data, dtype=chosen, device=target)


@public(function=False, direct=True)
def new_tensor(
    self: Tensor, data: Any, *, dtype: dtype | None = None, device: device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``numgrad.tensor`` in the dtype and on the device of this tensor, unless others are given."""
    chosen, target = self.dtype if dtype is None else dtype, self.device if device is None else device
    return tensor(data, dtype=chosen, device=target, requires_grad=requires_grad)


@public(function=False, direct=True)
def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """``x.new(2, 3)`` with sizes, or ``x.new([1, 2])`` with data, in the dtype and on the device of ``x``; an older
    form of ``new_empty`` and ``new_tensor``."""
    return legacy_tensor(None, self.dtype, *data).to(self.device if device is None else device)


# -- the legacy constructors ------------------------------------------------------------------------------------


def legacy_tensor(cls: type | None, dtype: dtype, /, *data: Any, **kwargs: Any) -> Tensor:
    """Return ``FloatTensor(2, 3)``, from sizes, or ``FloatTensor([1, 2])``, from data.

    ``cls``, if not None, is the class of the result: Tensor, which accepts a tensor of any dtype, or a subclass.

    Raises:
        TypeError: the data are a tensor of another dtype, or not a sequence.
    """
    if kwargs:
        raise TypeError(f"new() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not data:
        result = empty_of((0,), tensor_type(dtype))
    elif all(isinstance(item, int) and not isinstance(item, bool) for item in data):
        result = empty_of(as_size(data), tensor_type(dtype))
    elif len(data) == 1 and isinstance(data[0], Size):
        result = empty_of(data[0], tensor_type(dtype))
    elif len(data) == 1 and isinstance(data[0], Tensor):
        check_type(data[0].dtype is dtype or cls is not None, "expected {} (got {})", dtype, data[0].dtype)
        result = data[0].detach()
    elif len(data) != 1 or isinstance(data[0], bool | float | complex):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    else:
        result = from_array(_array_of(data[0], dtype))
    if cls is not None:
        result.__class__ = cls
    return result


def _new(cls: type, *data: Any, **kwargs: Any) -> Tensor:
    return legacy_tensor(cls, float32, *data, **kwargs)


attach("__new__", staticmethod(_new))


class _LegacyType(type):
    """The metaclass of types such as FloatTensor: ``isinstance`` tests for a tensor of the dtype on that device."""

    element: dtype
    place: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor) and instance.dtype is cls.element and instance.device.type == cls.place
        )

    def __call__(cls, *data: Any, **kwargs: Any) -> Any:
        return legacy_tensor(None, cls.element, *data, **kwargs).to(cls.place)


def legacy_type(dtype: dtype, place: str = "cpu") -> Any:
    """Return the type, such as FloatTensor, of tensors of a dtype on the CPU or on GPUs."""
    doc = f"PyTorch's older spelling for making a {dtype} tensor{' on a GPU' if place == 'cuda' else ''}."
    module = "torch.cuda" if place == "cuda" else "torch"  # as in PyTorch's representation of the type
    members = {"element": dtype, "place": place, "__doc__": doc, "__module__": module}
    return _LegacyType(f"{dtype.legacy}Tensor", (), members)


for _dtype in dtype.named.values():
    if not (_dtype.is_complex or _dtype.is_limited):
        export(f"{_dtype.legacy}Tensor", legacy_type(_dtype), method=False)
