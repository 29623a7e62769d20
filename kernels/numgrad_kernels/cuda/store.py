"""Machine code of kernels for GPUs, kept on disk beside the CPU's: the text of a kernel in, what a driver loads out.

numba-cuda makes PTX.  A driver reads PTX of its own version and of older ones only, but machine code of all versions
of its generation, and at once: so NVIDIA's linker (nvJitLink) makes machine code of the PTX here, where it can be
found.  For a GPU of a later generation than the compiler knows, PTX it is: its driver compiles that.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import cache, progress
from . import adapter


def machine_code(name: str, text: str, arguments: Sequence[Any], capability: tuple[int, int]) -> tuple[str, bytes]:
    """The kernel's name in its code, and the code for a GPU: from disk, or compiled now.

    Args:
        name, text, arguments: the kernel, as :func:`adapter.compile_ptx` takes it.
        capability: the GPU's compute capability.

    Returns:
        tuple: what the kernel is called there, and the content of a cubin, or PTX with a zero at its end.

    Raises:
        RuntimeError: the compiler knows nothing as old as this GPU.
    """
    target = adapter.newest_capability(capability)
    linked = target[0] == capability[0]  # machine code runs on later GPUs of its generation
    digest = _digest(name, text, arguments, target, linked)
    file = f"{name}_{digest}.gpu"
    payload = cache.load(file, digest)
    if payload is None:
        with progress.compiling(name):
            ptx = adapter.compile_ptx(name, text, arguments, target)
        made = _linked(name, ptx.encode(), target) if linked else None
        payload = adapter.entry_name(ptx).encode() + b"\0" + (made or ptx.encode() + b"\0")
        cache.save(file, cache.sealed(payload, digest))
    entry, _, code = payload.partition(b"\0")
    return entry.decode(), code


def _digest(name: str, text: str, arguments: Sequence[Any], target: tuple[int, int], linked: bool) -> str:
    own = cache.sources(text), name, text, repr(tuple(arguments))
    parts = (_environment(), *own, repr(target), repr(linked and _linker()))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _environment() -> str:
    """What the code depends on besides the kernel's own text: compilers, and how we use them."""
    here = Path(__file__).parent
    sources = hashlib.sha256()
    for file in (here / "adapter.py", here / "language.py", Path(__file__)):
        sources.update(file.read_bytes())
    return f"{adapter.compilers()} {sources.hexdigest()}"


@functools.cache
def _linker() -> tuple[int, ...] | None:
    """The version of nvJitLink, or None where it is not installed."""
    try:
        from cuda.bindings import nvjitlink

        return tuple(nvjitlink.version())
    except (ImportError, RuntimeError):  # the bindings, or the library that they look for
        return None


def _linked(name: str, ptx: bytes, target: tuple[int, int]) -> bytes | None:
    """Machine code made of PTX, or None without a linker that can: one older than the compiler leaves it to the driver.
    """
    if _linker() is None:
        return None
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(1, [f"-arch=sm_{target[0]}{target[1]}"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, ptx, len(ptx), name)
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
    except nvjitlink.nvJitLinkError:
        return None
    finally:
        nvjitlink.destroy(handle)
    return bytes(code)
