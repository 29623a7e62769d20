"""Transfer of batches between processes: large arrays in shared memory, the rest through a pipe.

Each large array is written to its own memory, an unnamed file whose descriptor is passed.  The memory is freed when
neither process has it open, regardless of how they ended.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import tempfile
import weakref
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ...core.layout import span
from ...tensors.tensor import Tensor

__all__ = ["packed", "receive", "send"]

#: Size in bytes from which an array is sent in shared memory.
_LARGE = 1 << 16

#: Maximum number of the receiver's arrays in shared memory, as each takes a file descriptor.  Others are copied.
_MAPPED_LIMIT = 128

#: References to the arrays in shared memory.  This is no WeakSet because Python ignores an interrupt (Ctrl-C) that
#: arrives in a callback written in Python, as the WeakSet's callback is.
_mapped: set[weakref.ref[mmap.mmap]] = set()

#: True if one process can pass an open file to another.
_SHARES = hasattr(socket, "send_fds")

#: A pickled value, and the arrays that are sent outside the pickle.
Packed = tuple[bytes, list[pickle.PickleBuffer]]


class _BatchPickler(pickle.Pickler):
    """Pickler that includes the elements of the tensors in a batch, not all of their memory."""

    def reducer_override(self, value: Any) -> Any:
        """Pickle a copy of a tensor that uses only a part of its memory, and any other value in the default way."""
        if not isinstance(value, Tensor):
            return NotImplemented
        if value.requires_grad and not value.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries. If you just want to transfer the data, call detach() on the tensor "
                f"before serializing (shape {list(value.shape)}, {value.grad_fn})"
            )
        storage = value._storage
        if type(storage) is not np.ndarray or storage.size == span(value._layout.shape, value._layout.strides):
            return NotImplemented
        part = value.detach().clone()
        part.__class__ = type(value)
        part.__dict__.update(value.__dict__)
        return part.requires_grad_(value.requires_grad).__reduce_ex__(5)


def packed(value: Any) -> Packed:
    """Return a value in the form for sending."""
    large: list[pickle.PickleBuffer] = []

    def in_pickle(buffer: pickle.PickleBuffer) -> bool:
        if not _SHARES or buffer.raw().nbytes < _LARGE:
            return True
        large.append(buffer)
        return False

    stream = io.BytesIO()
    _BatchPickler(stream, 5, buffer_callback=in_pickle).dump(value)
    return stream.getvalue(), large


def send(connection: Connection, value: Packed) -> None:
    """Send a value returned by :func:`packed`.

    Raises:
        OSError: there is no receiver.
    """
    data, large = value
    connection.send((data, [buffer.raw().nbytes for buffer in large]))
    for buffer in large:
        with _nameless_file() as file:
            remaining = buffer.raw()
            while remaining:
                remaining = remaining[os.write(file.fileno(), remaining) :]
            reduction.send_handle(connection, file.fileno(), None)


def receive(connection: Connection) -> Any:
    """Receive a value from another process.

    Raises:
        EOFError, OSError: the sender exited before sending everything.
    """
    data, sizes = connection.recv()
    return pickle.loads(data, buffers=[_received(connection, size) for size in sizes])


def _received(connection: Connection, size: int) -> Any:
    """Return the memory of an array: the shared memory itself, or a copy."""
    with open(reduction.recv_handle(connection), "rb", buffering=0) as file:
        if len(_mapped) < _MAPPED_LIMIT:
            memory = mmap.mmap(file.fileno(), size)
            _mapped.add(weakref.ref(memory, _mapped.discard))
            return memory
        file.seek(0)
        return np.fromfile(file, np.uint8, size)


def _nameless_file() -> Any:
    """Return a new unnamed file in memory, or in the directory for temporary files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("numgrad"), "wb", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
