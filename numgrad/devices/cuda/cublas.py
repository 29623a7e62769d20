"""cuBLAS, by the bindings of the package nvmath-python: products of matrices and vectors of real and complex numbers.

cuBLAS stores matrices column by column, numgrad row by row: the rows of C in memory are the transpose of C to cuBLAS.
So cuBLAS computes the product of the transposed factors in the opposite order.  It multiplies float32 as float32,
never as TensorFloat-32; that is its default.
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

from ..buffers import DeviceBuffer
from ..common import Factor
from ..traffic import Traffic
from . import runtime
from .launching import run_observed
from .memory import empty_buffer, note_uses
from .runtime import StreamHandle, side_streams

#: Bytes of scratch memory for each stream: the recommendation of cuBLAS's manual for Hopper, the largest of all.
WORKSPACE = 32 << 20

#: The letters of dtypes in the names of BLAS's functions.
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}

#: Constants of cuBLAS for matrices as stored, and transposed; for results in the memory of the host, and of the GPU.
_AS_STORED, _TRANSPOSED = 0, 1
_HOST, _DEVICE = 0, 1


@functools.cache
def bindings() -> Any:
    """Return the module ``nvmath.bindings.cublas``; None if it is not installed, or cannot use a cuBLAS."""
    if adapter.is_simulated() or runtime.is_dry() or runtime.is_emulated():
        return None
    if importlib.util.find_spec("nvmath") is None:
        return None
    try:
        module = importlib.import_module("nvmath.bindings.cublas")
        module.get_cudart_version()  # loads cuBLAS
    except (ImportError, OSError, RuntimeError) as error:
        warnings.warn(
            f"numgrad's own kernels compute matrix products: nvmath-python is installed, but cannot use cuBLAS "
            f"({type(error).__name__}: {error})",
            stacklevel=2,
        )
        return None
    return module


@functools.cache
def routines(dtype: np.dtype) -> Routines | None:
    """Return the routines of cuBLAS for a dtype; None if there are none, or cuBLAS is unavailable."""
    letter = _LETTERS.get(dtype.name)
    return None if letter is None or bindings() is None else Routines(letter, dtype)


class _CublasHandle:
    """State of cuBLAS for one thread on one GPU: the stream of its work, and the scratch memory."""

    def __init__(self, device: int):
        self.device = device
        self.number = bindings().create()
        self.stream: int | None = None
        self.workspaces: dict[int, DeviceBuffer] = {}

    def work_on(self, stream: StreamHandle) -> int:
        """Return the number of the handle, set to a stream; memory for each stream keeps results reproducible."""
        if stream != self.stream:
            memory = self.workspaces.get(stream)
            if memory is None:
                memory = self.workspaces[stream] = empty_buffer(WORKSPACE, np.dtype(np.uint8), self.device)
            bindings().set_stream(self.number, stream)
            bindings().set_workspace(self.number, memory.address, memory.nbytes)
            self.stream = stream
        return self.number


#: The handles of each GPU that no thread uses.
_free: dict[int, list[_CublasHandle]] = {}


class _HandleUse:
    """Use of a handle by a thread, at the end of which the handle is free for another thread."""

    def __init__(self, device: int):
        self.free = _free.setdefault(device, [])
        try:
            self.handle = self.free.pop()
        except IndexError:
            self.handle = _CublasHandle(device)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.free.append(self.handle)


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.uses: dict[int, _HandleUse] = {}


_of_thread = _OfThread()


def _handle(stream: StreamHandle, left: DeviceBuffer, right: DeviceBuffer) -> int:
    """Return this thread's handle for the GPU of a stream, set to the stream, where it will use two buffers."""
    if side_streams:
        note_uses(stream, (left, right))
    runtime.driver.use(stream.device)
    use = _of_thread.uses.get(stream.device)
    if use is None:
        use = _of_thread.uses[stream.device] = _HandleUse(stream.device)
    return use.handle.work_on(stream)


class Routines:
    """Routines of cuBLAS for one dtype, for matrices that are stored row by row."""

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
        self._unit = self._zero + dtype.itemsize

    def gemm(
        self, stream: StreamHandle, count: int, m: int, n: int, k: int,
        left: DeviceBuffer, first: Factor, right: DeviceBuffer, second: Factor, out: DeviceBuffer,
    ) -> None:  # fmt: skip
        """Write the products of ``count`` (m, k) and (k, n) matrices to ``out``."""
        transposed = [_TRANSPOSED if factor.transposed else _AS_STORED for factor in (second, first)]
        handle = _handle(stream, left, right)
        if count == 1:
            self._gemm(handle, *transposed, n, m, k, self._unit, right.address, second.step, left.address, first.step,
                       self._zero, out.address, n)  # fmt: skip
        else:
            self._gemm_batched(handle, *transposed, n, m, k, self._unit, right.address, second.step, second.batch,
                               left.address, first.step, first.batch, self._zero, out.address, n, m * n,
                               count)  # fmt: skip

    def gemv(
        self, stream: StreamHandle, rows: int, k: int, left: DeviceBuffer, first: Factor, right: DeviceBuffer,
        step: int, out: DeviceBuffer,
    ) -> None:  # fmt: skip
        """Write the product of a (rows, k) matrix and a vector with the stride ``step``."""
        transposed, sizes = (_AS_STORED, (rows, k)) if first.transposed else (_TRANSPOSED, (k, rows))
        handle = _handle(stream, left, right)
        self._gemv(handle, transposed, *sizes, self._unit, left.address, first.step, right.address, step, self._zero,
                   out.address, 1)  # fmt: skip

    def dot(
        self, stream: StreamHandle, k: int, left: DeviceBuffer, along: int, right: DeviceBuffer, step: int,
        out: DeviceBuffer,
    ) -> None:
        """Write the sum of the products of two vectors, without a conjugate."""
        handle = _handle(stream, left, right)
        self._set_pointer_mode(handle, _DEVICE)
        try:
            self._dot(handle, k, left.address, along, right.address, step, out.address)
        finally:
            self._set_pointer_mode(handle, _HOST)


def observed(routine: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls a method of ``Routines`` and notifies the listeners."""
    routines: Routines = routine.__self__  # type: ignore[attr-defined]
    name = routine.__name__

    def call(stream: StreamHandle, *arguments: Any) -> None:
        run_observed(
            stream, None, f"cublas.{routines.letter}{name}", lambda: routine(stream, *arguments),
            lambda: _traffic(name, arguments, routines.itemsize),
        )

    return call


def _traffic(name: str, arguments: tuple[Any, ...], itemsize: int) -> Traffic:
    """Return the memory traffic of a routine with these arguments."""
    if name == "gemm":
        count, m, n, k, _, first, _, second, _ = arguments
        factors = m * k * (count if first.batch else 1), k * n * (count if second.batch else 1)
        out = count * m * n
    else:
        rows, k = arguments[:2] if name == "gemv" else (1, arguments[0])
        factors, out = (rows * k, k), rows
    return Traffic(sum(factors) * itemsize, out * itemsize, max(*factors, out))
