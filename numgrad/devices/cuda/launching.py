"""Launches of kernels on a GPU: lookup of kernels, numbers of threads, types of arguments."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from numgrad_kernels.cuda import adapter
from numgrad_kernels.facts import Facts, facts_of
from numgrad_kernels.source import module_text

from .. import launches, recording
from ..buffers import DeviceBuffer
from ..traffic import Traffic, kernel_traffic
from . import runtime
from .memory import stream
from .runtime import StreamHandle

__all__ = ["THREADS", "CudaKernel", "argument_type", "blocks_for", "compile_kernel", "launch", "run_kernel"]

INT64 = np.dtype(np.int64)

#: Threads in a block: few in the simulator, where each is a Python thread.
THREADS = adapter.simulated_threads if adapter.is_simulated() else 256

#: Greatest number of blocks of a loop over any number of elements.
MOST_BLOCKS = 2 if adapter.is_simulated() else 4096

#: Ratio of the greatest number of blocks of such a loop to those that run at the same time: enough to keep every
#: multiprocessor busy at the end.
ROUNDS = 1 if adapter.is_simulated() else 4


class CudaKernel:
    """A kernel for GPUs: its ``text``, the types of its ``arguments``, and its ``facts``.

    ``run(blocks, threads, stream, *arguments)`` launches the kernel on buffers, by their addresses, and numbers.  The
    first launch on a GPU compiles the text, or reads the machine code from disk.
    """

    __slots__ = ("_most", "arguments", "facts", "name", "run", "text")

    def __init__(self, name: str, text: str, arguments: tuple[Any, ...], facts: Facts):
        self.name = name
        self.text = text
        self.arguments = arguments
        self.facts = facts
        self.run: Any = runtime.driver.load(name, text, arguments)
        self._most: dict[int, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"<CudaKernel {self.name}({', '.join(map(str, self.arguments))}), for GPUs>"

    def grid(self, size: int, device: int) -> tuple[int, int]:
        """Return the blocks, and the threads of each, that keep a GPU busiest in a loop over ``size`` elements."""
        try:
            threads, most = self._most[device]
        except KeyError:
            threads, at_once = self.run.occupancy(device)
            most = at_once * ROUNDS
            self._most[device] = threads, most
        blocks = -(-size // threads)
        return (blocks if blocks < most else most), threads

    def ptx(self, capability: tuple[int, int] = adapter.CAPABILITY) -> str:
        """Return the PTX for GPUs of a compute capability."""
        return adapter.compile_ptx(self.name, self.text, self.arguments, capability)


#: Every kernel of this process, by its text and the types of its arguments.
kernels: dict[Any, CudaKernel] = {}


def compile_kernel(name: str, text: str, arguments: tuple[Any, ...], facts: Facts) -> CudaKernel:
    """Return the kernel with this text for arguments of these types."""
    key = text, arguments
    kernel = kernels.get(key)
    if kernel is None:
        kernel = kernels[key] = CudaKernel(name, text, arguments, facts)
    return kernel


def run_observed(
    stream: StreamHandle, kernel: CudaKernel | None, name: str, run: Callable[[], None], traffic: Callable[[], Traffic]
) -> None:
    """Call ``run``, which launches on a stream, wait for the end, and notify the listeners of the time."""
    driver = runtime.driver
    start, end = (driver.create_event(stream.device, timing=True) for _ in range(2))
    try:
        driver.record_event(start, stream)
        run()
        driver.record_event(end, stream)
        driver.wait_for_event(end)
        ended = perf_counter_ns()
        begun = ended - round(driver.elapsed_time(start, end) * 1e6)
    finally:
        driver.destroy_event(start)
        driver.destroy_event(end)
    device = f"{launches.GPU}:{stream.device}"
    launches.notify(lambda: launches.Launch(kernel, name, begun, ended, traffic(), device), launches.GPU)


def run_kernel(kernel: CudaKernel, blocks: int, threads: int, stream: StreamHandle, *arguments: Any) -> None:
    """Launch a kernel on a stream, and notify the recorder and the listeners."""
    run = kernel.run
    if recording.recorder is not None:
        recording.recorder.launch(kernel, arguments, (blocks, threads))
    if not launches.gpu_listeners:
        run(blocks, threads, stream, *arguments)
        return
    run.prepare(stream.device)  # may take seconds, and is not part of the run
    run_observed(
        stream, kernel, kernel.name, lambda: run(blocks, threads, stream, *arguments),
        lambda: kernel_traffic(kernel.facts, arguments),
    )


def argument_type(kind: Any) -> Any:
    """Return Numba's type of a buffer of a dtype, or of a number of a Python class."""
    if isinstance(kind, np.dtype):
        return adapter.pointer_type(from_dtype(kind))
    return {bool: types.boolean, int: types.int64, float: types.float64, complex: types.complex128}[kind]


def blocks_for(size: int) -> int:
    """Return the number of blocks for a loop over ``size`` elements; 0 if there are none."""
    return min(-(-size // THREADS), MOST_BLOCKS)


_hand_written: dict[Any, CudaKernel] = {}


def hand_written(
    function: Callable[..., None], compute: np.dtype, threads: int, signature: tuple[Any, ...], parts: dict[str, Any]
) -> CudaKernel:
    """Return the hand-written kernel for arguments of these dtypes and classes; see :func:`launch`."""
    key = (function, compute, threads, signature, *parts.items())
    kernel = _hand_written.get(key)
    if kernel is None:
        text = module_text(function, compute, {**parts, "THREADS": threads})
        kernel = _hand_written[key] = compile_kernel(
            function.__name__, text, tuple([argument_type(kind) for kind in signature]), facts_of(function, compute)
        )
    return kernel


def launch(
    function: Callable[..., None], compute: np.dtype, *arguments: Any, blocks: int, threads: int = THREADS, **parts: Any
) -> None:
    """Run a hand-written kernel on buffers and numbers, in ``blocks`` blocks of ``threads`` threads.

    ``function`` is compiled for these arguments.  Its placeholder ``T`` becomes ``compute``, its constant ``THREADS``
    ``threads``, and ``parts`` replace the functions and constants of the same names.  0 blocks launch nothing.
    """
    if not blocks:
        return
    signature = tuple([a.dtype if a.__class__ is DeviceBuffer else a.__class__ for a in arguments])
    kernel = hand_written(function, compute, threads, signature, parts)
    first = arguments[0]
    if first.__class__ is not DeviceBuffer:
        first = next(value for value in arguments if value.__class__ is DeviceBuffer)
    run_kernel(kernel, blocks, threads, stream(first.device), *arguments)
