"""Every call into the package numba-cuda; another compiler for GPUs would need another file like this one.

The module provides the language of kernels (``cuda``) and compiles them to PTX, the assembly language of NVIDIA's GPUs,
which requires neither a GPU nor a driver.  It runs them in Numba's simulator if that replaces the compiler.
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

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.extending import overload

from .. import overloads, scalar
from ..target import NO_MATTER, compiler_settings
from . import how_to_install

#: The newest version of NumPy with which kernels for GPUs have been compiled.
NEWEST_NUMPY = (2, 4)

if importlib.util.find_spec("numba_cuda") is None:
    raise ImportError(f"kernels for GPUs need the package numba-cuda: {how_to_install()}")
if tuple(map(int, np.__version__.split(".")[:2])) > NEWEST_NUMPY:  # some versions fail only in the first kernel
    newest = ".".join(map(str, NEWEST_NUMPY))
    raise ImportError(
        f"NumPy {np.__version__} is too new for this numba-cuda, which was tried with NumPy up to {newest}: "
        f'pip install "numpy=={newest}.*"'
    )

from numba import cuda as cuda  # noqa: E402  only after these checks

#: The default compute capability to compile for: Hopper.
CAPABILITY = (9, 0)

#: Options of every kernel: as on the CPU, results are IEEE's, but a product may be fused with the sum it feeds.
_OPTIONS: dict[str, Any] = {"device": False, "abi": "numba"}

#: Prefixes of the names of Numba's settings that do not affect code for GPUs, including those for the processor.
_NO_MATTER_FOR_GPU = (*NO_MATTER, "CPU_", "ENABLE_AVX")

#: Threads of a block in the simulator, where each is a Python thread.
simulated_threads = 4

_lock = threading.RLock()


def is_simulated() -> bool:
    """Return True if Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) replaces the compiler and a GPU."""
    return bool(config.ENABLE_CUDASIM)


def pointer_type(element: Any) -> Any:
    """Return the type of an argument that is the address of elements of this type; truth values are uint8, 0 or 1."""
    pointer = types.CPointer  # type: ignore[attr-defined]
    return pointer(types.uint8 if element == types.boolean else element)


def compile_ptx(
    name: str, text: str, arguments: Sequence[Any], capability: tuple[int, int] = CAPABILITY, lines: bool = False
) -> str:
    """Return the PTX of the function ``kernel`` in a module of this ``text``, for these Numba ``arguments``.

    If ``lines``, the PTX names the line of the Python text that each instruction comes from.  NVIDIA's compiler rejects
    numba-cuda's names of lines for some kernels, whose PTX then has none.

    Raises:
        NotImplementedError: Numba's simulator is on, which compiles nothing.
    """
    if lines:
        return _with_lines(_function(name, text), arguments, capability)
    return compile_ptx_for(name, text, arguments, [capability])[0]


def compile_ptx_for(
    name: str, text: str, arguments: Sequence[Any], capabilities: Sequence[tuple[int, int]]
) -> list[str]:
    """Return the PTX of a kernel for several capabilities, the lowest first; otherwise as :func:`compile_ptx`.

    Most of the work is done once, for the first of them.

    Raises:
        NotImplementedError: Numba's simulator is on, which compiles nothing.
        ImportError: numba-cuda or NVIDIA's compiler is not installed.
    """
    return _compiled(_function(name, text), arguments, capabilities)


def users_ptx(kernel: Any, arguments: Sequence[Any]) -> str:
    """Return the PTX, with lines, of a user's kernel, as ``@cuda.jit`` returns it, for these Numba ``arguments``.

    Raises:
        NotImplementedError: Numba's simulator is on, which compiles nothing.
        ImportError: NVIDIA's compiler is not installed.
        TypeError: this is not a kernel.
    """
    _require_compiler()
    if getattr(kernel, "targetoptions", {"device": True}).get("device"):
        raise TypeError(f"expected a kernel, as numba.cuda.jit returns it, not {kernel!r}")
    return _with_lines(kernel.py_func, arguments, CAPABILITY, fastmath=bool(kernel.targetoptions.get("fastmath")))


def _with_lines(function: Any, arguments: Sequence[Any], capability: tuple[int, int], **options: Any) -> str:
    from cuda.bindings.nvvm import nvvmError  # which need not be installed

    with contextlib.suppress(nvvmError):
        return _compiled(function, arguments, [capability], lineinfo=True, **options)[0]
    return _compiled(function, arguments, [capability], **options)[0]


def _compiled(
    function: Any, arguments: Sequence[Any], capabilities: Sequence[tuple[int, int]], **options: Any
) -> list[str]:
    _require_compiler()
    from cuda.pathfinder import DynamicLibNotFoundError  # neither this nor numba-cuda need be installed
    from numba.cuda import compiler

    _register()
    try:
        with _lock, _for_capability(capabilities[0]):
            library, _ = compiler._compile_pyfunc_with_fixup(
                function, types.void(*arguments), cc=capabilities[0], **_OPTIONS, **options
            )
            return ["\n".join(library.get_asm_strs(cc=capability)) for capability in capabilities]
    except DynamicLibNotFoundError as error:
        raise ImportError("NVIDIA's compiler is not installed: pip install 'numba-cuda[cu13]'") from error


def _require_compiler() -> None:
    if is_simulated():
        raise NotImplementedError("Numba's CUDA simulator is on (NUMBA_ENABLE_CUDASIM): it compiles nothing")


def newest_capability(capability: tuple[int, int]) -> tuple[int, int]:
    """Return the newest compute capability that the compiler supports and a GPU of the given capability can run.

    Raises:
        RuntimeError: there is none, since the GPU is too old.
    """
    from numba.cuda.cudadrv import nvrtc  # numba-cuda need not be installed

    supported = nvrtc.get_supported_ccs()
    if capability < min(supported):
        least, gpu = (".".join(map(str, pair)) for pair in (min(supported), capability))
        raise RuntimeError(f"kernels can be compiled for compute capability {least} and newer, but the GPU has {gpu}")
    return max(pair for pair in supported if pair <= capability)


def compilers() -> str:
    """Return the versions of everything that takes part in compiling a kernel, and the settings."""
    import numba_cuda  # neither this nor the bindings need be installed
    from cuda.bindings import nvrtc
    from numba.cuda.cudadrv import nvvm

    versions = numba_cuda.__version__, numba.__version__, llvmlite.__version__, sys.version_info[:2]
    settings = compiler_settings(_NO_MATTER_FOR_GPU)
    return repr((versions, nvvm.NVVM().get_ir_version(), nvrtc.nvrtcVersion(), _OPTIONS, settings))


def entry_name(ptx: str) -> str:
    """Return the name of the kernel in its PTX."""
    return ptx.partition(".visible .entry ")[2].partition("(")[0].strip()


def simulated_kernel(name: str, text: str) -> Callable[..., None]:
    """Return the kernel as ``run(blocks, threads, *arguments)``, in the simulator; arrays are changed in place."""
    from . import simulator  # only the simulator needs it

    function = _function(name, text)

    def launch(blocks: int, threads: int, *arguments: Any) -> None:
        with _lock:  # the kernel's module supports one launch at a time
            simulator.run(function, blocks, threads, arguments)

    return launch


def _function(name: str, text: str) -> Any:
    """Return the function ``kernel`` of a module with this text."""
    module = python_types.ModuleType(f"numgrad_kernels.compiled.cuda_{name}")
    source = f"<kernel {name} for GPUs>"
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    sys.modules[module.__name__] = module
    exec(compile(text, source, "exec"), module.__dict__)
    return module.kernel


@contextlib.contextmanager
def _for_capability(capability: tuple[int, int]) -> Iterator[None]:
    """Make Numba compile a kernel's functions for this capability, instead of querying a driver for one."""
    from numba.cuda import dispatcher  # numba-cuda need not be installed

    asked = dispatcher.get_current_device
    device: Any = python_types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device
    try:
        yield
    finally:
        dispatcher.get_current_device = asked


@functools.cache
def _register() -> None:
    """Register with Numba how to compile calls of numgrad's functions, and the functions that it lacks for GPUs."""
    from . import language  # this is numba-cuda's, if that is installed

    overloads.register()
    overloads.register_on_gpu()
    language.register()
    overload(scalar.isinf, target="cuda")(_isinf)


def _isinf(x):  # no annotations: Numba compares the signature with the lambda's
    if isinstance(x, types.Complex):
        return lambda x: scalar.isinf(x.real) | scalar.isinf(x.imag)
    return lambda x: x == x and x - x != x - x


if is_simulated():
    from . import users

    users.complete_simulator()
