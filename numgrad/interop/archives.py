"""PyTorch's files: zip archives of one pickle and the uncompressed memory of each storage.

All names in an archive are in one folder: ``data.pkl``, the memory as ``data/0``, ``data/1`` and so on, ``byteorder``
and ``version``.  Nothing is ever extracted to disk: entries are looked up by their full names, whatever these are.
"""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Iterable
from typing import IO, Any

import numpy as np

__all__ = ["ArchiveReader", "write_archive"]

#: The memory of a storage begins at a multiple of this in a file, so that it can be used in place.
_ALIGNMENT = 64

#: The signature of an entry's own header; its length without name and extra field; the position of their lengths in it.
_ENTRY, _HEADER_SIZE, _LENGTHS = b"PK\x03\x04", 30, slice(26, 30)

#: The size in bytes above which an entry's size is written in 64 bits, and the length that this adds to its extra
#: field.
_LARGE, _LARGE_EXTRA = 1 << 30, 20

#: The version of the format, and the identifier of the extra field that provides alignment.
_VERSION, _PADDING = b"3\n", b"FB"


def write_archive(file: IO[bytes], pickle: bytes, storages: Iterable[np.ndarray]) -> None:
    """Write a pickle and the memory that it refers to, buffers of any dtype, as an archive."""
    end = 0  # the end of the data written so far
    with zipfile.ZipFile(file, "w") as archive:

        def add(name: str, data: Any) -> None:
            nonlocal end
            info = zipfile.ZipInfo(f"archive/{name}")
            large = len(data) > _LARGE
            start = end + _HEADER_SIZE + len(info.filename) + 4 + large * _LARGE_EXTRA
            padding = -start % _ALIGNMENT
            info.extra = _PADDING + padding.to_bytes(2, "little") + bytes(padding)
            with archive.open(info, "w", force_zip64=large) as entry:
                entry.write(data)
            end = start + padding + len(data)

        add("data.pkl", pickle)
        add("byteorder", sys.byteorder.encode())
        for number, storage in enumerate(storages):
            add(f"data/{number}", storage.view(np.uint8).data)
        add("version", _VERSION)


class ArchiveReader:
    """The content of an archive.

    Args:
        file: the open archive.
        path: its name, to leave memory in the file until it is used (changes are not written back, and checksums are
            not verified); None to read it.

    Raises:
        ValueError, zipfile.BadZipFile: the file is damaged, or is not such an archive.
    """

    def __init__(self, file: IO[bytes], path: Any = None):
        self._file = file
        self._archive = zipfile.ZipFile(file)
        entries = self._archive.infolist()
        if sum(entry.file_size for entry in entries) > file.seek(0, 2):
            raise ValueError("its entries are larger than the file: they are compressed, or overlap")
        folders = [entry.filename.removesuffix("data.pkl") for entry in entries if entry.filename.endswith("/data.pkl")]
        if len(folders) != 1:
            raise ValueError("it holds no data.pkl, or several")
        self._folder = folders[0]
        self._names = {entry.filename for entry in entries}
        if self.has("constants.pkl"):
            raise ValueError("it is a TorchScript archive, a program; numgrad reads what torch.save wrote")
        order = self._read("byteorder").tobytes() if self.has("byteorder") else b"little"
        if order not in (b"little", b"big"):
            raise ValueError(f"its byte order is {order!r}")
        self.foreign = order != sys.byteorder.encode()  # True if numbers have the other byte order
        self.pickle = self._read("data.pkl").tobytes()
        self._memory = None if path is None else np.memmap(path, np.uint8, "c").view(np.ndarray)

    def has(self, name: str) -> bool:
        """Return True if there is such an entry."""
        return self._folder + name in self._names

    def storage(self, key: str, dtype: np.dtype, numel: int) -> np.ndarray:
        """Return the memory of a storage of ``numel`` numbers.

        Raises:
            ValueError: there is no such storage, or it has another size.
        """
        if not self.has(f"data/{key}"):
            raise ValueError(f"it has no storage {key!r}")
        buffer = self._read(f"data/{key}") if self._memory is None else self._mapped(f"data/{key}")
        if buffer.size != numel * dtype.itemsize:
            raise ValueError(
                f"storage {key!r} has {buffer.size} bytes, but {numel} of {dtype} have {numel * dtype.itemsize}"
            )
        if buffer.ctypes.data % dtype.itemsize:
            buffer = buffer.copy()
        buffer = buffer.view(dtype)
        return buffer.byteswap() if self.foreign else buffer

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Return the position in the file of an entry's bytes."""
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"entry {info.filename!r} is compressed, which PyTorch's are not")
        header = b""
        if info.header_offset >= 0:
            self._file.seek(info.header_offset)
            header = self._file.read(_HEADER_SIZE)
        if len(header) < _HEADER_SIZE or not header.startswith(_ENTRY):
            raise ValueError(f"entry {info.filename!r} does not begin where it should")
        return info.header_offset + _HEADER_SIZE + sum(np.frombuffer(header[_LENGTHS], "<u2").tolist())

    def _read(self, name: str) -> np.ndarray:
        """Return the bytes of an entry, verified against their checksum."""
        info = self._archive.getinfo(self._folder + name)
        buffer = np.empty(info.file_size, np.uint8)
        self._file.seek(self._start(info))
        if _read_into(self._file, buffer) < buffer.size:
            raise ValueError(f"entry {info.filename!r} reaches beyond the end of the file")
        if zlib.crc32(buffer.data) != info.CRC:
            raise ValueError(f"entry {info.filename!r} does not agree with its checksum")
        return buffer

    def _mapped(self, name: str) -> np.ndarray:
        """Return the bytes of an entry, in place in the mapped file."""
        info, memory = self._archive.getinfo(self._folder + name), self._memory
        assert memory is not None
        start = self._start(info)
        if start + info.file_size > memory.size:
            raise ValueError(f"entry {info.filename!r} reaches beyond the end of the file")
        return memory[start : start + info.file_size]


def _read_into(file: Any, buffer: np.ndarray) -> int:
    """Fill a buffer of bytes from a file and return the number of bytes read."""
    done = 0
    while done < buffer.size:
        remaining = buffer[done:]
        if hasattr(file, "readinto"):
            count = file.readinto(remaining.data)
        else:
            part = np.frombuffer(file.read(remaining.size), np.uint8)
            count = part.size
            remaining[:count] = part
        if not count:
            break
        done += count
    return done
