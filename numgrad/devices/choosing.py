"""Which device does it: the CPU until a program uses a GPU, from then on the one that the arguments lie on.

``numgrad.devices`` has one function for each thing that operations ask of a device.  At first these are the CPU's
own, so that a program without a GPU pays nothing.  The first use of a GPU puts functions in their place that look at
their arguments, and call that of the package ``cpu`` or the one of the same name of the package ``cuda``.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from . import cpu, needs
from .rows import DeviceRow, set_driver

__all__ = ["ROWS", "begin_cuda", "cuda_in_use", "whenever_chosen"]

#: The classes of the rows that tensors keep their elements in.
ROWS = frozenset({np.ndarray, DeviceRow})

_beginning = threading.RLock()
_begun: Any = None
_takers: list[Callable[[], None]] = []


def cuda_in_use() -> bool:
    """Whether this process has begun to use GPUs."""
    return _begun is not None


def whenever_chosen(take: Callable[[], None]) -> None:
    """Call a function that keeps one of ``numgrad.devices``, now and when another takes its place."""
    take()
    _takers.append(take)


def begin_cuda() -> Any:
    """The package ``devices.cuda``, in use from now on.

    Raises:
        ImportError: numba-cuda is not installed, or NumPy is too new for it.
        RuntimeError: there is no driver, or no GPU.
    """
    global _begun
    if _begun is None:
        with _beginning:
            if _begun is None:
                needs.check()
                from . import cuda

                cuda.runtime.begin()
                set_driver(cuda.runtime.driver, cuda.memory)
                _choose_from_now_on(cuda)
                _begun = cuda
    return _begun


def _choose_from_now_on(cuda: Any) -> None:
    import numgrad.devices as devices

    for name in vars(devices).copy():
        function = getattr(cpu, name, None)
        if isinstance(function, FunctionType):
            setattr(devices, name, _choosing(name, function, getattr(cuda, name, None)))
    for take in _takers:
        take()


def _choosing(name: str, on_cpu: Callable[..., Any], on_gpu: Callable[..., Any] | None) -> Callable[..., Any]:
    @functools.wraps(on_cpu)
    def call(*arguments: Any, **keywords: Any) -> Any:
        places = set(_places((*arguments, *keywords.values())))
        if not places or places == {"cpu"}:
            return on_cpu(*arguments, **keywords)
        if len(places) > 1:
            raise _mixed(places)
        if on_gpu is None:
            raise NotImplementedError(f"numgrad has no kernel for GPUs yet for '{name}', which works on the CPU")
        return on_gpu(*arguments, **keywords)

    return call


def _mixed(places: set[str]) -> RuntimeError:
    first, second, *_ = sorted(places, reverse=True)
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


def _places(arguments: Iterable[Any]) -> Iterable[str]:
    """Where the rows, the tensors and the types of tensors among the arguments are."""
    for value in arguments:
        kind = value.__class__
        if kind is DeviceRow:
            yield f"cuda:{value.device}"
        elif kind is np.ndarray:
            yield "cpu"
        elif kind is tuple or kind is list or isinstance(value, tuple):
            if value and (value[0].__class__ is not int or kind is not tuple):  # not a shape
                yield from _places(value)
        elif not isinstance(value, np.generic):  # which is a number, though it says that it is on the CPU
            type = getattr(value, "_type", value)
            device = getattr(type, "device", None)
            if device is not None:
                yield str(device)
