"""The kernel store: compile the text of a kernel to machine code and keep it on disk between processes.

A kernel is a short Python module with a function ``kernel`` and *one* signature.  Its file is named after a digest of
everything the machine code depends on.  A file is therefore never out of date: a different text, Numba, processor or C
library makes a different file.  The compiled form is stored next to the text with a checksum, so that a truncated or
damaged file is detected and compiled again.  Where files cannot be written, or could have been written by other users,
kernels are compiled in memory, once per process (``cache.py``).

Numba's own ``cache=True`` is not used for two reasons.  It keeps one index for all signatures of a function, which
processes that start together overwrite for each other.  Loading through it also imports all of Numba's typing rules
first (0.13 s, twice that with SciPy installed), which machine code does not need.
"""

from __future__ import annotations

import contextlib
import gc
import linecache
import os
import pickle
import signal
import sys
import threading
import time
import types as python_types
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.np.ufunc.parallel import _launch_threads

from . import cache, overloads, progress
from .entries import entry_of
from .facts import Facts
from .parallel import with_parts
from .passes import KernelCompiler
from .target import OPTIONS, environment, target_context

_MODULE_PREFIX = "numgrad_kernels.compiled."

#: Held while machine code is made, so that a fork waits for it.
lock = threading.RLock()

if hasattr(os, "register_at_fork"):  # a copy made while another thread compiles would wait for that thread forever
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

_kernels: dict[str, Kernel] = {}

#: Facts of kernels whose reads and writes are not declared.
_NO_FACTS = Facts(np.dtype(np.void))


class Kernel:
    """A compiled kernel.

    Calling ``entry``, the bare machine-code entry point, runs the kernel without checking argument types.  ``text`` is
    the Python source it was compiled from, and ``facts`` describe what it reads and writes.
    """

    __slots__ = (
        "__weakref__", "_library", "_symbol", "arguments", "entry", "facts", "name", "origin", "parallel",
        "seconds", "text",
    )

    def __init__(
        self, name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool, facts: Facts, library: Any,
        symbol: str, origin: str, seconds: float,
    ):  # fmt: skip
        self.name = name
        self.text = text
        self.arguments = arguments
        self.parallel = parallel
        self.facts = facts
        self.entry = entry_of(library, symbol, arguments, nogil=parallel)
        self.origin = origin  # "compiled" or "loaded": how this process obtained the kernel
        self.seconds = seconds  # seconds that this took
        self._library, self._symbol = library, symbol  # the owner of the machine code, and the function's name in it

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(map(str, self.arguments))}), {self.origin}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks display: name, types, origin and text."""
        types = ", ".join(map(str, self.arguments))
        about = f"<b>{escape(self.name)}</b>({escape(types)}), {self.origin} in {self.seconds * 1e3:.3g} ms"
        scrolled = "max-height: 32em; overflow: auto"
        return f'<div>{about}</div><pre style="{scrolled}">{escape(self.text.strip())}</pre>'

    def address(self) -> int:
        """Return the address of the native function, for callers that bypass Python."""
        return self._library.get_pointer_to_function(self._symbol)

    def llvm(self) -> str:
        """Return the optimised LLVM IR."""
        return str(self._optimised())

    def assembly(self) -> str:
        """Return the assembly that LLVM generates."""
        return target_context().codegen()._tm.emit_assembly(self._optimised())

    def _optimised(self) -> Any:
        """Return LLVM's module, which is kept on disk beside the machine code."""
        with lock, global_compiler_lock:
            return self._library._get_module_for_linking()


def compile_kernel(
    name: str, text: str, arguments: Sequence[types.Type], facts: Facts, *, parallel: bool = False
) -> Kernel:
    """Return the kernel with this ``text`` for these Numba ``arguments``: from memory, from disk, or newly compiled.

    ``text`` is a module that defines ``kernel``; ``name`` becomes part of the file's name.  With ``parallel``, the
    ``prange`` loops in it run on Numba's threads and release the global interpreter lock.  ``facts`` are supplied by
    the code that generated the text, from which they follow.
    """
    arguments = tuple(arguments)
    with _interrupts_wait():
        digest = _digest(name, text, arguments, parallel)
        kernel = _kernels.get(digest)
        if kernel is not None:
            return kernel
        with lock:
            kernel = _kernels.get(digest)
            if kernel is None:
                kernel = _load_or_compile(name, text, arguments, parallel, facts, digest)
                if parallel and numba.threading_layer() == "workqueue":
                    kernel.entry = _one_at_a_time(kernel.entry)
                _kernels[digest] = kernel
            return kernel


def compile_text(
    name: str, text: str, arguments: Sequence[types.Type], *, parallel: bool = False
) -> Kernel:
    """Return the kernel like :func:`compile_kernel`, but without facts and not listed in ``compiled_kernels``."""
    arguments = tuple(arguments)
    with _interrupts_wait(), lock:
        digest = _digest(name, text, arguments, parallel)
        return _kernels.get(digest) or _load_or_compile(name, text, arguments, parallel, _NO_FACTS, digest)


def compiled_kernels() -> list[Kernel]:
    """Return the kernels this process has loaded or compiled, in that order."""
    return list(_kernels.values())


def _digest(name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool) -> str:
    return cache.digest_of(environment(), cache.sources(text), name, text, repr(arguments), str(parallel))


def _load_or_compile(
    name: str, text: str, arguments: tuple[types.Type, ...], parallel: bool, facts: Facts, digest: str
) -> Kernel:
    start = time.perf_counter()
    stem = f"{name}_{digest}"
    module = _module(stem)
    if parallel:
        _start_threads()

    def kernel_of(library: Any, symbol: str, origin: str) -> Kernel:
        return Kernel(name, text, arguments, parallel, facts, library, symbol, origin, time.perf_counter() - start)

    def loaded() -> Kernel | None:
        payload = cache.load(f"{stem}.bin", digest)
        if payload is None:
            return None
        machine_code, symbol = pickle.loads(payload)
        return kernel_of(target_context().codegen().unserialize_library(machine_code), symbol, "loaded")

    kernel = loaded()
    if kernel is not None:
        return kernel
    with progress.compiling(name), cache.claimed(stem):
        kernel = loaded()  # another process may have compiled it meanwhile
        if kernel is None:
            source = cache.cache_directory() / f"{stem}.py"
            library, symbol = _compile(module, str(source), text, arguments, parallel)
            kernel = kernel_of(library, symbol, "compiled")
            cache.save(source.name, text.encode())
            machine_code = pickle.dumps((library.serialize_using_object_code(), symbol))
            cache.save(f"{stem}.bin", cache.sealed(machine_code, digest))
    return kernel


def _module(stem: str) -> Any:
    """Return a new module for a kernel's function, registered for Numba to find by name when it compiles and loads."""
    module = python_types.ModuleType(_MODULE_PREFIX + stem)
    sys.modules[module.__name__] = module
    return module


def _compile(
    module: Any, source: str, text: str, arguments: tuple[types.Type, ...], parallel: bool
) -> tuple[Any, str]:
    """Return the library that has the machine code of a kernel, and the kernel's symbol in it."""
    if numba.config.DISABLE_JIT:
        raise RuntimeError("NUMBA_DISABLE_JIT is set, and numgrad computes with kernels that Numba compiles")
    overloads.register()
    module.__file__ = source
    if parallel:
        text = with_parts(text)
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    exec(compile(text, source, "exec"), module.__dict__)
    dispatcher = numba.njit(nogil=parallel, pipeline_class=KernelCompiler, **OPTIONS)(module.kernel)
    with _no_collections():
        dispatcher.compile(types.void(*arguments))
    (compiled,) = dispatcher.overloads.values()
    return compiled.library, compiled.fndesc.llvm_func_name


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Pause the garbage collector: scanning a compiler's objects would take a tenth of the compile time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block.

    LLVM calls back into Python with the machine code.  An exception raised there would be printed and dropped, and the
    code with it.
    """
    pressed = []
    handler = signal.getsignal(signal.SIGINT)
    try:
        if callable(handler):
            signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    except ValueError:  # only the main thread may set it, and only that is interrupted
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            if pressed:
                handler(signal.SIGINT, None)


def _start_threads() -> None:
    _launch_threads()


_workqueue = threading.Lock()


def _one_at_a_time(entry: Callable[..., None]) -> Callable[..., None]:
    """Wrap a parallel kernel for Numba's layer "workqueue", which ends the process when a second thread enters it."""

    def run(*arguments: Any) -> None:
        with _workqueue:
            entry(*arguments)

    return run
