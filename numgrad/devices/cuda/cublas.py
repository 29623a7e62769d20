"""cuBLAS, by the bindings of the package nvmath-python: products of matrices and vectors of real and complex numbers.

cuBLAS stores matrices column by column, numgrad row by row: what lies in memory as the rows of C is to cuBLAS the
transpose of C, so that it is asked for the product of the transposed factors in the other order.  Float32 is
multiplied as float32, never as TensorFloat-32: that is cuBLAS's own default, and nothing here changes it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from numgrad_kernels.cuda import adapter

from ..common import Factor
from ..rows import DeviceRow
from ..traffic import Traffic
from . import runtime
from .launching import told
from .memory import empty_row, note_uses
from .runtime import StreamHandle, side_streams

#: Bytes of scratch memory for each stream: what cuBLAS's manual advises for Hopper, the most of all.
WORKSPACE = 32 << 20

#: The letter by which BLAS calls a dtype.
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}

#: cuBLAS's numbers for matrices as they lie, and transposed; for results in the host's memory, and in the GPU's.
_AS_IT_LIES, _TRANSPOSED = 0, 1
_HOST, _DEVICE = 0, 1


@functools.cache
def bindings() -> Any:
    """The module ``nvmath.bindings.cublas``; None where it is not installed, or there is no cuBLAS that it can use."""
    if adapter.is_simulated() or runtime.is_dry() or importlib.util.find_spec("nvmath") is None:
        return None
    try:
        module = importlib.import_module("nvmath.bindings.cublas")
        module.get_cudart_version()  # loads cuBLAS
    except (ImportError, OSError, RuntimeError) as error:
        warnings.warn(
            f"matrix products are computed by numgrad's own kernels: nvmath-python is installed, but cannot use cuBLAS "
            f"({type(error).__name__}: {error})",
            stacklevel=2,
        )
        return None
    return module


@functools.cache
def routines(dtype: np.dtype) -> Routines | None:
    """cuBLAS's routines for a dtype; None if it has none, or is not at hand."""
    letter = _LETTERS.get(dtype.name)
    return None if letter is None or bindings() is None else Routines(letter, dtype)


class _Handle:
    """What cuBLAS keeps for one thread that uses it on one GPU: which stream it works on, and with which memory."""

    def __init__(self, device: int):
        self.device = device
        self.number = bindings().create()
        self.stream: int | None = None
        self.workspaces: dict[int, DeviceRow] = {}

    def work_on(self, stream: StreamHandle) -> int:
        """The handle's number, for work on a stream; own memory for each stream keeps results reproducible."""
        if stream != self.stream:
            memory = self.workspaces.get(stream)
            if memory is None:
                memory = self.workspaces[stream] = empty_row(WORKSPACE, np.dtype(np.uint8), self.device)
            bindings().set_stream(self.number, stream)
            bindings().set_workspace(self.number, memory.address, memory.nbytes)
            self.stream = stream
        return self.number


#: Handles for each GPU that no thread has.
_free: dict[int, list[_Handle]] = {}


class _Lent:
    """A handle while a thread has it: the next thread takes it over."""

    def __init__(self, device: int):
        self.free = _free.setdefault(device, [])
        try:
            self.handle = self.free.pop()
        except IndexError:
            self.handle = _Handle(device)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.free.append(self.handle)


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.lent: dict[int, _Lent] = {}


_of_thread = _OfThread()


def _handle(stream: StreamHandle, left: DeviceRow, right: DeviceRow) -> int:
    """This thread's handle for the GPU that a stream is of, set to the stream, on which it will use two rows."""
    if side_streams:
        note_uses(stream, (left, right))
    runtime.driver.use(stream.device)
    lent = _of_thread.lent.get(stream.device)
    if lent is None:
        lent = _of_thread.lent[stream.device] = _Lent(stream.device)
    return lent.handle.work_on(stream)


class Routines:
    """cuBLAS's routines for one dtype, for matrices that lie row by row."""

    def __init__(self, letter: str, dtype: np.dtype):
        library = bindings()
        self.letter = letter
        self.itemsize = dtype.itemsize
        self._gemm = getattr(library, f"{letter}gemm_64")
        self._gemm_batched = getattr(library, f"{letter}gemm_strided_batched_64")
        self._gemv = getattr(library, f"{letter}gemv_64")
        self._dot = getattr(library, f"{letter}dot{'u' if dtype.kind == 'c' else ''}_64")
        self._set_pointer_mode = library.set_pointer_mode
        self._factors = np.array([0, 1], dtype)
        self._zero = self._factors.ctypes.data
        self._one = self._zero + dtype.itemsize

    def gemm(
        self, stream: StreamHandle, count: int, m: int, n: int, k: int,
        left: DeviceRow, first: Factor, right: DeviceRow, second: Factor, out: DeviceRow, added: bool,
    ) -> None:  # fmt: skip
        """The products of ``count`` (m, k) and (k, n) matrices, written to ``out``, or ``added`` to what is there."""
        turned = _TRANSPOSED if second.turned else _AS_IT_LIES, _TRANSPOSED if first.turned else _AS_IT_LIES
        beta = self._one if added else self._zero
        handle = _handle(stream, left, right)
        if count == 1:
            self._gemm(handle, *turned, n, m, k, self._one, right.address, second.step, left.address, first.step,
                       beta, out.address, n)  # fmt: skip
        else:
            self._gemm_batched(handle, *turned, n, m, k, self._one, right.address, second.step, second.batch,
                               left.address, first.step, first.batch, beta, out.address, n, m * n, count)  # fmt: skip

    def gemv(
        self, stream: StreamHandle, rows: int, k: int, left: DeviceRow, lies: Factor, right: DeviceRow, step: int,
        out: DeviceRow,
    ) -> None:  # fmt: skip
        """The product of a (rows, k) matrix and a vector, the elements of which are ``step`` apart."""
        turned, sizes = (_AS_IT_LIES, (rows, k)) if lies.turned else (_TRANSPOSED, (k, rows))
        handle = _handle(stream, left, right)
        self._gemv(
            handle, turned, *sizes, self._one, left.address, lies.step, right.address, step, self._zero, out.address, 1
        )

    def dot(
        self, stream: StreamHandle, k: int, left: DeviceRow, along: int, right: DeviceRow, step: int, out: DeviceRow
    ) -> None:
        """The sum of products of two vectors, without a conjugate."""
        handle = _handle(stream, left, right)
        self._set_pointer_mode(handle, _DEVICE)
        try:
            self._dot(handle, k, left.address, along, right.address, step, out.address)
        finally:
            self._set_pointer_mode(handle, _HOST)


def told_of(routine: Callable[..., None]) -> Callable[..., None]:
    """A method of ``Routines``, of which those who listen are told."""
    routines: Routines = routine.__self__  # type: ignore[attr-defined]
    name = routine.__name__

    def call(stream: StreamHandle, *arguments: Any) -> None:
        told(
            stream, None, f"cublas.{routines.letter}{name}", lambda: routine(stream, *arguments),
            lambda: _traffic(name, arguments, routines.itemsize),
        )

    return call


def _traffic(name: str, arguments: tuple[Any, ...], itemsize: int) -> Traffic:
    """What a routine with these arguments must read and write."""
    if name == "gemm":
        count, m, n, k, _, first, _, second, _, added = arguments
        factors = m * k * (count if first.batch else 1), k * n * (count if second.batch else 1)
        out = count * m * n
    else:
        (rows, k), added = (arguments[:2] if name == "gemv" else (1, arguments[0])), False
        factors, out = (rows * k, k), rows
    return Traffic((sum(factors) + added * out) * itemsize, out * itemsize, max(*factors, out))
