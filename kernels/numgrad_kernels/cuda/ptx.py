"""PTX, the assembly language of NVIDIA's GPUs, of a kernel: no GPU and no driver is needed to compile it."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
import threading
import types as python_types
from collections.abc import Iterator, Sequence
from typing import Any

from numba.core import config, types

from .. import overloads, scalar

__all__ = ["CAPABILITY", "ptx"]

#: What is compiled for: Hopper.
CAPABILITY = (9, 0)

_lock = threading.Lock()


def ptx(text: str, arguments: Sequence[types.Type], capability: tuple[int, int] = CAPABILITY) -> str:
    """The PTX of the function ``kernel`` in a module of this ``text``, for these Numba ``arguments``.

    Raises:
        ImportError: the package numba-cuda is not installed.
        NotImplementedError: Numba's simulator, which compiles nothing, stands in for it.
    """
    if importlib.util.find_spec("numba_cuda") is None:
        raise ImportError('PTX is made by the package numba-cuda: pip install -e ".[cuda]"')
    if config.ENABLE_CUDASIM:
        raise NotImplementedError("Numba's CUDA simulator is on (NUMBA_ENABLE_CUDASIM): it compiles nothing")
    from numba import cuda

    _register()
    module = python_types.ModuleType("numgrad_kernels.compiled.ptx")
    with _lock, _for_capability(capability):
        sys.modules[module.__name__] = module
        exec(compile(text, "<kernel>", "exec"), module.__dict__)
        code, _ = cuda.compile(
            module.kernel, types.void(*arguments), device=False, abi="numba", cc=capability, output="ptx"
        )
    return code


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
    """Tell Numba how to compile calls of the functions in ``scalar``, with what it lacks for GPUs."""
    from numba.extending import overload

    overloads.register()
    overload(scalar.isinf, target="cuda")(lambda x: lambda x: x == x and x - x != x - x)
