"""Batches from one process to another: large arrays in memory that both see, the rest through a pipe.

Each large array is written to memory of its own, a file without a name, whose descriptor is handed over.  Nothing is
left of it when neither process has it open, however they ended.
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
from ...core.tensor import Tensor

__all__ = ["packed", "receive", "send"]

#: Bytes from which an array goes through shared memory.
_LARGE = 1 << 16

#: How many arrays of the receiver's may lie in such memory: each takes a file descriptor. Further ones are copied.
_MAPPED_LIMIT = 128

_mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

#: Whether one process can give another an open file.
_SHARES = hasattr(socket, "send_fds")

#: A value as a pickle, and the arrays in it that are not part of that.
Packed = tuple[bytes, list[pickle.PickleBuffer]]


class _Pickler(pickle.Pickler):
    """Pickles what the tensors in a batch show, not all the memory that they lie in."""

    def reducer_override(self, value: Any) -> Any:
        """A tensor that shows a part of its memory as a copy; None for others, which are pickled as ever."""
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
    """A value ready to be sent."""
    large: list[pickle.PickleBuffer] = []

    def in_pickle(buffer: pickle.PickleBuffer) -> bool:
        if not _SHARES or buffer.raw().nbytes < _LARGE:
            return True
        large.append(buffer)
        return False

    stream = io.BytesIO()
    _Pickler(stream, 5, buffer_callback=in_pickle).dump(value)
    return stream.getvalue(), large


def send(connection: Connection, value: Packed) -> None:
    """Send what :func:`packed` made ready.

    Raises:
        OSError: nobody receives it.
    """
    data, large = value
    connection.send((data, [buffer.raw().nbytes for buffer in large]))
    for buffer in large:
        with _nameless_file() as file:
            rest = buffer.raw()
            while rest:
                rest = rest[os.write(file.fileno(), rest) :]
            reduction.send_handle(connection, file.fileno(), None)


def receive(connection: Connection) -> Any:
    """Receive what another process sent.

    Raises:
        EOFError, OSError: it ended before it had sent all.
    """
    data, sizes = connection.recv()
    return pickle.loads(data, buffers=[_received(connection, size) for size in sizes])


def _received(connection: Connection, size: int) -> Any:
    """The memory of an array: that which was sent, or a copy."""
    with open(reduction.recv_handle(connection), "rb", buffering=0) as file:
        if len(_mapped) < _MAPPED_LIMIT:
            memory = mmap.mmap(file.fileno(), size)
            _mapped.add(memory)
            return memory
        file.seek(0)
        return np.fromfile(file, np.uint8, size)


def _nameless_file() -> Any:
    """A new file in memory, or in the folder for temporary files, that has no name."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("numgrad"), "wb", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
