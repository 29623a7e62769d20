"""The state of the random numbers, so that what is computed again draws the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd.levels import tensors_in
from ...ops.creation.random_states import get_state, set_state
from ...random import States, gpu_generator


class RandomState:
    """The states that the default generators of all devices have now, to go back to."""

    def __init__(self) -> None:
        self._states = States()

    @contextmanager
    def again(self) -> Iterator[None]:
        """Within the block, random numbers are those that followed; after it they go on as before it."""
        before = States()
        self._states.restore()
        try:
            yield
        finally:
            before.restore()


class DefaultDeviceType:
    """The kind of device, beside the CPU, whose random numbers are meant where no tensor names one: "cuda" at first."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the default."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The default."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The GPUs that have tensors among ``args``, and the states of their random numbers."""
    gpus = sorted({tensor.device.index for tensor in tensors_in(args) if tensor.device.type == "cuda"})
    return gpus, [get_state(gpu_generator(gpu)) for gpu in gpus]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Give GPUs the states that :func:`get_device_states` found.

    Raises:
        RuntimeError: the kind of device is not "cuda".
    """
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if devices and kind != "cuda":
        raise RuntimeError(f"random states of the devices {devices} are those of GPUs, not of '{kind}'")
    for device, state in zip(devices, states, strict=True):
        set_state(gpu_generator(device), state)
