"""Replacements of nccl4py 0.6 and CuPy 14.2: their signatures, with MPI and the emulated memory of GPUs below."""

import ctypes
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
from mpi4py import MPI

from numgrad.core.halves import narrowed, widened

#: NCCL's numbers of dtypes.
NUMBERS = {1: np.uint8, 2: np.int32, 7: np.float32, 9: np.dtype("V2")}

#: The names of the collectives that were called, with their streams.
calls = []


def elements(address, count, number):
    """Return memory as an array."""
    dtype = np.dtype(NUMBERS[number])
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


class Communicator:
    """The communicator of nccl4py, whose buffers are tensors."""

    @classmethod
    def init(cls, nranks, rank, unique_id, config=None):
        made = cls()
        made.communicator = MPI.COMM_WORLD.Dup()
        assert (nranks, rank) == (made.communicator.Get_size(), made.communicator.Get_rank())
        assert unique_id == b"of rank 0"
        return made

    def destroy(self):
        self.communicator.Free()

    def allreduce(self, sendbuf, recvbuf, op, *, stream=None, config=None):
        self.reduce(sendbuf, recvbuf, op, stream=stream)
        calls[-1] = "allreduce", stream

    def reduce(self, sendbuf, recvbuf, op, root=None, *, stream=None, config=None):
        total = self._reduced("reduce", stream, sendbuf, op)
        if root is None or root == self.communicator.Get_rank():
            self._array(recvbuf)[:] = total

    def broadcast(self, sendbuf, recvbuf, root, *, stream=None, config=None):
        self._array(recvbuf)[:] = self._of_all("broadcast", stream, sendbuf)[root]

    def allgather(self, sendbuf, recvbuf, *, stream=None, config=None):
        self._array(recvbuf)[:] = np.concatenate(self._of_all("allgather", stream, sendbuf))

    def reduce_scatter(self, sendbuf, recvbuf, op, *, stream=None, config=None):
        total = self._reduced("reduce_scatter", stream, sendbuf, op)
        self._array(recvbuf)[:] = np.split(total, self.communicator.Get_size())[self.communicator.Get_rank()]

    def _of_all(self, name, stream, buffer):
        assert isinstance(stream, int)
        calls.append((name, stream))
        return self.communicator.allgather(self._array(buffer).copy())

    def _reduced(self, name, stream, buffer, op):
        parts = self._of_all(name, stream, buffer)
        total = {0: np.sum, 2: np.max, 4: np.mean}[op]([widened(part) for part in parts], 0)
        return narrowed(total, parts[0].dtype)

    def _array(self, buffer):
        description = buffer.__cuda_array_interface__
        (count,), dtype = description["shape"], np.dtype(description["typestr"])
        return elements(description["data"][0], count, {np.dtype(each): key for key, each in NUMBERS.items()}[dtype])


class NcclCommunicator:
    """The communicator of CuPy, whose buffers are addresses."""

    def __init__(self, ndev, commId, rank):
        self._communicator = Communicator.init(ndev, rank, commId)
        self._communicator._array = lambda description: elements(*description)
        self._size = ndev
        self.destroy = self._communicator.destroy

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        source, target = (sendbuf, count, datatype), (recvbuf, count, datatype)
        self._communicator.allreduce(source, target, op, stream=stream)

    def reduce(self, sendbuf, recvbuf, count, datatype, op, root, stream):
        source, target = (sendbuf, count, datatype), (recvbuf, count, datatype)
        self._communicator.reduce(source, target, op, root, stream=stream)

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        source, target = (sendbuff, count, datatype), (recvbuff, count, datatype)
        self._communicator.broadcast(source, target, root, stream=stream)

    def allGather(self, sendbuf, recvbuf, count, datatype, stream):
        source, target = (sendbuf, count, datatype), (recvbuf, count * self._size, datatype)
        self._communicator.allgather(source, target, stream=stream)

    def reduceScatter(self, sendbuf, recvbuf, recvcount, datatype, op, stream):
        source, target = (sendbuf, recvcount * self._size, datatype), (recvbuf, recvcount, datatype)
        self._communicator.reduce_scatter(source, target, op, stream=stream)


def install(name):
    """Make a replacement importable under the name of a package's module, and of no other package."""
    for package in "nccl", "cupy":
        sys.modules[package] = None
    for parent in [name.rsplit(".", count)[0] for count in range(1, name.count(".") + 1)]:
        sys.modules[parent] = ModuleType(parent)
    replacement = sys.modules[name] = ModuleType(name)
    replacement.get_unique_id = lambda: b"of rank 0"
    replacement.get_version = lambda: SimpleNamespace(libnccl="2.32")
    replacement.Communicator, replacement.NcclCommunicator = Communicator, NcclCommunicator
