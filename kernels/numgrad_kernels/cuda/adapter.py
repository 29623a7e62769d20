"""Every call into the package numba-cuda: another compiler for GPUs would be another file like this one.

It says what kernels are written in (``cuda``), compiles them to PTX, the assembly language of NVIDIA's GPUs, which
takes neither a GPU nor a driver, and runs them in Numba's simulator where that stands in for the compiler.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import linecache
import sys
import threading
import types as python_types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numba.core import config, types

from .. import overloads, scalar

__all__ = ["CAPABILITY", "compile_ptx", "cuda", "entry_name", "is_simulated", "pointer_type", "simulated_kernel"]

if importlib.util.find_spec("numba_cuda") is None:
    raise ImportError('kernels for GPUs need the package numba-cuda: pip install -e ".[cuda]"')

from numba import cuda

#: What is compiled for where nothing else is said: Hopper.
CAPABILITY = (9, 0)

#: How every kernel is compiled: as on the CPU, IEEE results, but a product may be fused with the sum it feeds.
_OPTIONS: dict[str, Any] = {"device": False, "abi": "numba", "output": "ptx"}

_lock = threading.RLock()


def is_simulated() -> bool:
    """Whether Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) stands in for the compiler and for a GPU."""
    return bool(config.ENABLE_CUDASIM)


def pointer_type(element: Any) -> Any:
    """The type of a kernel's argument that is the address of elements of this type; truth values are uint8, 0 or 1."""
    return types.CPointer(types.uint8 if element == types.boolean else element)


def compile_ptx(
    name: str, text: str, arguments: Sequence[Any], capability: tuple[int, int] = CAPABILITY
) -> str:
    """The PTX of the function ``kernel`` in a module of this ``text``, for these Numba ``arguments``.

    Raises:
        NotImplementedError: Numba's simulator is on, which compiles nothing.
    """
    if is_simulated():
        raise NotImplementedError("Numba's CUDA simulator is on (NUMBA_ENABLE_CUDASIM): it compiles nothing")
    _register()
    with _lock, _for_capability(capability):
        function = _function(name, text)
        code, _ = cuda.compile(function, types.void(*arguments), cc=capability, **_OPTIONS)
    return code


def entry_name(ptx: str) -> str:
    """What the kernel is called in its PTX."""
    return ptx.partition(".visible .entry ")[2].partition("(")[0].strip()


def simulated_kernel(name: str, text: str) -> Callable[..., None]:
    """The kernel as ``run(blocks, threads, *arguments)``, in the simulator; arrays are changed in place."""
    from .simulator import run

    function = _function(name, text)

    def launch(blocks: Any, threads: Any, *arguments: Any) -> None:
        with _lock:  # the kernel's module knows one launch at a time
            run(function, _three(blocks), _three(threads), arguments)

    return launch


def _three(extents: Any) -> tuple[int, ...]:
    """The extents of a grid or a block in three dimensions."""
    given = extents if isinstance(extents, tuple) else (extents,)
    return (*given, 1, 1)[:3]


def _function(name: str, text: str) -> Any:
    """The function ``kernel`` of a module with this text."""
    module = python_types.ModuleType(f"numgrad_kernels.compiled.cuda_{name}")
    source = f"<kernel {name} for GPUs>"
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    sys.modules[module.__name__] = module
    exec(compile(text, source, "exec"), module.__dict__)
    return module.kernel


@contextlib.contextmanager
def _for_capability(capability: tuple[int, int]) -> Iterator[None]:
    """For what Numba compiles the functions that a kernel calls: it would ask the driver, and there may be none."""
    from numba.cuda import dispatcher

    asked = dispatcher.get_current_device
    device: Any = python_types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    try:
        yield
    finally:
        dispatcher.get_current_device = asked


@functools.cache
def _register() -> None:
    """Tell Numba how to compile calls of our functions, with what it lacks for GPUs."""
    from numba.extending import overload

    from . import language

    overloads.register()
    language.register()
    overload(scalar.isinf, target="cuda")(lambda x: lambda x: x == x and x - x != x - x)
