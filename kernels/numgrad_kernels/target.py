"""The compiler, its settings and the processor that kernels are compiled for."""

from __future__ import annotations

import functools
import platform
import sys
from typing import Any

import llvmlite
import numba
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from . import libm

#: Options of every kernel.  Results are IEEE's: division by zero gives infinity, and NaN is never assumed away.  The
#: one exception is that a product may be fused with the sum it feeds (``passes.py``).  Kernels allocate nothing, so
#: reference counting is off.  Python calls them through shared entries (``entries.py``).
OPTIONS = {
    "error_model": "numpy", "boundscheck": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False,
}

#: Prefixes of the names of Numba's settings (``NUMBA_...``) that do not affect a kernel's machine code: settings of
#: threads, of Numba's own cache and of GPUs, and the switch that disables compilation.
NO_MATTER = ("_", "NUMBA_", "THREADING_", "CACHE_", "FUNCTION_CACHE_", "DISABLE_JIT")
_NO_MATTER_FOR_CPU = (*NO_MATTER, "CUDA_", "DISABLE_CUDA", "ENABLE_CUDASIM", "FORCE_CUDA_CC")


@functools.cache
def environment() -> str:
    """Return a description of everything besides its sources that a kernel's machine code depends on."""
    codegen = target_context().codegen()
    return repr((
        sys.version_info[:3], platform.machine(), numba.__version__, llvmlite.__version__,
        codegen.magic_tuple(), libm.fingerprint(), sorted(map(repr, OPTIONS.items())),
        compiler_settings(_NO_MATTER_FOR_CPU),
    ))


def compiler_settings(without: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return Numba's settings and their values, except those whose names start with one of the prefixes ``without``.

    All remaining settings are assumed to change the code.
    """
    values = sorted(vars(numba.config).items())
    return [(name, repr(value)) for name, value in values if name.isupper() and not name.startswith(without)]


@functools.cache
def target_context() -> Any:
    """Return Numba's target context for this machine, ready to load machine code."""
    libm.ensure_loaded()  # before any machine code that may call it
    context = cpu_target.target_context
    rtsys.initialize(context)  # compiling would do this, but a process may only load
    return context
