"""Saving and loading: tensors and nested state in a safetensors file, whose header says how they belong together.

It is an ordinary safetensors file: any reader of that format finds each tensor under its path in the nesting, a flat
dict of tensors under its keys.  The metadata hold, as JSON, the nesting itself and what safetensors has no words for:
strides, ``requires_grad``, which tensors share memory, checksums.  Reading interprets data only; nothing in a file is
ever executed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from typing import IO, Any

import numpy as np
import safetensors.numpy

from .core.device import to_device
from .core.tensor import Tensor
from .core.types import device
from .interop.nested_state import read_header, write_header
from .ops.creation.from_data import from_array

__all__ = ["load", "save"]

#: The key of the metadata under which our header is, and another entry that says so, for if that is damaged.
_KEY = "numgrad"
_FORMAT = ("format", "numgrad")

File = str | os.PathLike[str] | IO[bytes]


# -- saving -----------------------------------------------------------------------------------------------------


def save(obj: Any, f: File) -> None:
    """Write ``obj`` to a file, a safetensors file that :func:`load` reads.

    ``obj`` is a tensor, or dicts, OrderedDicts, Counters, lists and tuples, however nested, of tensors, Parameters,
    numbers (infinite, NaN, complex and NumPy's, too), strings, bytes, None, Sizes, dtypes and devices; a ``state_dict``
    for one.  Tensors keep their dtype, strides, attributes and ``requires_grad``, and those that overlapped in memory
    do so again; ``grad`` and the graph are not stored.

    A file given by name is replaced in one step, once all is written; if that fails, the old file stays.

    Args:
        obj: what to save.
        f: the file's name, or a file opened for writing bytes.

    Raises:
        TypeError, ValueError: something in ``obj`` cannot be stored; the message says where in the nesting it is.
        RuntimeError: the directory does not exist.
    """
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    header, arrays = write_header(obj)
    data = safetensors.numpy.save(arrays, dict([_FORMAT, (_KEY, header)]))
    if isinstance(f, str | os.PathLike):
        _replace(os.path.realpath(f), data)
    else:
        f.write(data)


def _replace(path: str, data: bytes) -> None:
    """Make ``data`` the content of the file, all of it or, if that fails, nothing."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {directory} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, say
        with open(path, "wb") as file:
            file.write(data)
        return
    temporary = os.path.join(directory, f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if os.name == "posix":  # the new name, too, is to survive a power failure
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- loading ----------------------------------------------------------------------------------------------------

#: NumPy's dtypes by safetensors' names.
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8", "F32": "f4", "F64": "f8", "C64": "c8",
}


def load(f: File, map_location: Any = None, *, weights_only: bool = True, mmap: bool | None = None) -> Any:
    """What :func:`save` wrote to a file; of any other safetensors file, its tensors as a dict.

    Args:
        f: the file's name, or a file opened for reading bytes.
        map_location: the device to put the tensors on, or a dict from names of devices to such; otherwise each goes
            where it was.
        weights_only: of no consequence: nothing but data is ever read from a file.
        mmap: True to leave the elements in the file until they are used; changes to them are not written back. The
            checksums of the elements are not tested then.

    Raises:
        RuntimeError: the file is damaged, or of another format, or a tensor lay on a GPU and there is none.
        ValueError: ``mmap`` with a file that is not given by name.
    """
    device_for = _device_map(map_location)
    if isinstance(f, str | os.PathLike):
        name = f"file {os.fspath(f)!r}"
        with open(f, "rb") as file:
            data = file.read(_HEAD) if mmap else file.read()
    elif mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    elif not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read': load() takes a name or a file")
    else:
        name = f"file {f.name!r}" if isinstance(getattr(f, "name", None), str) else "file"
        data = f.read()
    _check_format(name, data[:_HEAD])
    try:
        if mmap:
            with safetensors.safe_open(f, framework="np"):  # which tests that nothing is missing
                rows, header = _mapped(f)
        else:
            rows = {key: np.frombuffer(entry["data"], np.uint8) for key, entry in safetensors.deserialize(data)}
            header, _ = _header(data)
    except safetensors.SafetensorError as error:
        raise RuntimeError(f"{name} is damaged or truncated: {error}") from None
    metadata = header.get("__metadata__") or {}
    if _KEY not in metadata and _FORMAT not in metadata.items():
        return {key: _tensor(key, row, header[key], name).to(device_for("cpu")) for key, row in rows.items()}
    try:
        return read_header(metadata.get(_KEY, ""), rows, test=not mmap, device_for=device_for)
    except ValueError as error:
        raise RuntimeError(f"{name} is damaged: {error}") from error


def _device_map(location: Any) -> Callable[[str], device]:
    """The device for tensors that were stored from the one that a string names."""
    for target in location.values() if isinstance(location, dict) else [location]:
        if not isinstance(target, str | device | None):
            raise TypeError(f"load(): argument 'map_location' must be a device, its name or a dict, not {target!r}")
    if location is not None and not isinstance(location, dict):
        everywhere = to_device(location)
        return lambda name: everywhere
    chosen = {str(name): to_device(target) for name, target in (location or {}).items()}
    return lambda name: chosen[name] if name in chosen else _own_device(device(name))


def _own_device(device: device) -> device:
    """The device that a tensor lay on, if it is there."""
    from . import cuda  # which a program without GPUs need not import

    if device.type == "cuda" and not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    return device


#: Bytes that tell what a file is: the length of the header, and the first character of the header.
_HEAD = 9


def _check_format(name: str, head: bytes) -> None:
    """Raise RuntimeError unless a file that begins so may be a safetensors file."""
    if head[8:] == b"{":
        return
    if not head:
        raise RuntimeError(f"{name} is empty")
    for start, other in (b"PK", "a zip archive"), (b"\x80", "a pickle"):
        if head.startswith(start):
            raise RuntimeError(
                f"{name} is {other}, no safetensors file. PyTorch's own format is made with pickle, which numgrad does "
                "not execute. In PyTorch, save the tensors with safetensors.torch.save_file"
            )
    raise RuntimeError(f"{name} is no safetensors file, or is damaged at its beginning ({head!r})")


def _header(data: Any) -> tuple[dict[str, Any], int]:
    """The header of a file, and where it ends."""
    end = 8 + int.from_bytes(bytes(data[:8]), "little")
    return json.loads(bytes(data[8:end])), end


def _mapped(path: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The bytes of each tensor, on the memory of the file, and the header."""
    memory = np.memmap(path, np.uint8, "c").view(np.ndarray)
    header, start = _header(memory)
    rows = {}
    for name in [name for name in header if name != "__metadata__"]:
        begin, end = header[name]["data_offsets"]
        row = memory[start + begin : start + end]
        rows[name] = row.copy() if row.ctypes.data % 8 else row  # others need not have aligned it
    return rows, header


def _tensor(key: str, row: np.ndarray, entry: dict[str, Any], name: str) -> Tensor:
    """A tensor from a file that numgrad did not write: its bytes, and what the header says of it."""
    element = _DTYPES.get(entry["dtype"])
    if element is None:
        raise RuntimeError(f"{name}: tensor {key!r} has dtype {entry['dtype']}, which numgrad does not have")
    return from_array(row.view(element).reshape(entry["shape"]))
