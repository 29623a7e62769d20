"""Tensors outside of numgrad: in the memory of other libraries (DLPack), and in a pickle."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..autograd.hooks import is_unserializable
from ..core.device import numbered, to_device
from ..core.tensor import Tensor, strided
from ..devices.recording import values_read
from ..ops.creation.from_data import from_array, from_numpy
from ..ops.table.op import attach
from .cuda_arrays import READ_ONLY, export_capsule, import_capsule, stream_for_import
from .dlpack import CUDA, device_of, is_named

#: DLPack's number for memory that the CPU reads, and that of the only such device.
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
    """A DLPack capsule of the tensor's memory, for another library's ``from_dlpack``.

    Args:
        stream: on a GPU the stream that the memory will be used on: a stream's address, 1 or None for the default one,
            -1 for no waiting.  It has no meaning on the CPU: None or -1.
        max_version: the newest version of DLPack that the caller reads; None stands for those before 1.0.
        dl_device: the device wanted, as DLPack numbers them; None for the tensor's own.
        copy: True for a copy of the elements.

    Raises:
        BufferError: the tensor requires a gradient, or is wanted on another device than its own or the CPU.
        ValueError: it is wanted on the CPU without a copy, and lies on a GPU.
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
    version: dict[str, Any] = {} if max_version is None else {"max_version": max_version}
    return (array.copy() if copy else array).__dlpack__(**version)


def _dlpack_on_gpu(
    tensor: Tensor, stream: Any, max_version: tuple[int, int] | None, dl_device: tuple[int, int] | None, copy: Any
) -> Any:
    wanted = None if dl_device is None else tuple(dl_device)
    if wanted == _CPU:
        if copy is False:
            raise ValueError(f"a copy is needed to export a tensor on {tensor.device} to the cpu")
        return tensor.cpu().__dlpack__(max_version=max_version)
    if wanted not in (None, _dlpack_device(tensor)):
        raise BufferError(f"cannot export a tensor that lies on {tensor.device} to DLPack device {wanted}")
    versioned = max_version is not None and max_version[0] >= 1
    return export_capsule(tensor.clone() if copy else tensor, stream, versioned)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """Where the memory lies, in DLPack's numbers: ``(1, 0)``, the CPU, or ``(2, index)``, a GPU."""
    return (CUDA, self.get_device()) if self.is_cuda else _CPU


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule (of a version before 1.0) of the tensor's memory; it can be read once."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.detach().__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array: changes to one are seen in the other.

    Args:
        ext_tensor: an array with ``__dlpack__``, or a DLPack capsule.
        device: where the tensor is to lie; None for where the array does.
        copy: True for a tensor on memory of its own, False for one that must not be.

    Raises:
        BufferError: the array cannot be exported, for one because it requires a gradient.
        RuntimeError: it is no such array, its capsule was read before, or its memory is not the CPU's.
        TypeError: numgrad has no such dtype.
        ValueError: it has a negative stride, or a copy would be needed and must not be made.
    """
    exporter = _Exporter(ext_tensor)
    made = _on_gpu(exporter) if exporter.__dlpack_device__()[0] == CUDA else None
    if made is None:
        made = _on_cpu(exporter, bool(copy))
    elif copy:
        made = made.clone()
    target = made.device if device is None else numbered(to_device(device))
    if target is made.device:
        return made
    if copy is False:
        raise ValueError(f"a copy is needed for a tensor on {target} of an array on {made.device}")
    return made.to(target)


def _on_gpu(exporter: _Exporter) -> Tensor:
    """A tensor on the memory of an array on a GPU."""
    stream = stream_for_import(exporter.__dlpack_device__())
    try:
        capsule = exporter.__dlpack__(**stream, max_version=(1, 0))
    except TypeError:  # it knows DLPack before 1.0
        capsule = exporter.__dlpack__(**stream)
    made, read_only = import_capsule(capsule)
    if read_only:
        warnings.warn(READ_ONLY, UserWarning, stacklevel=3)
    return made


def _on_cpu(exporter: _Exporter, copy: bool) -> Tensor:
    """A tensor on the memory of an array on the CPU."""
    array = np.from_dlpack(exporter)
    if copy:
        array = array.copy()
    elif not array.flags.writeable:
        if exporter.versioned:
            return from_numpy(array)  # which warns
        array = _writable(array)  # a capsule before version 1.0 cannot tell; PyTorch, too, trusts that one may write
    return from_array(array)


class _Exporter:
    """An array, or a capsule, as NumPy takes it; remembers whether the capsule says what may be written to."""

    def __init__(self, source: Any):
        self._is_capsule = isinstance(source, _CAPSULE)
        if not self._is_capsule and not hasattr(source, "__dlpack__"):
            raise RuntimeError(f"from_dlpack received an invalid capsule: {type(source).__name__} has no __dlpack__")
        self._source = source
        self.versioned = False

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
        return capsule


def _writable(array: np.ndarray) -> np.ndarray:
    """The array, its memory taken for such as may be written to."""
    interface = {**array.__array_interface__, "data": (array.ctypes.data, False)}
    return np.asarray(SimpleNamespace(array=array, __array_interface__=interface))  # which keeps the array alive


attach("__dlpack__", _dlpack)
attach("__dlpack_device__", _dlpack_device)

# -- pickling ---------------------------------------------------------------------------------------------------


def warn_of_hooks(tensor: Tensor) -> None:
    """Warn that what is stored of a tensor does not include its hooks."""
    for hook in (tensor._backward_hooks or {}).values():
        if not is_unserializable(hook):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate "
                "the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=3,
            )


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What pickle and copy store: class, memory, layout, ``requires_grad`` and attributes.

    Tensors that share memory share it afterwards, too: the storage is pickled once.  As in PyTorch, the graph and
    ``grad`` are left out: the result of an operation becomes a leaf.
    """
    warn_of_hooks(self)
    values_read("pickling a tensor")
    elements = self._storage, self._layout.shape, self._layout.strides, self._offset, self._layout.type
    return _rebuilt, (type(self), elements, self.requires_grad), self.__dict__


def _rebuilt(cls: type, elements: tuple[Any, ...], requires_grad: bool) -> Tensor:
    """A tensor from its pickle."""
    result = strided(*elements)
    result.__class__ = cls
    result._requires_grad = requires_grad
    return result


attach("__reduce_ex__", _reduce)
