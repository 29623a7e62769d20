"""How a launch hands a kernel its arguments: numbers and addresses side by side in host memory, and where each lies.

NVIDIA's driver takes an array of pointers to the arguments and copies these before it returns.  Here each kernel has
such arrays ready, and a function written for its arguments, which fills them and launches.  With a driver that does
nothing, a launch with two rows and a number takes 0.7 µs, of which 0.3 µs are the bindings', and 0.03 µs more for each
further row; by numba-cuda 0.30's own way, which makes several objects for each argument, 35 µs and 5 µs more for each
further array.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from numba.core import types as numba_types

types: Any = numba_types  # what it says of itself for type checkers is not all that it has

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
        note_uses(stream, ({rows}))
    try:
        slots = spare.pop()
    except IndexError:
        slots = new_slots()
    buffer, pointers, _ = slots
    try:
        pack(buffer, 0, {values})
    except pack_error as failed:
        raise OverflowError(f"a kernel's argument: {{failed}}") from None
    (error,) = call(function, blocks, 1, 1, threads, 1, 1, 0, stream.own, pointers, 0)
    spare.append(slots)
    if error:
        raise failure(error)
"""


def launcher(
    arguments: Sequence[Any], functions: MutableMapping[int, Any], find: Callable[[int], Any], driver: dict[str, Any]
) -> Callable[..., None]:
    """A function ``launch(blocks, threads, stream, *arguments)`` for a kernel.

    Args:
        arguments: the Numba types of the kernel's arguments.
        functions: the kernel's functions by GPU, to be looked up at each launch.
        find: finds a function that is not among them.
        driver: ``call``, which is ``cuLaunchKernel``; ``active`` and ``use``, the current thread's GPU and what
            changes it; ``failure``, which makes an exception of an error's number; ``side_streams`` and ``note_uses``,
            which is told of rows used on a stream while there are any.
    """
    formats, values = [], []
    for number, type_ in enumerate(arguments):
        for form, part in _slots(type_):
            formats.append(form)
            values.append(f"a{number}{part}")
    packed = struct.Struct("=" + "".join(formats))
    namespace = {
        **driver, "functions": functions, "find": find, "pack": packed.pack_into, "pack_error": struct.error,
        "spare": [], "new_slots": lambda: _new_slots(len(formats)),
    }
    names = [f"a{number}" for number in range(len(arguments))]
    pairs = zip(names, arguments, strict=True)
    rows = "".join(f"{name}, " for name, type_ in pairs if isinstance(type_, types.CPointer))
    exec(_TEXT.format(names=", ".join(names), values=", ".join(values), rows=rows), namespace)
    return namespace["launch"]


def _slots(type_: Any) -> list[tuple[str, str]]:
    """The 8 bytes, or twice 8, of an argument: their format for ``struct``, and what of the argument goes there."""
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


def _new_slots(count: int) -> tuple[bytearray, int, Any]:
    """Memory for as many arguments, the address of the pointers to them, and what keeps these."""
    buffer = bytearray(8 * count)
    lent = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    start = ctypes.addressof(lent)
    pointers = (ctypes.c_uint64 * count)(*range(start, start + 8 * count, 8))
    return buffer, ctypes.addressof(pointers), (lent, pointers)
