"""Machine code of kernels for GPUs, kept on disk with the CPU's: from the text of a kernel to a driver's input.

numba-cuda compiles to PTX.  A driver accepts PTX only up to its own version, and has to compile it.  It accepts machine
code of all versions of its generation, and loads it at once.  NVIDIA's linker (nvJitLink), if it is installed,
therefore turns the PTX into machine code here; an error of the linker is raised.  Without it, and for a GPU of a later
generation than the compiler supports, PTX is used, which the driver compiles.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cuda.bindings import nvjitlink
from cuda.pathfinder import DynamicLibNotFoundError

from .. import cache, progress
from . import adapter, toolkit


def machine_code(name: str, text: str, arguments: Sequence[Any], capability: tuple[int, int]) -> tuple[str, bytes]:
    """Return the kernel's name in its code, and the code for a GPU: from disk, or newly compiled.

    Args:
        name, text, arguments: the kernel, as for :func:`adapter.compile_ptx`.
        capability: the GPU's compute capability.

    Returns:
        tuple: the kernel's name there, and the content of a cubin, or PTX with a zero at its end.

    Raises:
        RuntimeError: the compiler does not support a GPU as old as this one, or the linker rejects its PTX.
    """
    target = adapter.newest_capability(capability)
    linked = target[0] == capability[0]  # machine code runs on later GPUs of its generation

    def compiled() -> bytes:
        ptx = adapter.compile_ptx(name, text, arguments, target)
        code = _linked(name, ptx.encode(), target) if linked and _linker() else ptx.encode() + b"\0"
        return adapter.entry_name(ptx).encode() + b"\0" + code

    digest = _digest(name, text, arguments, target, linked and _linker())
    entry, _, code = _kept(name, "gpu", digest, compiled).partition(b"\0")
    return entry.decode(), code


def ptx_with_lines(name: str, text: str, arguments: Sequence[Any]) -> str:
    """Return a kernel's PTX that names the lines of its Python text: from disk, or newly compiled."""
    digest = _digest(name, text, arguments, "lines")
    return _kept(name, "ptx", digest, lambda: adapter.compile_ptx(name, text, arguments, lines=True).encode()).decode()


def _kept(name: str, ending: str, digest: str, compiled: Callable[[], bytes]) -> bytes:
    """Return the content of a kernel's file with this ending; if there is none, compile it and write the file."""
    file = f"{name}_{digest}.{ending}"
    payload = cache.load(file, digest)
    if payload is None:
        with progress.compiling(name):
            payload = compiled()
        cache.save(file, cache.sealed(payload, digest))
    return payload


def _digest(name: str, text: str, arguments: Sequence[Any], *form: Any) -> str:
    source = cache.sources(text), name, text, repr(tuple(arguments))
    return cache.digest_of(_environment(), *source, *map(repr, form))


@functools.cache
def _environment() -> str:
    """Return the facts that the code depends on, besides the kernel's own text: compilers, and the code using them."""
    folder = Path(__file__).parent
    sources = hashlib.sha256()
    for file in (folder / "adapter.py", folder / "language.py", Path(__file__)):
        sources.update(file.read_bytes())
    return f"{adapter.compilers()} {sources.hexdigest()}"


@functools.cache
def _linker() -> tuple[int, ...] | None:
    """Return the version of nvJitLink, or None if it is not installed."""
    try:
        return tuple(nvjitlink.version())
    except DynamicLibNotFoundError:
        return None


def _linked(name: str, ptx: bytes, target: tuple[int, int]) -> bytes:
    """Return machine code linked from PTX.

    Raises:
        RuntimeError: the linker rejects it, as one does that is older than the compiler.
    """
    handle, log = None, bytearray()
    try:
        handle = nvjitlink.create(1, [f"-arch=sm_{target[0]}{target[1]}"])
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, ptx, len(ptx), name)
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
    except nvjitlink.nvJitLinkError as error:
        if handle is not None:
            log = bytearray(nvjitlink.get_error_log_size(handle))
            nvjitlink.get_error_log(handle, log)
        versions = toolkit.versions()
        words = log.decode(errors="replace").strip("\0\n ")
        raise RuntimeError(
            f"nvJitLink cannot link kernel {name} for compute capability {target[0]}.{target[1]}: {error}\n{words}\n"
            f"{toolkit.described(versions)}. {toolkit.advice(versions)}"
        ) from None
    finally:
        if handle is not None:
            nvjitlink.destroy(handle)
    return bytes(code)
