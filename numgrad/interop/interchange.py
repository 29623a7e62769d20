"""Tensors outside numgrad: in the memory of other libraries (DLPack), and in pickles."""

from __future__ import annotations

import ctypes
import importlib
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .. import devices
from ..autograd.hooks import is_unserializable
from ..core.device import numbered, to_device
from ..core.layout import contiguous_strides, span
from ..core.types import bfloat16
from ..devices.recording import values_read
from ..ops.creation.cuda_arrays import DEFAULT_STREAM, READ_ONLY, foreign_stream, on_memory, own_stream
from ..ops.creation.from_data import from_array, from_numpy
from ..ops.table.op import attach
from ..tensors.tensor import Tensor, strided
from .dlpack import CUDA, capsule_of, device_of, is_bfloat16, is_named, read_capsule

#: DLPack's number for CPU memory, and the index of the only such device.
_CPU = (1, 0)

_CAPSULE = type(np.empty(0).__dlpack__())

# -- DLPack -----------------------------------------------------------------------------------------------------


def _dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of the tensor's memory, for another library's ``from_dlpack``.

    Args:
        stream: on a GPU, the stream on which the memory will be used: its address, 1 or None for the default stream, -1
            for no synchronization.  On the CPU it must be None or -1.
        max_version: the newest version of DLPack that the caller supports; None means versions before 1.0.
        dl_device: the target device in DLPack's numbers; None for the tensor's own.
        copy: True to copy the elements.

    Raises:
        BufferError: the tensor requires a gradient, or the target is neither its own device nor the CPU.
        ValueError: the target is the CPU without a copy, and the tensor is on a GPU.
        AssertionError: a stream is given for a tensor on the CPU.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_cuda:
        return _dlpack_on_gpu(self, stream, max_version, dl_device, copy)
    if stream is not None and stream != -1:
        raise AssertionError(f"stream should be None on cpu, not {stream!r}")
    if dl_device is not None and tuple(dl_device) != _CPU:
        raise BufferError(f"cannot export a tensor that lies on the cpu to DLPack device {tuple(dl_device)}")
    array = self._array()
    array = array.copy() if copy else array
    if self.dtype is bfloat16:
        steps, versioned = [step // array.itemsize for step in array.strides], bool(max_version and max_version[0])
        return capsule_of(array, array.ctypes.data, _CPU, array.dtype, array.shape, steps, versioned)
    version: dict[str, Any] = {} if max_version is None else {"max_version": max_version}
    return array.__dlpack__(**version)


def _dlpack_on_gpu(
    tensor: Tensor, stream: Any, max_version: tuple[int, int] | None, dl_device: tuple[int, int] | None, copy: Any
) -> Any:
    target = None if dl_device is None else tuple(dl_device)
    if target == _CPU:
        if copy is False:
            raise ValueError(f"a copy is needed to export a tensor on {tensor.device} to the cpu")
        return tensor.cpu().__dlpack__(max_version=max_version)
    if target not in (None, _dlpack_device(tensor)):
        raise BufferError(f"cannot export a tensor that lies on {tensor.device} to DLPack device {target}")
    tensor = tensor.clone() if copy else tensor
    device, buffer, layout = tensor.get_device(), tensor._storage, tensor._layout
    if stream != -1:  # the memory's present contents must be ready for later work on that stream
        if stream is not None and (not isinstance(stream, int) or isinstance(stream, bool)):
            raise TypeError(f"stream must be an int or None, not {type(stream).__name__}")
        cuda, other = devices.begin_cuda(), foreign_stream(DEFAULT_STREAM if stream is None else stream, device)
        cuda.runtime.in_order(own_stream(device), other)
        cuda.memory.note_uses(other, (buffer,))
    address = buffer.address + tensor._offset * buffer.itemsize
    versioned = max_version is not None and max_version[0] >= 1
    return capsule_of(buffer, address, (CUDA, device), buffer.dtype, layout.shape, layout.strides, versioned)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return the device of the memory in DLPack's numbers: ``(1, 0)`` for the CPU, ``(2, index)`` for a GPU."""
    return (CUDA, self.get_device()) if self.is_cuda else _CPU


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """Return the namespace of the array API standard for tensors, ``numgrad.array_api``.

    Raises:
        ValueError: the version is not one that the namespace follows.
    """
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"numgrad.array_api follows the array API standard 2024.12, not {api_version!r}")
    return importlib.import_module("numgrad.array_api")


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device, as :meth:`to`; the name of the array API standard.

    Raises:
        ValueError: a stream is given.
    """
    if stream is not None:
        raise ValueError(f"to_device() works on the current stream only, not on {stream!r}")
    return self.to(device)


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule (of a version before 1.0) of the tensor's memory, which can be consumed once."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.detach().__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor on the memory of another library's array, so that changes to either are visible in both.

    Args:
        ext_tensor: an array with ``__dlpack__``, or a DLPack capsule.
        device: the device of the tensor; None for that of the array.
        copy: True to copy the memory, False to forbid a copy.

    Raises:
        BufferError: the array cannot be exported, for example because it requires a gradient.
        RuntimeError: the argument is not such an array, its capsule was already consumed, or its memory is on an
            unsupported device.
        TypeError: numgrad has no such dtype.
        ValueError: a stride is negative, or a copy is needed but forbidden.
    """
    exporter = _Exporter(ext_tensor)
    if exporter.__dlpack_device__()[0] != CUDA:
        tensor = _on_cpu(exporter, bool(copy))
    else:
        tensor = _on_gpu(exporter).clone() if copy else _on_gpu(exporter)
    target = tensor.device if device is None else numbered(to_device(device))
    if target is tensor.device:
        return tensor
    if copy is False:
        raise ValueError(f"a copy is needed for a tensor on {target} of an array on {tensor.device}")
    return tensor.to(target)


def _on_gpu(exporter: _Exporter) -> Tensor:
    """Return a tensor on the memory of an array on a GPU."""
    stream = int(own_stream(exporter.__dlpack_device__()[1])) or DEFAULT_STREAM
    try:
        capsule = exporter.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # it supports only DLPack before 1.0
        capsule = exporter.__dlpack__(stream=stream)
    owner, address, device, dtype, shape, strides, read_only = read_capsule(capsule)
    if read_only:
        warnings.warn(READ_ONLY, UserWarning, stacklevel=3)
    return on_memory(owner, address, device, dtype, shape, strides)


def _on_cpu(exporter: _Exporter, copy: bool) -> Tensor:
    """Return a tensor on the memory of an array on the CPU."""
    try:
        array = np.from_dlpack(exporter)
    except (BufferError, RuntimeError):
        if exporter.capsule is None or not is_bfloat16(exporter.capsule):  # which NumPy does not read
            raise
        owner, address, _, dtype, shape, strides, read_only = read_capsule(exporter.capsule)
        array = _array_on(owner, address, dtype, shape, strides or contiguous_strides(shape))
        if read_only:
            warnings.warn(READ_ONLY, UserWarning, stacklevel=4)
    if copy:
        array = array.copy()
    elif not array.flags.writeable:
        if exporter.versioned:
            return from_numpy(array)  # which warns
        array = _writable(array)  # a capsule before version 1.0 cannot say; PyTorch, too, assumes writable memory
    return from_array(array)


def _array_on(owner: Any, address: int, dtype: np.dtype, shape: Any, strides: Any) -> np.ndarray:
    """Return an array on memory that ``owner`` keeps alive; the strides are in elements."""
    memory: Any = (ctypes.c_char * (span(shape, strides) * dtype.itemsize)).from_address(address)
    memory.owner = owner
    steps = tuple([step * dtype.itemsize for step in strides])
    return np.ndarray(shape, dtype, memory, 0, steps)


class _Exporter:
    """An array or a capsule in the form that NumPy accepts; it records if the capsule can mark read-only memory."""

    def __init__(self, source: Any):
        self._is_capsule = isinstance(source, _CAPSULE)
        if not self._is_capsule and not hasattr(source, "__dlpack__"):
            raise RuntimeError(f"from_dlpack received an invalid capsule: {type(source).__name__} has no __dlpack__")
        self._source = source
        self.versioned = False
        self.capsule: Any = None

    def __dlpack_device__(self) -> tuple[int, int]:
        if self._is_capsule:
            return device_of(self._source) or _CPU
        device_type, index = self._source.__dlpack_device__()
        return int(device_type), index

    def __dlpack__(self, **request: Any) -> Any:
        capsule = self._source if self._is_capsule else self._source.__dlpack__(**request)
        self.versioned = is_named(capsule, b"dltensor_versioned")
        if not self.versioned and not is_named(capsule, b"dltensor"):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                "you might have already constructed a tensor from it once."
            )
        self.capsule = capsule
        return capsule


def _writable(array: np.ndarray) -> np.ndarray:
    """Return the array with its memory treated as writable."""
    interface = {**array.__array_interface__, "data": (array.ctypes.data, False)}
    return np.asarray(SimpleNamespace(array=array, __array_interface__=interface))  # keeps the array alive


attach("__dlpack__", _dlpack)
attach("__array_namespace__", _array_namespace)
attach("to_device", _to_device)
attach("__dlpack_device__", _dlpack_device)

# -- pickling ---------------------------------------------------------------------------------------------------


def warn_of_hooks(tensor: Tensor) -> None:
    """Warn that the stored form of a tensor does not include its hooks."""
    for hook in (tensor._backward_hooks or {}).values():
        if not is_unserializable(hook):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate "
                "the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Return the data for pickle and copy: class, memory, layout, ``requires_grad`` and attributes.

    Tensors that share memory still share it after loading, because the storage is pickled once.  As in PyTorch, the
    graph and ``grad`` are left out, so that the result of an operation becomes a leaf.
    """
    warn_of_hooks(self)
    values_read("pickling a tensor")
    elements = self._storage, self._layout.shape, self._layout.strides, self._offset, self._layout.type
    return _rebuilt, (type(self), elements, self.requires_grad), self.__dict__


def _rebuilt(cls: type, elements: tuple[Any, ...], requires_grad: bool) -> Tensor:
    """Return a tensor from its pickled data."""
    result = strided(*elements)
    result.__class__ = cls
    result._requires_grad = requires_grad
    return result


attach("__reduce_ex__", _reduce)
