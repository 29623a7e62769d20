"""Saving and loading: PyTorch's files of tensors and nested state.

Nothing in a file is executed, and only tensors, containers, numbers and strings are accepted, unless the caller says
``weights_only=False``.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import zipfile
from collections.abc import Callable
from typing import IO, Any

from . import cuda
from .core.device import to_device
from .core.types import device, dtype
from .interop.archives import ArchiveReader, write_archive
from .interop.pickling import pickled
from .interop.safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .interop.unpickling import unpickled
from .interop.whole_objects import unpickled_by_python
from .ops.creation.factories import empty
from .ops.creation.from_data import from_array
from .tensors.tensor import Tensor

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

#: The protocol of the pickles in files.
DEFAULT_PROTOCOL = 2

#: Types of arguments, for annotations.
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
FILE_LIKE = str | os.PathLike[str] | IO[bytes]

File = str | os.PathLike[str] | IO[bytes]


# -- saving -----------------------------------------------------------------------------------------------------


def save(
    obj: Any,
    f: File,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write ``obj`` to a file that :func:`load` and PyTorch's ``torch.load`` can read.

    ``obj`` is a tensor or a nested structure, such as a ``state_dict``, of dicts, OrderedDicts, Counters, lists, tuples
    and sets.  It may contain tensors, Parameters, numbers, strings, bytes, None, Sizes, dtypes, devices, and NumPy
    scalars and arrays, which PyTorch reads only if they are declared safe.  Tensors keep their strides, attributes and
    ``requires_grad``, and those that overlapped in memory overlap again; ``grad`` and the graph are not stored.

    Other objects, such as whole modules, are stored as Python's ``pickle`` does, by the names of their classes.
    :func:`load` reads them only with ``weights_only=False``.

    A file given by name is replaced in one step after everything is written; on failure, the old file remains.

    Args:
        obj: the object to save.
        f: the file's name, or a file opened for writing bytes.
        pickle_module, pickle_protocol: no effect: PyTorch can always read the pickle with ``weights_only=True``.

    Raises:
        TypeError, ValueError, pickle.PicklingError: a value in ``obj`` cannot be stored; the message names its position
            in the nesting.  ValueError also if PyTorch's format before 1.6 is requested.
        RuntimeError: the directory does not exist.

    Example:
        >>> import io
        >>> import numgrad
        >>> file = io.BytesIO()
        >>> numgrad.save({"weight": numgrad.ones(2)}, file)
        >>> position = file.seek(0)
        >>> numgrad.load(file)
        {'weight': tensor([1., 1.])}
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
    """Replace the content of the file with the output of ``write``, completely or, on failure, not at all."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise RuntimeError(f"Parent directory {directory} does not exist.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, for example
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
    if os.name == "posix":  # the new directory entry must survive a power failure, too
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
    """Return the object written by :func:`save` or ``torch.save``, or the tensors of a safetensors file as a dict.

    Args:
        f: the file's name, or a seekable file opened for reading bytes.
        map_location: the device for the tensors, a dict that maps device names to devices, or a function.  The function
            takes each storage, as a tensor of one dimension on the CPU, and the name of its former device; it returns
            the tensor on any device, or None.  By default, each tensor is placed on its former device.
        pickle_module, pickle_load_args: the module to use instead of ``pickle``, and arguments of its ``Unpickler``,
            with ``weights_only=False``.
        weights_only: unless False, only tensors, containers, numbers and strings are built, and the globals passed to
            :func:`serialization.add_safe_globals`.  False also loads other objects, such as whole modules, with
            Python's ``pickle``: the file may then run any code, so its source must be trusted.  Classes of PyTorch
            that the file names are numgrad's.
        mmap: True to leave the elements in the file until they are used.  Changes to them are not written back, and
            their checksums are not verified.

    Raises:
        pickle.UnpicklingError: the file refers to a class that is not built, such as a module or an optimizer itself.
        RuntimeError: the file is damaged or has another format, it contains tensors of a dtype that numgrad lacks, or
            a tensor was on a GPU and there is none.
        ValueError: ``mmap`` with a file that is not given by name.
        AttributeError, io.UnsupportedOperation: the file is not seekable.

    Example:
        >>> import io
        >>> import numgrad
        >>> file = io.BytesIO()
        >>> numgrad.save({"weight": numgrad.ones(2)}, file)
        >>> position = file.seek(0)
        >>> numgrad.load(file)["weight"]
        tensor([1., 1.])
    """
    if pickle_module is not None and weights_only is not False:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    placed = _placement(map_location)
    read = unpickled
    if weights_only is False:
        read = functools.partial(unpickled_by_python, pickle_module=pickle_module, **pickle_load_args)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _read(file, f"file {os.fspath(f)!r}", f if mmap else None, placed, read)
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
    return _read(f, name, None, placed, read)


def _read(
    file: IO[bytes], name: str, path: Any, placed: Callable[[Tensor, str], Tensor], read: Callable[..., Any]
) -> Any:
    """Return the contents of a file; with its ``path``, the elements stay in the file."""
    start = file.tell()
    head = file.read(_HEAD)
    file.seek(start)
    _check_format(name, head)
    try:
        if head.startswith(_ZIP):
            return _read_archive(ArchiveReader(file, path), placed, read)
        from .interop.safetensors_files import read_safetensors  # few files need it

        return read_safetensors(file, path, lambda location: placed(empty(0, device="cpu"), location).device)
    except (EOFError, NotImplementedError, ValueError, zipfile.BadZipFile) as error:
        raise RuntimeError(f"{name} is damaged or truncated: {error}") from error


def _read_archive(
    archive: ArchiveReader, placed: Callable[[Tensor, str], Tensor], read: Callable[..., Any]
) -> Any:
    def storage_of(key: str, dtype: dtype, location: str, numel: int) -> Tensor:
        buffer = placed(from_array(archive.storage(key, dtype.numpy, numel)), location)
        if not isinstance(buffer, Tensor) or buffer.dtype is not dtype or buffer.shape != (numel,):
            raise TypeError(f"map_location returned {buffer!r} for a storage of {numel} elements of type {dtype}")
        return buffer.contiguous()

    return read(archive.pickle, storage_of)


def _placement(location: Any) -> Callable[[Tensor, str], Tensor]:
    """Return a function that places a buffer according to ``map_location``, given the name of its former device."""
    if callable(location):
        return lambda buffer, name: _moved(location(buffer, name), buffer, name)
    for target in location.values() if isinstance(location, dict) else [location]:
        if not isinstance(target, str | device | None):
            raise TypeError(
                f"load(): argument 'map_location' must be a device, its name, a dict or a function, not {target!r}"
            )
    if location is not None and not isinstance(location, dict):
        everywhere = to_device(location)
        return lambda buffer, name: buffer.to(everywhere)
    chosen = {str(name): to_device(target) for name, target in (location or {}).items()}
    return lambda buffer, name: buffer.to(chosen[name] if name in chosen else _own_device(name))


def _moved(result: Any, buffer: Tensor, name: str) -> Any:
    return buffer.to(_own_device(name)) if result is None else result


def _own_device(name: str) -> device:
    """Return the former device of a tensor, if it is available."""
    result = device(name)
    if result.type == "cuda" and not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
            "your storages to the CPU."
        )
    if result.type not in ("cpu", "cuda"):
        raise RuntimeError(
            f"the file has tensors of a device {name!r}, which numgrad lacks: load them with map_location='cpu'"
        )
    return result


#: Signature of PyTorch's files; number of bytes that identify a format; position of a tar archive's signature.
_ZIP, _HEAD, _TAR = b"PK\x03\x04", 265, slice(257, 262)


def _check_format(name: str, head: bytes) -> None:
    """Raise RuntimeError unless ``head`` may begin a PyTorch or safetensors file."""
    if head.startswith(_ZIP) or head[8:9] == b"{":
        return
    if not head:
        raise RuntimeError(f"{name} is empty")
    if head[_TAR] == b"ustar":
        raise RuntimeError(f"{name} is a tar archive, PyTorch's oldest format: {_AGAIN}")
    if head.startswith(b"\x80"):
        raise RuntimeError(f"{name} is a pickle, as PyTorch's format before version 1.6 was: {_AGAIN}")
    raise RuntimeError(f"{name} is not a PyTorch file, or is damaged at its beginning ({head[:9]!r})")


_AGAIN = "load it in PyTorch and save it again, in today's zip format"
