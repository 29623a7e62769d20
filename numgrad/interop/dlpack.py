"""DLPack capsules of GPU memory, and of bfloat16, created and read via DLPack's C structures.

NumPy does this for CPU memory of other dtypes.  The structures are those of ``dlpack.h`` 1.0: a tensor, wrapped with
its deleter ("managed"), in the older form and in the versioned form.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

#: DLPack's number for the memory of NVIDIA's GPUs.
CUDA = 2

_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"
_USED = {_NAME: b"used_dltensor", _VERSIONED_NAME: b"used_dltensor_versioned"}

#: Bit 0 of the flags, which marks read-only memory.
_READ_ONLY = 1

#: DLPack's codes for categories of numbers, by NumPy's letters.
_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}  # bfloat16 is NumPy's "V2"
_LETTERS = {code: letter for letter, code in _CODES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", _Deleter),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


# -- Python's capsules --------------------------------------------------------------------------------------------

_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


def _of_python(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of Python's C API."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _of_python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer = _of_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_rename = _of_python("PyCapsule_SetName", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_new = _of_python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)


def is_named(capsule: Any, name: bytes) -> bool:
    """Return True if an object is a capsule with this name."""
    return bool(_is_valid(id(capsule), name))


# -- export ---------------------------------------------------------------------------------------------------------

#: The objects kept alive by capsules that are not freed yet, by the addresses of their structures.
_kept: dict[int, tuple[Any, ...]] = {}


@_Deleter
def _forget(address: int | None) -> None:
    """Free the objects kept alive by a capsule; the consumer calls this once it no longer uses the memory."""
    if address is not None:
        _kept.pop(address, None)


@_Destructor
def _capsule_ends(capsule: int) -> None:
    """Free the objects kept alive by a capsule that was never consumed; such a capsule still has its name."""
    for name in _USED:
        if _is_valid(capsule, name):
            _kept.pop(_pointer(capsule, name), None)


def capsule_of(
    owner: Any, address: int, device: tuple[int, int], dtype: np.dtype, shape: Sequence[int], strides: Sequence[int],
    versioned: bool,
) -> Any:
    """Return a capsule of memory, in the versioned or the older form.

    Args:
        owner: the object that keeps the memory; it lives until the capsule, or its consumer, is done.
        address: the address of the first element.
        device: the kind of device, in DLPack's numbers, and the number of the GPU.
        dtype: the dtype of the elements.
        shape, strides: the shape, and the strides in elements.
    """
    extents = (ctypes.c_int64 * (2 * len(shape)))(*shape, *strides)
    steps = ctypes.cast(
        ctypes.addressof(extents) + len(shape) * ctypes.sizeof(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64)
    )
    tensor = _Tensor(
        address, *device, len(shape), _CODES[dtype.kind], 8 * dtype.itemsize, 1,
        ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)), steps, 0,
    )  # fmt: skip
    managed: Any = _Versioned(1, 0, None, _forget, 0, tensor) if versioned else _Managed(tensor, None, _forget)
    header = ctypes.addressof(managed)
    _kept[header] = managed, extents, owner
    return _new(header, _VERSIONED_NAME if versioned else _NAME, _capsule_ends)


def device_of(capsule: Any) -> tuple[int, int] | None:
    """Return the device of a capsule's memory, in DLPack's numbers; None if the capsule was already consumed."""
    for name, structure in ((_VERSIONED_NAME, _Versioned), (_NAME, _Managed)):
        if is_named(capsule, name):
            tensor = structure.from_address(_pointer(id(capsule), name)).tensor
            return tensor.device_type, tensor.device_id
    return None


# -- import ---------------------------------------------------------------------------------------------------------


class Borrowed:
    """Memory from a capsule, released when this object is destroyed."""

    __slots__ = ("_deleter", "_header")

    def __init__(self, deleter: Any, header: int):
        self._deleter = deleter
        self._header = header

    def __del__(self) -> None:
        if self._deleter:
            self._deleter(self._header)


def is_bfloat16(capsule: Any) -> bool:
    """Return True if a capsule's elements are bfloat16, which NumPy does not read."""
    for name, structure in ((_VERSIONED_NAME, _Versioned), (_NAME, _Managed)):
        if is_named(capsule, name):
            return structure.from_address(_pointer(id(capsule), name)).tensor.code == _CODES["V"]
    return False


def read_capsule(capsule: Any) -> tuple[Borrowed, int, int, np.dtype, tuple[int, ...], tuple[int, ...] | None, bool]:
    """Return the content of a capsule of GPU memory, or of bfloat16, which can be consumed once.

    Returns:
        The object that keeps the memory, the address of the first element, the number of the GPU, the dtype, the shape,
        the strides in elements (None for row-major), and True if the memory is read-only.

    Raises:
        BufferError: the memory is on another kind of device, in a newer form, or of a dtype that NumPy lacks.
    """
    name = _VERSIONED_NAME if is_named(capsule, _VERSIONED_NAME) else _NAME
    header = _pointer(id(capsule), name)
    managed: Any = (_Versioned if name is _VERSIONED_NAME else _Managed).from_address(header)
    read_only = False
    if name is _VERSIONED_NAME:
        if managed.major != 1:
            raise BufferError(f"numgrad reads DLPack 1, not {managed.major}.{managed.minor}")
        read_only = bool(managed.flags & _READ_ONLY)
    tensor = managed.tensor
    if tensor.device_type != CUDA and tensor.code != _CODES["V"]:
        raise BufferError(f"the memory is on DLPack device {(tensor.device_type, tensor.device_id)}, not on a GPU")
    letter = _LETTERS.get(tensor.code)
    if letter is None or tensor.lanes != 1:
        raise BufferError(f"no dtype for DLPack's type ({tensor.code}, {tensor.bits}, {tensor.lanes})")
    try:
        dtype = np.dtype(f"{letter}{tensor.bits // 8}")
    except TypeError:
        raise BufferError(f"no dtype for DLPack's type ({tensor.code}, {tensor.bits}, 1)") from None
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    address, device = (tensor.data or 0) + tensor.byte_offset, tensor.device_id
    _rename(id(capsule), _USED[name])
    return Borrowed(managed.deleter, header), address, device, dtype, shape, strides, read_only
