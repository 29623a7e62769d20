"""A GPU on the processor (``NUMGRAD_GPU=emulated``): it runs compiled kernels, with warps, and checks every access.

This module has the functions of ``driver.py``, most of them from the simulator: memory is the host's, and work on a
stream has run when the call returns.  Kernels have as many threads as on a real GPU.  A fault raises an error that
names the line of the kernel.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import struct
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.emulator import EmulatedKernel
from numgrad_kernels.cuda.store import ptx_with_lines

from ..buffers import DeviceBuffer
from ..launches import notify_made
from . import simulated
from .memory import note_uses
from .packing import argument_slots
from .runtime import Properties, StreamHandle, side_streams
from .simulated import *  # noqa: F403
from .simulated import TOTAL_MEMORY, memory_blocks, pinned_blocks

#: Threads of a block, and such blocks that run at the same time, as reported to the operations.
OCCUPANCY = 256, 8

#: Bytes around each block of memory, which belong to no buffer.
_MARGIN = 256

#: The order of threads, and and True to detect races.
order = os.environ.get("NUMGRAD_GPU", "").partition(":")[2] or "up"
watch_races = True

#: Functions that are called after each launch: with the name of the kernel, and the bytes that its threads have read
#: from buffers and written to them.  After a filling of memory, the name is "fill".
counters: list[Callable[[str, int, int], None]] = []

_lock = threading.RLock()
_launches = itertools.count()


def device_properties(device: int) -> Properties:  # type: ignore[no-redef]
    """Return the properties of a GPU."""
    simulated.use(device)
    major, minor = adapter.CAPABILITY
    return Properties("numgrad's emulator of GPUs", major, minor, TOTAL_MEMORY, multi_processor_count=4)


def driver_version() -> str:  # type: ignore[no-redef]
    """Return the name of the emulator."""
    return "numgrad's emulator of GPUs"


def allocate(size: int, device: int) -> int:  # type: ignore[no-redef]
    """Return the address of ``size`` new bytes of a GPU's memory, filled with NaN.

    Raises:
        MemoryError: the GPU has too little memory left.
    """
    address = simulated.allocate(size, device)
    ctypes.memset(address, 0xFF, size)
    return address


def fill_bytes(target: int, value: int, size: int, stream: StreamHandle) -> None:  # type: ignore[no-redef]
    """Set ``size`` bytes to a value."""
    simulated.fill_bytes(target, value, size, stream)
    for counted in counters:
        counted("fill", 0, size)


def load(name: str, text: str, arguments: Sequence[Any]) -> Callable[..., None]:  # type: ignore[no-redef]
    """Return the function ``launch(blocks, threads, stream, *arguments)`` of a kernel, for buffers and numbers.

    The first launch compiles and translates the kernel, and so does ``launch.prepare(device)``.
    """
    cached: list[EmulatedKernel] = []
    slots = [(number, form, part) for number, type_ in enumerate(arguments) for form, part in argument_slots(type_)]
    pack = struct.Struct("=" + "".join(form for _, form, _ in slots)).pack
    is_indirect = "row_at" in text  # the kernel takes addresses of buffers from memory

    def prepare(device: int = 0) -> EmulatedKernel:
        with _lock:
            if not cached:
                begun = perf_counter_ns()
                cached.append(EmulatedKernel(name, ptx_with_lines(name, text, arguments), text))
                notify_made(name, begun)
            return cached[0]

    def launch(count: int, threads: int, stream: StreamHandle, *values: Any) -> None:
        if side_streams:
            note_uses(stream, values)
        kernel = prepare()
        try:
            packed = pack(*(_part(values[number], part) for number, _, part in slots))
        except struct.error as failed:
            raise OverflowError(f"a kernel's argument: {failed}") from None
        fields = kernel.program.parameters.values()
        parameters = bytearray(kernel.program.parameter_bytes)
        for number, (offset, size) in enumerate(fields):
            parameters[offset : offset + size] = packed[8 * number : 8 * number + size]
        with _lock:
            read, written = kernel.run(
                (count,), (threads,), bytes(parameters), _accessible(values, is_indirect), order, watch_races,
                next(_launches),
            )
            for counted in counters:
                counted(name, read, written)

    result: Any = launch
    result.occupancy = lambda device: OCCUPANCY
    result.prepare = prepare
    return result


def _part(value: Any, part: str) -> Any:
    return getattr(value, part[1:]) if part else value


def _accessible(values: Sequence[Any], is_indirect: bool) -> list[tuple[int, int, bool]]:
    """Return the start and the end of each buffer that a kernel may access, and True for the host's memory."""
    ranges = [(v.address, v.address + v.nbytes, _is_pinned(v)) for v in values if v.__class__ is DeviceBuffer]
    if is_indirect:
        ranges += [(address, address + memory.size - _MARGIN, True) for address, memory in list(memory_blocks.items())]
    return ranges


def _is_pinned(buffer: DeviceBuffer) -> bool:
    return any(start <= buffer.address < start + memory.size for start, memory in list(pinned_blocks.items()))
