"""Users' kernels with Numba's ``@cuda.jit`` in its simulator: they run like numgrad's own, and are watched."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.cuda.errors import normalize_kernel_dimensions
from numba.cuda.simulator.args import ArgHint, InOut
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeWithinKernelCUDAArray
from numba.cuda.simulator.kernel import FakeCUDAKernel, _push_kernel_context
from numba.cuda.simulator.kernelapi import swapped_cuda_module

from .simulator import CudaModule, runs_a_kernel

_lock = threading.Lock()


def complete_simulator() -> None:
    """Make Numba's simulator run kernels as ``simulator.py`` does, and share arrays with other libraries as a GPU does.

    Kernels accept any object that exposes its memory by ``__cuda_array_interface__``, and the simulator's own arrays
    expose theirs.
    """
    run = FakeCUDAKernel.__call__

    def call(kernel: Any, *arguments: Any) -> Any:
        if kernel._device or runs_a_kernel():
            return run(kernel, *arguments)
        with _lock:  # one launch at a time
            _run(kernel, arguments)

    FakeCUDAKernel.__call__ = call
    FakeCUDAArray.__cuda_array_interface__ = property(_interface)


def _interface(simulated: Any) -> dict[str, Any]:
    array = simulated._ary
    return {
        "shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False), "strides": array.strides,
        "stream": None, "version": 3,
    }


def _run(kernel: Any, arguments: Sequence[Any]) -> None:
    """Run a kernel made by Numba's decorator, with the extents passed by ``kernel[blocks, threads]``.

    It takes the arguments that Numba's simulator takes, and any object with ``__cuda_array_interface__``.
    """
    blocks, threads = normalize_kernel_dimensions(kernel.grid_dim, kernel.block_dim)
    module = CudaModule(blocks, threads, True, kernel.dynshared_size)
    ends: list[Callable[[], Any]] = []
    converted = [_argument(value, kernel, module, ends) for value in arguments]

    def work() -> None:
        with np.errstate(divide="raise") if kernel._debug else contextlib.nullcontext():
            kernel.fn(*converted)

    with _push_kernel_context(module), swapped_cuda_module(kernel.fn, module):
        module.work = work
        module.run(waits=True)
    for copy_back in ends:
        copy_back()


def _argument(value: Any, kernel: Any, module: CudaModule, ends: list[Callable[[], Any]]) -> Any:
    """Return the form of an argument in the kernel; host arrays are copied to it, and back at the end."""
    for extension in kernel.extensions:
        _, value = extension.prepare_args(None, value, stream=0, retr=ends)
    if isinstance(value, tuple):
        parts = [_argument(part, kernel, module, ends) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, FakeCUDAArray) and hasattr(type(value), "__cuda_array_interface__"):
        value = FakeCUDAArray(_foreign_array(value))
    if isinstance(value, np.ndarray) and value.ndim:
        value = InOut(value)
    if isinstance(value, ArgHint):
        value = value.to_device(ends)
    if isinstance(value, np.void):
        value = FakeCUDAArray(value)
    if not isinstance(value, FakeCUDAArray):
        return value
    return FakeWithinKernelCUDAArray(value) if value._ary.dtype.names else module.watched(value._ary)


class _Seen:
    """The memory of an array with an interface, in a form that NumPy accepts; it keeps the array alive."""

    def __init__(self, array: Any, interface: dict[str, Any]):
        self.array = array
        entries = ("shape", "typestr", "data", "strides", "version")
        self.__array_interface__ = {name: interface[name] for name in entries}


def _foreign_array(value: Any) -> np.ndarray:
    """Return a NumPy array on the memory of a tensor, or of another library's array."""
    interface = value.__cuda_array_interface__
    if 0 in interface["shape"]:
        return np.empty(interface["shape"], interface["typestr"])
    return np.asarray(_Seen(value, interface))
