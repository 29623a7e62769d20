"""The state of the random numbers, so that what is computed again draws the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...random import default_generator

__all__ = ["DefaultDeviceType", "RandomState", "get_device_states", "set_device_states"]


class RandomState:
    """The state that the default generator has now, to go back to."""

    def __init__(self) -> None:
        self._state = default_generator.state_bytes()

    @contextmanager
    def again(self) -> Iterator[None]:
        """Within the block, random numbers are those that followed; after it they go on as before it."""
        before = default_generator.state_bytes()
        default_generator.set_state_bytes(self._state)
        try:
            yield
        finally:
            default_generator.set_state_bytes(before)


class DefaultDeviceType:
    """The kind of device, beside the CPU, whose random numbers are meant where no tensor names one.

    Numgrad computes on the CPU, whose random numbers are always taken care of: this is there for programs written for
    PyTorch.
    """

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        """Set the default."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The default; "cpu" at first."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices beside the CPU that have tensors among ``args``, and the states of their random numbers.

    Both lists are empty, since all tensors are on the CPU.
    """
    return [], []


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Give devices beside the CPU the states that :func:`get_device_states` found.

    Raises:
        RuntimeError: a device is named: there is none but the CPU.
    """
    if devices:
        raise RuntimeError(f"numgrad has no device but the CPU: cannot set the random states of the devices {devices}")
