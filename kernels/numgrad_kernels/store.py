"""The kernel store: the text of a kernel in, machine code out, kept on disk between processes.

A kernel is a short Python module with a function ``kernel`` and *one* signature.  Its file is named after a
digest of everything the machine code depends on, so a file is never out of date: another text, another Numba,
another processor or another C library is another file.  Beside the text lies the compiled form, with a
checksum: a truncated or damaged file is noticed, deleted and compiled again.  Where nothing can be written the
kernels are compiled in memory, once per process.

Numba's own ``cache=True`` is not used because it keeps one index for all signatures of a function, which
processes starting together overwrite for each other, and because loading through it first imports all of
Numba's typing rules (0.13 s, twice that with SciPy installed); machine code needs none of them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import linecache
import os
import pickle
import platform
import sys
import tempfile
import threading
import time
import types as python_types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import types

from . import libm, overloads

__all__ = ["Kernel", "cache_directory", "compile_kernel", "compiled_kernels"]

#: Every kernel is compiled so: IEEE results (division by zero gives infinity, NaN is never assumed away), except
#: that a product may be fused with the sum it feeds.
OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "boundscheck": False, "no_cfunc_wrapper": True}

_MODULE_PREFIX = "numgrad_kernels.compiled."
_lock = threading.RLock()
_kernels: dict[str, Kernel] = {}


class Kernel:
    """A compiled kernel.

    Calling ``entry``, the bare machine-code entry point, which checks no argument types, runs the kernel; ``text``
    is the Python source it was compiled from.
    """

    __slots__ = ("_compiled", "_library", "arguments", "entry", "name", "origin", "parallel", "seconds", "text")

    def __init__(
        self, name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool, compiled: Any, origin: str,
        seconds: float,
    ):  # fmt: skip
        self.name = name
        self.text = text
        self.arguments = arguments
        self.parallel = parallel
        self.entry: Callable[..., None] = compiled.entry_point
        self.origin = origin  # "compiled" or "loaded": where this process had it from
        self.seconds = seconds  # how long that took
        self._compiled = compiled  # owns the machine code
        self._library = compiled.library if origin == "compiled" else None  # what can tell of its making

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(map(str, self.arguments))}), {self.origin}>"

    def _repr_html_(self) -> str:
        """What notebooks show: name, types, where it is from, and its text."""
        from html import escape  # which nothing else needs

        types = ", ".join(map(str, self.arguments))
        about = f"<b>{escape(self.name)}</b>({escape(types)}), {self.origin} in {self.seconds * 1e3:.3g} ms"
        scrolled = "max-height: 32em; overflow: auto"
        return f'<div>{about}</div><pre style="{scrolled}">{escape(self.text.strip())}</pre>'

    def llvm(self) -> str:
        """The optimised LLVM IR.  A kernel that was loaded from disk is compiled again for it, in memory."""
        return self._inspectable().get_llvm_str()

    def assembly(self) -> str:
        """The assembly that LLVM made of it, in the same way."""
        return self._inspectable().get_asm_str()

    def _inspectable(self) -> Any:
        with _lock:
            if self._library is None:
                stem = f"{self.name}_{_digest(self.name, self.text, self.arguments, self.parallel)}_again"
                self._library = _compile(_module(stem), f"<{stem}>", self.text, self.arguments, self.parallel).library
            return self._library


def compile_kernel(
    name: str, text: str, arguments: Sequence[types.Type], *, parallel: bool = False
) -> Kernel:
    """The kernel with this ``text`` for these Numba ``arguments``: from memory, from disk, or compiled now.

    ``text`` is a module that defines ``kernel``; ``name`` becomes part of the file's name.  With ``parallel``,
    ``prange`` loops in it run on Numba's threads, and the global interpreter lock is released meanwhile.
    """
    arguments = tuple(arguments)
    digest = _digest(name, text, arguments, parallel)
    kernel = _kernels.get(digest)
    if kernel is None:
        with _lock:
            kernel = _kernels.get(digest)
            if kernel is None:
                kernel = _load_or_compile(name, text, arguments, parallel, digest)
                if parallel and numba.threading_layer() == "workqueue":
                    kernel.entry = _one_at_a_time(kernel.entry)
                _kernels[digest] = kernel
    return kernel


def compiled_kernels() -> list[Kernel]:
    """The kernels this process has loaded or compiled, in that order."""
    return list(_kernels.values())


def cache_directory() -> Path:
    """Where kernels are kept: ``NUMGRAD_CACHE_DIR``, or a folder ``numgrad`` in the user's cache directory."""
    chosen = os.environ.get("NUMGRAD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "numgrad"


def _digest(name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool) -> str:
    parts = (_environment(), name, text, repr(arguments), str(parallel))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _environment() -> str:
    """What machine code depends on besides its own text."""
    codegen = _target().codegen()
    sources = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(file.read_bytes())
    optimisation = numba.config.OPT, numba.config.LOOP_VECTORIZE, numba.config.SLP_VECTORIZE
    return repr((
        sys.version_info[:3], platform.machine(), numba.__version__, llvmlite.__version__,
        codegen.magic_tuple(), libm.fingerprint(), sorted(map(repr, OPTIONS.items())), optimisation,
        sources.hexdigest(),
    ))


@functools.cache
def _target() -> Any:
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    libm.ensure_loaded()  # before any machine code that may call it
    context = cpu_target.target_context
    rtsys.initialize(context)  # compiling would, but a process may only load
    return context


def _load_or_compile(
    name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool, digest: str
) -> Kernel:
    start = time.perf_counter()
    stem = f"{name}_{digest}"
    directory = cache_directory()
    binary = directory / f"{stem}.bin"
    module = _module(stem)
    if parallel:
        _start_threads()
    compiled = _load(binary, digest)
    if compiled is not None:
        return Kernel(name, text, arguments, parallel, compiled, "loaded", time.perf_counter() - start)
    source = directory / f"{stem}.py"
    compiled = _compile(module, str(source), text, arguments, parallel)
    seconds = time.perf_counter() - start
    _save(source, text.encode())
    _save(binary, _sealed(compiled, digest))
    return Kernel(name, text, arguments, parallel, compiled, "compiled", seconds)


def _module(stem: str) -> Any:
    """The module of a kernel's function, which Numba looks up by name, when it compiles and when it loads."""
    module = python_types.ModuleType(_MODULE_PREFIX + stem)
    sys.modules[module.__name__] = module
    return module


def _compile(module: Any, source: str, text: str, arguments: tuple[types.Type, ...], parallel: bool) -> Any:
    overloads.register()
    module.__file__ = source
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    exec(compile(text, source, "exec"), module.__dict__)
    dispatcher = numba.njit(parallel=parallel, nogil=parallel, **OPTIONS)(module.kernel)
    with _no_collections():
        dispatcher.compile(types.void(*arguments))
    (compiled,) = dispatcher.overloads.values()
    return compiled


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Without the garbage collector, which looks through all that a compiler makes for a tenth of the time it takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _sealed(compiled: Any, digest: str) -> bytes:
    from numba.core.serialize import dumps

    payload = dumps(compiled._reduce())
    return _checksum(payload, digest) + payload


def _checksum(payload: bytes, digest: str) -> bytes:
    """Covers the digest, too: another kernel's file, whole but under this one's name, is noticed."""
    return hashlib.sha256(digest.encode() + payload).digest()


def _load(binary: Path, digest: str) -> Any | None:
    """The compile result in ``binary``, or None if there is none to be had; a damaged file is deleted."""
    from numba.core.compiler import CompileResult

    try:
        content = binary.read_bytes()
    except OSError:
        return None
    checksum, payload = content[:32], content[32:]
    if _checksum(payload, digest) == checksum:
        return CompileResult._rebuild(_target(), *pickle.loads(payload))
    with contextlib.suppress(OSError):  # a read-only directory: compile in memory
        binary.unlink()
    return None


def _save(path: Path, content: bytes) -> None:
    """Write the whole file or nothing: readers never see a part, and a full or read-only disk is no error."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _start_threads() -> None:
    from numba.np.ufunc.parallel import _launch_threads

    _launch_threads()


_workqueue = threading.Lock()


def _one_at_a_time(entry: Callable[..., None]) -> Callable[..., None]:
    """The parallel kernel for Numba's layer "workqueue", which ends the process when a second thread enters it."""

    def run(*arguments: Any) -> None:
        with _workqueue:
            entry(*arguments)

    return run
