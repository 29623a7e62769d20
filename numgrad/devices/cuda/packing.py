"""Arguments of a launch: numbers and addresses packed in host memory, and pointers to them.

NVIDIA's driver takes an array of pointers to the arguments, and copies the arguments before it returns.  Here each
kernel has such arrays, and a generated function that fills them and launches.  With a driver that does nothing, a
launch with two buffers and a number takes 0.7 µs, of which the bindings take 0.3 µs, and 0.03 µs more for each further
buffer.  numba-cuda 0.30, which creates several objects for each argument, takes 35 µs, and 5 µs more for each further
array.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from numba.core import types as numba_types

types: Any = numba_types  # its annotations are incomplete

_TEXT = """
def launch(blocks, threads, stream, {names}):
    device = stream.device
    if active.device != device:
        use(device)
    try:
        function = functions[device]
    except KeyError:
        function = find(device)
    if side_streams:
        note_uses(stream, ({buffers}))
    try:
        slots = idle_slots.pop()
    except IndexError:
        slots = new_slots()
    memory, pointers, _ = slots
    try:
        pack(memory, 0, {values})
    except pack_error as failed:
        raise OverflowError(f"a kernel's argument: {{failed}}") from None
    answer = call({launch})
    (error,) = again(answer, device, call, {launch}) if answer[0] else answer
    idle_slots.append(slots)
    if error:
        raise failure(error)
"""


_LAUNCH = "function, blocks, 1, 1, threads, 1, 1, 0, stream.native, pointers, 0"


def launcher(
    arguments: Sequence[Any], functions: MutableMapping[int, Any], find: Callable[[int], Any], driver: dict[str, Any]
) -> Callable[..., None]:
    """Return the function ``launch(blocks, threads, stream, *arguments)`` of a kernel.

    Args:
        arguments: the Numba types of the arguments of the kernel.
        functions: the functions of the kernel, by GPU, that each launch looks up.
        find: returns a function that is not among them.
        driver: ``call``, which is ``cuLaunchKernel``; ``again``, which repeats a call that found no context;
            ``active``, the GPU of the current thread; ``use``, which changes it; ``failure``, which returns the
            exception of an error number; ``side_streams``; and ``note_uses``, which notes the buffers that a stream
            uses if there are side streams.
    """
    formats, values = [], []
    for number, type_ in enumerate(arguments):
        for form, part in argument_slots(type_):
            formats.append(form)
            values.append(f"a{number}{part}")
    packed = struct.Struct("=" + "".join(formats))
    namespace = {
        **driver, "functions": functions, "find": find, "pack": packed.pack_into, "pack_error": struct.error,
        "idle_slots": [], "new_slots": lambda: _new_slots(len(formats)),
    }
    names = [f"a{number}" for number in range(len(arguments))]
    pairs = zip(names, arguments, strict=True)
    buffers = "".join(f"{name}, " for name, type_ in pairs if isinstance(type_, types.CPointer))
    exec(_TEXT.format(names=", ".join(names), values=", ".join(values), buffers=buffers, launch=_LAUNCH), namespace)
    return namespace["launch"]


def argument_slots(type_: Any) -> list[tuple[str, str]]:
    """Return the one or two slots of 8 bytes of an argument: a format of ``struct``, and the attribute to pack."""
    if isinstance(type_, types.CPointer):
        return [("Q", ".address")]
    if isinstance(type_, types.Boolean):
        return [("?7x", "")]
    if isinstance(type_, types.Integer):
        letter, size = {8: "b", 16: "h", 32: "i", 64: "q"}[type_.bitwidth], type_.bitwidth // 8
        return [((letter if type_.signed else letter.upper()) + "x" * (8 - size), "")]
    if isinstance(type_, types.Float):
        return [("d" if type_.bitwidth == 64 else "f4x", "")]
    if isinstance(type_, types.Complex):
        form = "d" if type_.bitwidth == 128 else "f4x"
        return [(form, ".real"), (form, ".imag")]
    raise TypeError(f"kernels for GPUs take no arguments of type {type_}")


def sizes(arguments: Sequence[Any]) -> list[int]:
    """Return the number of bytes of each parameter that the driver reads from a launch's slots."""
    return [struct.calcsize(f"={form[0]}") for type_ in arguments for form, _ in argument_slots(type_)]


def _new_slots(count: int) -> tuple[bytearray, int, Any]:
    """Return memory for ``count`` slots, the address of the pointers to them, and the owners of both."""
    memory = bytearray(8 * count)
    view = (ctypes.c_char * len(memory)).from_buffer(memory)
    start = ctypes.addressof(view)
    pointers = (ctypes.c_uint64 * count)(*range(start, start + 8 * count, 8))
    return memory, ctypes.addressof(pointers), (view, pointers)
