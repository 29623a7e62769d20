"""Devices: their names, and the default device for new tensors."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

#: Function for each device type that initializes and returns its package; ``devices`` registers them.
backends: dict[str, Callable[[], Any]] = {}

#: PyTorch's further device types, which programs name to compare devices with them.
_OTHERS = ("meta", "mps", "xpu", "hpu", "mtia", "xla")


class device:  # noqa: N801 - PyTorch's name
    """Location of a tensor's memory: ``device("cpu")``, ``device("cuda")``, ``device("cuda:1")`` or ``device(1)``.

    ``device("cuda")`` denotes the GPU that is current when a tensor is made; the tensor's own device has an index.  A
    device need not exist to be named: the error is raised when the first tensor is made on it.

    As a context manager, it sets the default device for new tensors in this thread.

    Args:
        type: "cpu" or "cuda", optionally with an index as in "cuda:1"; another device; or the index of a GPU.  Types
            such as "meta" and "mps" can be named, too, although numgrad has no tensors on such devices.
        index: the index, if ``type`` has none.

    Raises:
        RuntimeError: the device type is unknown, or the index is malformed or negative.
        TypeError: an argument has the wrong type.

    Example:
        >>> import numgrad as torch
        >>> torch.device("cuda", 1)
        device(type='cuda', index=1)
        >>> with torch.device("cpu"):
        ...     torch.zeros(2).device
        device(type='cpu')
    """

    __module__ = "numgrad"
    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any, index: int | None = None):
        if isinstance(type, device) and index is None:
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or device, not {type.__class__.__name__}")
        device_type, number = _parsed(type)
        if number is not None and index is not None:
            raise RuntimeError(
                f"type (string) must not include an index because index was passed explicitly: {type}"
            )
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, but is {index}")
        self.type = device_type
        self.index = number if index is None else int(index)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _default.outer = (*_default.outer, _default.current)
        _default.current = self
        return self

    def __exit__(self, *_: object) -> None:
        *outer, _default.current = _default.outer
        _default.outer = tuple(outer)


def _parsed(name: str) -> tuple[str, int | None]:
    """Return the device type and the index given by a string."""
    device_type, colon, number = name.partition(":")
    if not name:
        raise RuntimeError("Device string must not be empty")
    if device_type not in ("cpu", "cuda", *_OTHERS):
        raise RuntimeError(f"Expected one of cpu, cuda device type at start of device string: {name}")
    if not colon:
        return device_type, None
    if not number.isdecimal() or str(int(number)) != number:
        raise RuntimeError(f"Invalid device string: '{name}'")
    return device_type, int(number)


CPU = device("cpu")


class _Default(threading.local):
    """Default device of this thread, and the devices that its open contexts will restore."""

    current: device = CPU
    outer: tuple[device, ...] = ()


_default = _Default()


def to_device(value: Any) -> device:
    """Return the device for ``value``: a device, its name, a GPU's index, or None for the default."""
    if value is None:
        return _default.current
    if value.__class__ is device:
        return value
    return _of_name(value) if value.__class__ is str else device(value)


@functools.lru_cache(maxsize=64)
def _of_name(name: str) -> device:
    return device(name)


def set_default_device(device: Any) -> None:
    """Set the default device for new tensors in this thread: a device or its name, or None for the CPU.

    Example:
        >>> import numgrad as torch
        >>> torch.set_default_device("cpu")
        >>> torch.get_default_device()
        device(type='cpu')
    """
    _default.current = CPU if device is None else to_device(device)


def get_default_device() -> device:
    """Return the default device for new tensors in this thread: the CPU unless it was set."""
    return numbered(_default.current)


#: GPUs on which tensors have been made, by index.
_gpus: dict[int, device] = {}


def numbered(named: device) -> device:
    """Return the device as stored in tensors: the CPU without an index, a GPU with its index, each as a unique object.

    Raises:
        ImportError, RuntimeError: the GPU is not available.
        NotImplementedError: numgrad has no tensors on devices of this type.
    """
    if named.type == "cpu":
        return CPU
    if named.type in _OTHERS:
        raise NotImplementedError(f"numgrad has tensors on devices of the types cpu and cuda, not {named}")
    runtime = backends["cuda"]().runtime
    index = runtime.current_device() if named.index is None else named.index
    if index not in _gpus:
        count = runtime.driver.device_count()
        if index >= count:
            raise RuntimeError(f"CUDA error: invalid device ordinal ({named}; GPUs found: {count})")
        _gpus[index] = device("cuda", index)
    return _gpus[index]
