"""Checked launches of users' ``@cuda.jit`` kernels: compiled for a GPU, run by the emulator, and reported on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types as numba_types
from numba.np.numpy_support import as_dtype

from . import adapter
from .emulator import EmulatedKernel, FaultError, LaunchReport, Profile, report

types: Any = numba_types  # its annotations are incomplete

#: The alignment of arrays on a GPU, and the bytes between them.
_ALIGNMENT = 256

_MOST_THREADS = 1024


def checked_launch(
    kernel: Any, blocks: Any, threads: Any, arguments: Sequence[Any], dynamic_shared: int, order: str
) -> LaunchReport:
    """Run a kernel, which changes its arrays, and return the report.

    Args:
        kernel: a kernel as ``@cuda.jit`` returns it.
        blocks, threads: as for a launch.
        arguments: arrays of NumPy, numbers, and tuples of these.
        dynamic_shared: bytes of shared memory besides those that the kernel declares.
        order: how lanes, warps and blocks follow each other.

    Raises:
        ImportError: NVIDIA's compiler is not installed.
        NotImplementedError: Numba's simulator is on, or the emulator does not support the kernel's instructions.
        ValueError: the numbers of blocks or threads are not possible.
        TypeError: this is not a kernel, or an argument has a type that kernels do not take.
    """
    extents = _extents(blocks), _extents(threads)
    if prod(extents[1]) > _MOST_THREADS:
        raise ValueError(f"a block has at most {_MOST_THREADS} threads, not {prod(extents[1])}")
    placed = [_placed(value) for value in arguments]
    ptx = adapter.users_ptx(kernel, [typeof(value) for value in placed])
    emulated = EmulatedKernel(kernel.py_func.__name__, ptx, traced=True)
    profile = Profile(emulated.translator)
    parts = [part for value in placed for part in _parts(typeof(value), value)]
    memory = bytearray(emulated.program.parameter_bytes)
    for (offset, size), part in zip(emulated.program.parameters.values(), parts, strict=True):
        memory[offset : offset + size] = part.ljust(size, b"\0")
    names = inspect.signature(kernel.py_func).parameters
    arrays = [(name, array) for name, value in zip(names, placed, strict=True) for array in _arrays(value)]
    buffers = [(array.ctypes.data, array.ctypes.data + array.nbytes, False) for _, array in arrays]
    fault = None
    try:
        emulated.run(*extents, bytes(memory), buffers, order, dynamic_shared=dynamic_shared, profile=profile)
    except FaultError as error:
        fault = error
    for value, copy in zip(arguments, placed, strict=True):
        for array, changed in zip(_arrays(value), _arrays(copy), strict=True):
            if array.flags.writeable:
                array[...] = changed
    return report(emulated, profile, *extents, fault, arrays)


def _extents(value: Any) -> tuple[int, ...]:
    """Return the one to three extents of a grid or a block."""
    extents = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(extents) <= 3 or not all(isinstance(each, (int, np.integer)) and each > 0 for each in extents):
        raise ValueError(f"expected one to three positive numbers of blocks or threads, got {value!r}")
    return extents


def _placed(value: Any) -> Any:
    """Return an argument with its arrays copied to where a GPU would place them: aligned, with space in between."""
    if isinstance(value, tuple):
        parts = [_placed(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return value
    packed = value.copy(order="K")
    memory = np.empty(packed.nbytes + 2 * _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy = np.ndarray(packed.shape, packed.dtype, memory, start, packed.strides)
    copy[...] = packed
    return copy


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)


def _parts(type_: Any, value: Any) -> Iterator[bytes]:
    """Yield the bytes of each parameter of a compiled kernel that an argument becomes."""
    if isinstance(type_, types.Array):
        # the two objects that own the memory on the host, of which there are none
        numbers = 0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides
        yield from (number.to_bytes(8, "little", signed=True) for number in numbers)
    elif isinstance(type_, types.BaseTuple):
        for part_type, part in zip(type_, value, strict=True):
            yield from _parts(part_type, part)
    elif isinstance(type_, types.Complex):
        number = np.asarray(value, as_dtype(type_))
        yield from (number.real.tobytes(), number.imag.tobytes())
    elif isinstance(type_, (types.Number, types.Boolean)):
        yield np.asarray(value, as_dtype(type_)).tobytes()
    else:
        raise TypeError(f"a checked launch takes arrays, numbers and tuples of them, not {type_}")
