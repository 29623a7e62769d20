"""Which device does it: the CPU until a program uses a GPU, from then on the one that the arguments lie on.

``numgrad.devices`` has one function for each thing that operations ask of a device.  At first these are the CPU's
own, so that a program without a GPU pays nothing.  The first use of a GPU puts functions in their place that look at
their arguments, and call that of the package ``cpu`` or the one of the same name of the package ``cuda``.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from operator import attrgetter
from types import FunctionType
from typing import Any

import numpy as np

from .._layout import Layout
from .._types import HOST, TensorType
from . import cpu, needs
from .rows import DeviceRow, set_driver

__all__ = ["begin_cuda", "cuda_in_use", "gpu_count", "gpu_driver", "gpu_driver_version", "gpu_ptx"]

_beginning = threading.RLock()
_begun: Any = None


def cuda_in_use() -> bool:
    """Whether this process has begun to use GPUs."""
    return _begun is not None


def gpu_count() -> int:
    """The number of GPUs that can be computed on; 0 where anything that this needs is missing."""
    return _begun.runtime.driver.device_count() if cuda_in_use() else needs.found()


def gpu_driver() -> str:
    """What stands for GPUs in this process, which uses them: "driver", "simulated" or "dry" (see ``cuda/dry.py``)."""
    return begin_cuda().runtime.driver.__name__.rpartition(".")[2]


def gpu_driver_version() -> str:
    """The version of CUDA that NVIDIA's driver is for, or the name of what stands in its place."""
    return begin_cuda().runtime.driver.driver_version()


def gpu_ptx(kernel: Any, device: int | None = None) -> str:
    """The PTX of a kernel for GPUs, for the one of this number, or for Hopper."""
    if device is None:
        return kernel.ptx()
    properties = begin_cuda().runtime.driver.device_properties(device)
    return kernel.ptx((properties.major, properties.minor))


def begin_cuda(dry: bool = False) -> Any:
    """The package ``devices.cuda``, in use from now on.

    If ``dry``, no GPU is needed and none is used: kernels are made, but nothing is run (see ``cuda/dry.py``).

    Raises:
        ImportError: numba-cuda is not installed, or NumPy is too new for it.
        RuntimeError: there is no driver, or no GPU.
    """
    global _begun
    if _begun is None:
        with _beginning:
            if _begun is None:
                if not dry:
                    needs.check()
                from . import cuda

                cuda.runtime.begin(dry)
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


def _choosing(name: str, on_cpu: Callable[..., Any], on_gpu: Callable[..., Any] | None) -> Callable[..., Any]:
    @functools.wraps(on_cpu)
    def call(*arguments: Any, **keywords: Any) -> Any:
        place = _place(arguments, None)
        if keywords:
            place = _place(keywords.values(), place)
        if place is None or place == HOST:
            return on_cpu(*arguments, **keywords)
        if on_gpu is None:
            raise NotImplementedError(f"numgrad has no kernel for GPUs yet for '{name}', which works on the CPU")
        return on_gpu(*arguments, **keywords)

    return call


def _place(arguments: Iterable[Any], place: int | None) -> int | None:
    """Where the rows, the tensors and the types of tensors among the arguments are: ``place`` if they say nothing.

    Raises:
        RuntimeError: they are not all in one place.
    """
    for value in arguments:
        kind = value.__class__
        try:
            read = _readers[kind]
        except KeyError:
            read = _readers[kind] = _reader(value)
        if read is None:
            continue
        found = read(value)
        if found is None:
            continue
        if place is None:
            place = found
        elif place != found:
            raise _mixed(place, found)
    return place


def _reader(value: Any) -> Callable[[Any], int | None] | None:
    """What tells where values of this one's class are; None for those that say nothing about it."""
    if isinstance(value, tuple | list):
        return _place_of_all if hasattr(value, "_fields") or isinstance(value, list) else _place_of_tuple
    if isinstance(value, np.ndarray):
        return _on_host
    if isinstance(value, np.generic):  # which is a number, though it says that it is on the CPU
        return None
    if hasattr(value, "_layout"):
        return attrgetter("_layout.type.place")
    return _place_of_device if hasattr(value, "device") else None


def _on_host(array: np.ndarray) -> int:
    return HOST


def _place_of_all(values: Any) -> int | None:
    return _place(values, None)


def _place_of_tuple(values: Any) -> int | None:
    return None if not values or values[0].__class__ is int else _place(values, None)  # a shape says nothing


def _place_of_device(value: Any) -> int | None:
    device = value.device
    if device is None:
        return None
    return HOST if device.type == "cpu" else device.index


def _place_of_layout(layout: Layout) -> int | None:
    place = layout.type.place
    return None if place == HOST and not any(layout.strides) else place  # one value of the CPU may stand anywhere


#: What tells where a value is, by its class.
_readers: dict[type, Any] = {
    DeviceRow: attrgetter("device"), TensorType: attrgetter("place"), Layout: _place_of_layout,
}


def _mixed(*places: int) -> RuntimeError:
    first, second = sorted(["cpu" if place == HOST else f"cuda:{place}" for place in places], reverse=True)
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
    )


if needs.is_simulated():
    needs.found()  # loads the simulator, so that it runs whatever kernels a program writes
