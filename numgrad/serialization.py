"""Saving and loading: PyTorch's files of tensors and nested state, read as data only.

Nothing in a file is ever executed: what is not a tensor, a container, a number or a string is refused.
"""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from collections.abc import Callable
from typing import IO, Any

from .core.device import to_device
from .core.tensor import Tensor
from .core.types import device, dtype
from .interop.archives import ArchiveReader, write_archive
from .interop.pickling import pickled
from .interop.safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .interop.unpickling import unpickled
from .ops.creation.factories import empty
from .ops.creation.from_data import from_array

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

File = str | os.PathLike[str] | IO[bytes]


# -- saving -----------------------------------------------------------------------------------------------------


def save(
    obj: Any,
    f: File,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write ``obj`` to a file that :func:`load` reads, and PyTorch's ``torch.load``.

    ``obj`` is a tensor, or dicts, OrderedDicts, Counters, lists, tuples and sets, however nested, of tensors,
    Parameters, numbers, strings, bytes, None, Sizes, dtypes, devices, and NumPy's numbers and arrays (which PyTorch
    reads only if it is told that they are safe); a ``state_dict`` for one.  Tensors keep their strides, attributes and
    ``requires_grad``, and those that overlapped in memory do so again; ``grad`` and the graph are not stored.

    A file given by name is replaced in one step, once all is written; if that fails, the old file stays.

    Args:
        obj: what to save.
        f: the file's name, or a file opened for writing bytes.
        pickle_module, pickle_protocol: of no consequence: the pickle is always such that PyTorch reads it with
            ``weights_only=True``.

    Raises:
        TypeError, ValueError: something in ``obj`` cannot be stored; the message says where in the nesting it is. Or
            PyTorch's format before 1.6 is asked for.
        RuntimeError: the directory does not exist.
    """
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not _use_new_zipfile_serialization:
        raise ValueError("save() writes PyTorch's zip format, not the one before version 1.6")
    data, storages = pickled(obj)
    if isinstance(f, str | os.PathLike):
        replace_file(os.path.realpath(f), lambda file: write_archive(file, data, storages))
    else:
        write_archive(f, data, storages)


def replace_file(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Make what ``write`` writes the content of the file, all of it or, if that fails, nothing."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {directory} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, say
        with open(path, "wb") as file:
            write(file)
        return
    temporary = os.path.join(directory, f".{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
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


def load(
    f: File, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """What :func:`save`, or PyTorch's ``torch.save``, wrote to a file; of a safetensors file its tensors as a dict.

    Args:
        f: the file's name, or a file opened for reading bytes, that can be read in any order.
        map_location: the device to put the tensors on; a dict from names of devices to such; or a function that is
            given each storage, as a tensor of one dimension on the CPU, and the name of the device that it was on, and
            returns it, on any device, or None. Otherwise each goes where it was.
        weights_only, pickle_load_args: of no consequence: whatever they say, tensors, containers, numbers and strings
            are built, and what was named to :func:`serialization.add_safe_globals`.
        mmap: True to leave the elements in the file until they are used; changes to them are not written back. The
            checksums of the elements are not tested then.

    Raises:
        pickle.UnpicklingError: the file names something that is not built, as a module or an optimizer itself.
        RuntimeError: the file is damaged, or of another format; it holds tensors of a dtype that numgrad has not; or
            a tensor lay on a GPU and there is none.
        ValueError: ``mmap`` with a file that is not given by name.
        AttributeError, io.UnsupportedOperation: the file can only be read from its start to its end.
    """
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    placed = _placement(map_location)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _read(file, f"file {os.fspath(f)!r}", f if mmap else None, placed)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read': load() takes a name or a file")
    try:
        f.seek(f.tell())
    except (AttributeError, OSError) as error:
        kind = AttributeError if isinstance(error, AttributeError) else io.UnsupportedOperation
        raise kind(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
    name = f"file {f.name!r}" if isinstance(getattr(f, "name", None), str) else "file"
    return _read(f, name, None, placed)


def _read(file: IO[bytes], name: str, path: Any, placed: Callable[[Tensor, str], Tensor]) -> Any:
    """What is in a file, the elements of which stay there where its ``path`` is given."""
    start = file.tell()
    head = file.read(_HEAD)
    file.seek(start)
    _check_format(name, head)
    try:
        if head.startswith(_ZIP):
            return _read_archive(ArchiveReader(file, path), placed)
        from .interop.safetensors_files import read_safetensors  # for few files need it

        return read_safetensors(file, path, lambda location: placed(empty(0, device="cpu"), location).device)
    except (EOFError, NotImplementedError, ValueError, zipfile.BadZipFile) as error:
        raise RuntimeError(f"{name} is damaged or truncated: {error}") from error


def _read_archive(archive: ArchiveReader, placed: Callable[[Tensor, str], Tensor]) -> Any:
    def storage_of(key: str, dtype: dtype, location: str, numel: int) -> Tensor:
        row = placed(from_array(archive.storage(key, dtype.numpy, numel)), location)
        if not isinstance(row, Tensor) or row.dtype is not dtype or row.shape != (numel,):
            raise TypeError(f"map_location made {row!r} of a storage of {numel} elements of type {dtype}")
        return row.contiguous()

    return unpickled(archive.pickle, storage_of)


def _placement(location: Any) -> Callable[[Tensor, str], Tensor]:
    """The function that puts a row where ``map_location`` says, given the name of the device that it was on."""
    if callable(location):
        return lambda row, name: _given(location(row, name), row, name)
    for target in location.values() if isinstance(location, dict) else [location]:
        if not isinstance(target, str | device | None):
            raise TypeError(
                f"load(): argument 'map_location' must be a device, its name, a dict or a function, not {target!r}"
            )
    if location is not None and not isinstance(location, dict):
        everywhere = to_device(location)
        return lambda row, name: row.to(everywhere)
    chosen = {str(name): to_device(target) for name, target in (location or {}).items()}
    return lambda row, name: row.to(chosen[name] if name in chosen else _own_device(name))


def _given(result: Any, row: Tensor, name: str) -> Any:
    return row.to(_own_device(name)) if result is None else result


def _own_device(name: str) -> device:
    """The device that a tensor lay on, if it is there."""
    own = device(name)
    if own.type == "cuda":
        from . import cuda  # which a program without GPUs need not import

        if not cuda.is_available():
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
                "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
                "your storages to the CPU."
            )
    return own


#: What PyTorch's files begin with; bytes that tell what a file is; where a tar archive says that it is one.
_ZIP, _HEAD, _TAR = b"PK\x03\x04", 265, slice(257, 262)


def _check_format(name: str, head: bytes) -> None:
    """Raise RuntimeError unless a file that begins so may be one of PyTorch's or a safetensors file."""
    if head.startswith(_ZIP) or head[8:9] == b"{":
        return
    if not head:
        raise RuntimeError(f"{name} is empty")
    if head[_TAR] == b"ustar":
        raise RuntimeError(f"{name} is a tar archive, PyTorch's oldest format: {_AGAIN}")
    if head.startswith(b"\x80"):
        raise RuntimeError(f"{name} is a pickle, as PyTorch's format before version 1.6 was: {_AGAIN}")
    raise RuntimeError(f"{name} is no file of PyTorch's, or is damaged at its beginning ({head[:9]!r})")


_AGAIN = "load it in PyTorch and save it again, in today's zip format"
