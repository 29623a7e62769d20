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

import numpy as np
from numba.core import config, types

from .. import overloads, scalar
from ..store import NO_MATTER, compiler_settings
from . import how_to_install

#: The newest NumPy that kernels for GPUs were compiled with.
NEWEST_NUMPY = (2, 4)

if importlib.util.find_spec("numba_cuda") is None:
    raise ImportError(f"kernels for GPUs need the package numba-cuda: {how_to_install()}")

try:
    from numba import cuda as cuda
except Exception as failure:
    if tuple(map(int, np.__version__.split(".")[:2])) <= NEWEST_NUMPY or importlib.util.find_spec("cuda") is None:
        raise
    newest = ".".join(map(str, NEWEST_NUMPY))
    raise ImportError(
        f"NumPy {np.__version__} is too new for this numba-cuda, which was tried with NumPy up to {newest}: "
        f'pip install "numpy=={newest}.*"'
    ) from failure

#: What is compiled for where nothing else is said: Hopper.
CAPABILITY = (9, 0)

#: How every kernel is compiled: as on the CPU, IEEE results, but a product may be fused with the sum it feeds.
_OPTIONS: dict[str, Any] = {"device": False, "abi": "numba"}

#: Beginnings of the names of Numba's settings that code for GPUs does not depend on; the processor is one of them.
_NO_MATTER_FOR_GPU = (*NO_MATTER, "CPU_", "ENABLE_AVX")

#: Threads of a block in the simulator, where each is a thread of Python's.
simulated_threads = 4

_lock = threading.RLock()


def is_simulated() -> bool:
    """Whether Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) stands in for the compiler and for a GPU."""
    return bool(config.ENABLE_CUDASIM)


def pointer_type(element: Any) -> Any:
    """The type of a kernel's argument that is the address of elements of this type; truth values are uint8, 0 or 1."""
    pointer = types.CPointer  # type: ignore[attr-defined]
    return pointer(types.uint8 if element == types.boolean else element)


def compile_ptx(
    name: str, text: str, arguments: Sequence[Any], capability: tuple[int, int] = CAPABILITY
) -> str:
    """The PTX of the function ``kernel`` in a module of this ``text``, for these Numba ``arguments``.

    Raises:
        NotImplementedError: Numba's simulator is on, which compiles nothing.
    """
    return compile_ptx_for(name, text, arguments, [capability])[0]


def compile_ptx_for(
    name: str, text: str, arguments: Sequence[Any], capabilities: Sequence[tuple[int, int]]
) -> list[str]:
    """The PTX for several capabilities, the lowest first, of a kernel as :func:`compile_ptx` takes it.

    Most of the work is done once, for the first of them.

    Raises:
        NotImplementedError: see there.
    """
    if is_simulated():
        raise NotImplementedError("Numba's CUDA simulator is on (NUMBA_ENABLE_CUDASIM): it compiles nothing")
    from numba.cuda import compiler

    _register()
    with _lock, _for_capability(capabilities[0]):
        library, _ = compiler._compile_pyfunc_with_fixup(
            _function(name, text), types.void(*arguments), cc=capabilities[0], **_OPTIONS
        )
        return ["\n".join(library.get_asm_strs(cc=capability)) for capability in capabilities]


def newest_capability(capability: tuple[int, int]) -> tuple[int, int]:
    """The newest compute capability that can be compiled for and that a GPU of the given one has.

    Raises:
        RuntimeError: there is none, for the GPU is too old.
    """
    from numba.cuda.cudadrv import nvrtc

    known = nvrtc.get_supported_ccs()
    if capability < min(known):
        least, own = (".".join(map(str, pair)) for pair in (min(known), capability))
        raise RuntimeError(f"kernels can be compiled for compute capability {least} and newer, but the GPU has {own}")
    return max(pair for pair in known if pair <= capability)


def compilers() -> str:
    """The versions of all that takes part in compiling a kernel, and the settings."""
    import llvmlite
    import numba
    import numba_cuda
    from cuda.bindings import nvrtc
    from numba.cuda.cudadrv import nvvm

    versions = numba_cuda.__version__, numba.__version__, llvmlite.__version__, sys.version_info[:2]
    settings = compiler_settings(_NO_MATTER_FOR_GPU)
    return repr((versions, nvvm.NVVM().get_ir_version(), nvrtc.nvrtcVersion(), _OPTIONS, settings))


def entry_name(ptx: str) -> str:
    """What the kernel is called in its PTX."""
    return ptx.partition(".visible .entry ")[2].partition("(")[0].strip()


def simulated_kernel(name: str, text: str) -> Callable[..., None]:
    """The kernel as ``run(blocks, threads, *arguments)``, in the simulator; arrays are changed in place."""
    from . import simulator  # only where the simulator runs

    function = _function(name, text)

    def launch(blocks: int, threads: int, *arguments: Any) -> None:
        with _lock:  # the kernel's module knows one launch at a time
            simulator.run(function, blocks, threads, arguments)

    return launch


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

    from . import language  # which is numba-cuda's, if that is installed

    overloads.register()
    overloads.register_on_gpu()
    language.register()
    overload(scalar.isinf, target="cuda")(_isinf)


def _isinf(x):  # Numba compares its signature with the lambda's: no annotations
    if isinstance(x, types.Complex):
        return lambda x: scalar.isinf(x.real) | scalar.isinf(x.imag)
    return lambda x: x == x and x - x != x - x


if is_simulated():
    from . import users

    users.complete_simulator()
