"""GPUs through NVIDIA's driver: memory, copies, streams, events and kernels.

This module has the functions of ``simulated.py``.  It uses the primary context of a GPU, which PyTorch, CuPy and
numba-cuda share, so that all have the same addresses.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from cuda.bindings import driver as cu

from numgrad_kernels.cuda.store import machine_code

from ..launches import notify_made
from .memory import note_uses
from .packing import launcher
from .runtime import Properties, StreamHandle, side_streams

#: The driver's names of properties.
_ATTRIBUTES = {
    "major": "COMPUTE_CAPABILITY_MAJOR", "minor": "COMPUTE_CAPABILITY_MINOR",
    "multi_processor_count": "MULTIPROCESSOR_COUNT", "warp_size": "WARP_SIZE",
    "max_threads_per_block": "MAX_THREADS_PER_BLOCK",
    "max_threads_per_multi_processor": "MAX_THREADS_PER_MULTIPROCESSOR",
    "regs_per_multiprocessor": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared_memory_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_memory_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "shared_memory_per_multiprocessor": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "L2_cache_size": "L2_CACHE_SIZE", "clock_rate": "CLOCK_RATE", "memory_clock_rate": "MEMORY_CLOCK_RATE",
    "memory_bus_width": "GLOBAL_MEMORY_BUS_WIDTH", "is_integrated": "INTEGRATED",
    "is_multi_gpu_board": "MULTI_GPU_BOARD", "pci_bus_id": "PCI_BUS_ID", "pci_device_id": "PCI_DEVICE_ID",
    "pci_domain_id": "PCI_DOMAIN_ID",
}

#: Candidates for the number of threads of a block; the first of the best is used.
BLOCK_SIZES = (256, 128, 512, 1024)

#: Errors of kernels, which a later call reports.
_LATE = frozenset({
    "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ASSERT", "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR", "CUDA_ERROR_LAUNCH_TIMEOUT",
})

#: Errors of loading a kernel that depend on the version of the driver.
_VERSIONS = frozenset({
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_INVALID_PTX", "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_IMAGE",
})

_lock = threading.RLock()
_contexts: dict[int, Any] = {}


class _Active(threading.local):
    """The GPU of this thread's calls; -1 if other libraries may change it."""

    device = -1


_active = _Active()


def _failure(error: Any) -> RuntimeError:
    """Return the exception for an error of the driver."""
    _, words = cu.cuGetErrorString(error)
    message = f"CUDA error: {words.decode() if words else 'unknown error'} ({error.name})"
    if error.name == "CUDA_ERROR_NOT_INITIALIZED":
        message += (
            "\nCannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
            "'spawn' start method"
        )
    elif error.name in _LATE:
        message += (
            "\nCUDA kernel errors might be asynchronously reported at some other API call. With the environment "
            "variable CUDA_LAUNCH_BLOCKING=1 they are reported where they happen."
        )
    elif error.name in _VERSIONS:
        message += (
            f"\nNVIDIA's driver, for {driver_version()}, cannot load the output of the compiler. "
            "Update the driver, or install the extra of numgrad for its generation of CUDA (cuda or cuda12). "
            "python -m numgrad info compares the versions."
        )
    return RuntimeError(message)


def _value(answer: tuple[Any, ...]) -> Any:
    """Return the result of a call of the driver; raise an error if it failed."""
    error, *values = answer
    if error:
        raise _failure(error)
    return values[0] if len(values) == 1 else values


def use(device: int) -> None:
    """Direct this thread's calls of the driver to a GPU."""
    if _active.device != device:
        _activate(device)


def _activate(device: int) -> None:
    context = _contexts.get(device)
    if context is None:
        with _lock:
            if device not in _contexts:
                _value(cu.cuInit(0))
                _contexts[device] = _value(cu.cuDevicePrimaryCtxRetain(_value(cu.cuDeviceGet(device))))
            context = _contexts[device]
    _value(cu.cuCtxSetCurrent(context))
    if device_count() == 1:  # with several, other libraries may direct this thread to another
        _active.device = device


def _on(device: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the answer of the driver to a call for a GPU."""
    use(device)
    answer = call(*arguments)
    return _again(answer, device, call, *arguments) if answer[0] else answer


def _again(answer: Any, device: int, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the answer to a call that failed, after a second try if the thread's context was missing.

    Other libraries remove it: at the end of ``with cuda.gpus[0]:`` Numba leaves the thread with the context that was
    current at its beginning, or with none.
    """
    if answer[0] != cu.CUresult.CUDA_ERROR_INVALID_CONTEXT:
        return answer
    _activate(device)
    return call(*arguments)


def _on_any(call: Callable[..., Any], *events: Any) -> Any:
    """Return the answer to a call on events, for which the context of any GPU may be current."""
    answer = call(*events)
    return _again(answer, next(iter(_contexts)), call, *events) if answer[0] else answer


@functools.cache
def device_count() -> int:
    """Return the number of GPUs."""
    _value(cu.cuInit(0))
    return _value(cu.cuDeviceGetCount())


def device_properties(device: int) -> Properties:
    """Return the properties of a GPU."""
    number = _value(cu.cuDeviceGet(device))
    numbers = {name: getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{key}") for name, key in _ATTRIBUTES.items()}
    attributes = {name: int(_value(cu.cuDeviceGetAttribute(key, number))) for name, key in numbers.items()}
    name = _value(cu.cuDeviceGetName(256, number)).partition(b"\0")[0].decode()
    return Properties(name=name, total_memory=int(_value(cu.cuDeviceTotalMem(number))), **attributes)


def driver_version() -> str:
    """Return the newest version of CUDA that NVIDIA's driver supports."""
    version = _value(cu.cuDriverGetVersion())
    return f"CUDA {version // 1000}.{version % 1000 // 10}"


def memory_info(device: int) -> tuple[int, int]:
    """Return the free memory and the total memory of a GPU, in bytes."""
    free, total = _value(_on(device, cu.cuMemGetInfo))
    return int(free), int(total)


def allocate(size: int, device: int) -> int:
    """Return the address of ``size`` new bytes of a GPU's memory.

    Raises:
        MemoryError: the GPU has too little memory left.
    """
    return _address(_on(device, cu.cuMemAlloc, size))


def _address(answer: tuple[Any, Any]) -> int:
    """Return the address of new memory; raise MemoryError if there is none."""
    if answer[0] == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise MemoryError("out of memory")
    return int(_value(answer))


def free(address: int, device: int) -> None:
    """Free memory, after all launched work has run."""
    _value(_on(device, cu.cuMemFree, address))


def allocate_pinned(size: int, device: int = 0) -> int:
    """Return the address of ``size`` new bytes of the host's pinned memory, which every GPU can access.

    Raises:
        MemoryError: the host has too little memory left.
    """
    return _address(_on(device, cu.cuMemHostAlloc, size, cu.CU_MEMHOSTALLOC_PORTABLE))


def free_pinned(address: int, device: int = 0) -> None:
    """Free pinned memory."""
    _value(_on(device, cu.cuMemFreeHost, address))


def copy_to_device(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Put a copy from the host's memory to a GPU's on a stream."""
    _value(_on(stream.device, cu.cuMemcpyHtoDAsync, target, source, size, stream.native))


def copy_to_host(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Put a copy from a GPU's memory to the host's on a stream."""
    _value(_on(stream.device, cu.cuMemcpyDtoHAsync, target, source, size, stream.native))


def copy_within(target: int, source: int, size: int, stream: StreamHandle) -> None:
    """Copy ``size`` bytes within the memory of GPUs."""
    _value(_on(stream.device, cu.cuMemcpyDtoDAsync, target, source, size, stream.native))


def fill_bytes(target: int, value: int, size: int, stream: StreamHandle) -> None:
    """Set ``size`` bytes to a value."""
    _value(_on(stream.device, cu.cuMemsetD8Async, target, value, size, stream.native))


def device_of(address: int) -> int:
    """Return the number of the GPU whose memory contains an address."""
    ordinal = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(_value(_on(0, cu.cuPointerGetAttribute, ordinal, address)))


def default_stream(device: int) -> StreamHandle:
    """Return the default stream of a GPU."""
    return StreamHandle(0, device, cu.CUstream(0))


def create_stream(device: int, priority: int = 0) -> StreamHandle:
    """Return a new stream, which does not wait for the default one; a lower ``priority`` is scheduled sooner."""
    flags = int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)
    stream = _value(_on(device, cu.cuStreamCreateWithPriority, flags, priority))
    return StreamHandle(int(stream), device, stream)


def external_stream(address: int, device: int) -> StreamHandle:
    """Return a stream of another library."""
    return StreamHandle(address, device, cu.CUstream(address))


def stream_is_done(stream: StreamHandle) -> bool:
    """Return True if all work on a stream has run."""
    return _is_done(_on(stream.device, cu.cuStreamQuery, stream.native))


def _is_done(answer: tuple[Any]) -> bool:
    if answer[0] == cu.CUresult.CUDA_ERROR_NOT_READY:
        return False
    _value(answer)
    return True


def synchronize(stream: StreamHandle) -> None:
    """Wait until all work on a stream has run."""
    _value(_on(stream.device, cu.cuStreamSynchronize, stream.native))


def synchronize_device(device: int) -> None:
    """Wait until all work on all streams of a GPU has run."""
    _value(_on(device, cu.cuCtxSynchronize))


def create_event(device: int, timing: bool = False, blocking: bool = False) -> Any:
    """Return a new event, which marks a point on a stream."""
    flags = cu.CUevent_flags
    none = flags.CU_EVENT_DEFAULT
    chosen = (none if timing else flags.CU_EVENT_DISABLE_TIMING, flags.CU_EVENT_BLOCKING_SYNC if blocking else none)
    return _value(_on(device, cu.cuEventCreate, int(chosen[0]) | int(chosen[1])))


def destroy_event(event: Any) -> None:
    """Destroy an event, after it has occurred if it is pending."""
    cu.cuEventDestroy(event)  # errors are ignored: the process may be ending


def record_event(event: Any, stream: StreamHandle) -> None:
    """Put an event on a stream of its GPU, after the present work."""
    _value(_on(stream.device, cu.cuEventRecord, event, stream.native))


def event_is_done(event: Any) -> bool:
    """Return True if all work before an event on its stream has run."""
    return _is_done(_on_any(cu.cuEventQuery, event))


def wait_for_event(event: Any) -> None:
    """Wait until all work before an event on its stream has run."""
    _value(_on_any(cu.cuEventSynchronize, event))


def wait_on_stream(stream: StreamHandle, event: Any) -> None:
    """Make later work on a stream wait for an event, of any GPU."""
    _value(_on(stream.device, cu.cuStreamWaitEvent, stream.native, event, 0))


def elapsed_time(start: Any, end: Any) -> float:
    """Return the milliseconds between two events that have occurred."""
    return float(_value(_on_any(cu.cuEventElapsedTime, start, end)))


class _Graph:
    """Work that was captured on a stream, which the driver keeps until this object is gone."""

    __slots__ = ("_destroy", "native")

    def __init__(self, native: Any):
        self.native = native
        self._destroy = cu.cuGraphExecDestroy

    def __del__(self) -> None:
        self._destroy(self.native)  # after pending launches; errors are ignored: the process may be ending


def capture(stream: StreamHandle, work: Callable[[], None]) -> Any:
    """Return the graph of the work that a function puts on a stream, which is no default one and does not run the work.

    Return None if the driver cannot capture it.
    """
    relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED  # memory may be allocated in the meantime
    if _on(stream.device, cu.cuStreamBeginCapture, stream.native, relaxed)[0]:
        return None
    try:
        work()
        complete = True
    except RuntimeError:
        complete = False
    finally:
        error, graph = cu.cuStreamEndCapture(stream.native)
    if error:
        return None
    error, native = cu.cuGraphInstantiate(graph, 0) if complete else (True, None)
    cu.cuGraphDestroy(graph)
    return None if error else _Graph(native)


def launch_graph(graph: Any, stream: StreamHandle) -> None:
    """Put the work of a graph on a stream."""
    _value(_on(stream.device, cu.cuGraphLaunch, graph.native, stream.native))


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:
    """Return the function ``launch(blocks, threads, stream, *arguments)`` of a kernel, for buffers and numbers.

    The first launch on a GPU loads the kernel there, and so does ``launch.prepare(device)``.
    ``launch.occupancy(device)`` returns the number of threads in a block that keeps the GPU busiest, and the number of
    such blocks that run at the same time.
    """
    functions: dict[int, Any] = {}

    def find(device: int) -> Any:
        with _lock:
            if device not in functions:
                begun = perf_counter_ns()
                entry, code = machine_code(name, text, arguments, device_properties(device).capability)
                module = _value(_on(device, cu.cuModuleLoadData, code))
                functions[device] = _value(_on(device, cu.cuModuleGetFunction, module, entry.encode()))
                notify_made(name, begun)
            return functions[device]

    def occupancy(device: int) -> tuple[int, int]:
        function = find(device)

        def threads_at_once(threads: int) -> int:  # on one multiprocessor
            return threads * _value(
                _on(device, cu.cuOccupancyMaxActiveBlocksPerMultiprocessor, function, threads, 0)
            )

        threads = max(BLOCK_SIZES, key=threads_at_once)
        return threads, threads_at_once(threads) // threads * device_properties(device).multi_processor_count

    driver = {
        "active": _active, "use": use, "call": cu.cuLaunchKernel, "again": _again, "failure": _failure,
        "side_streams": side_streams, "note_uses": note_uses,
    }
    launch: Any = launcher(arguments, functions, find, driver)
    launch.occupancy = occupancy
    launch.prepare = find
    return launch
