"""Random numbers: on the CPU, those of PyTorch's CPU generator for the same seed, in the same order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from .autograd.grad_mode import LEVELS, state
from .autograd.levels import outwards
from .core.device import to_device
from .core.types import CPU, device, numbered
from .devices.generators import Generator, MersenneTwister, Philox
from .devices.recording import unrecorded

__all__ = ["default_generator", "fork_rng", "initial_seed", "manual_seed", "seed"]

default_generator = MersenneTwister()
default_generator.seed()

#: Default generators of GPUs made so far, and the seed for further ones.
_gpu_generators: dict[int, Philox] = {}
_gpu_seed: int = default_generator.initial_seed()


def gpu_generator(number: int) -> Philox:
    """Return the default generator of a GPU, which need not be in use."""
    cached = _gpu_generators.get(number)
    if cached is None:
        generator = Philox.of_gpu(number)
        generator.manual_seed(_gpu_seed)
        cached = _gpu_generators.setdefault(number, generator)  # another thread may just have made it
    return cached


def default_generators() -> list[Generator]:
    """Return the default generators of the CPU and of GPUs that have one so far."""
    return [default_generator, *_gpu_generators.values()]


def seed_gpus(seed: int) -> None:
    """Restart the default generators of all GPUs from ``seed``, including those not made yet."""
    global _gpu_seed
    _gpu_seed = seed
    for generator in _gpu_generators.values():
        generator.manual_seed(seed)


def generator_of(device: device) -> Generator:
    """Return the default generator of a device."""
    if device.type == "cpu":
        return default_generator
    index = numbered(device).index
    assert index is not None
    return gpu_generator(index)


def _check_randomness() -> None:
    """Raise an error if a level of ``vmap`` forbids random operations."""
    for level in outwards(state.level):
        if getattr(level, "randomness", None) == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )


def given_or_default(generator: Any, device: device = CPU) -> Any:
    """Return the generator for tensors on a device: the argument ``generator``, or the default one for None.

    Raises:
        TypeError: the argument is not a generator.
        RuntimeError: it belongs to another device.
    """
    if state.mode & LEVELS:
        _check_randomness()
    if generator is None:
        return default_generator if device is CPU else generator_of(device)
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be numgrad.Generator, not {type(generator).__name__}")
    if generator.device != device:
        expected, actual = (
            (device.type, generator.device.type) if device.type != generator.device.type else (device, generator.device)
        )
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{actual}'")
    return generator


def manual_seed(seed: int) -> Generator:
    """Restart the default generators of all devices from ``seed``, as ``Generator.manual_seed`` does.

    Return the CPU's generator.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> numgrad.rand(2)
        tensor([0.4963, 0.7682])
    """
    default_generator.manual_seed(seed)
    seed_gpus(seed)
    return default_generator


def seed() -> int:
    """Restart the default generators from a random seed, and return that seed."""
    chosen = default_generator.seed()
    seed_gpus(chosen)
    return chosen


def initial_seed() -> int:
    """Return the seed of the last restart of the CPU's default generator."""
    return default_generator.initial_seed()


class States:
    """Snapshot of the default generators' states: the CPU's, and those of the given GPUs, by index, or of all."""

    def __init__(self, gpus: Iterable[int] | None = None) -> None:
        self._cpu = default_generator.state_bytes()
        self._seed = _gpu_seed
        self._all = gpus is None
        numbers = list(_gpu_generators) if gpus is None else gpus
        self._gpus = {number: gpu_generator(number).state_bytes() for number in numbers}

    def stand(self) -> bool:
        """Return True if nothing was drawn or seeded since; the check is hidden from a program being recorded."""
        now = unrecorded(States)
        return (now._cpu, now._seed, now._gpus) == (self._cpu, self._seed, self._gpus)

    def restore(self) -> None:
        """Restore the generators to these states."""
        default_generator.set_state_bytes(self._cpu)
        for number, before in self._gpus.items():
            gpu_generator(number).set_state_bytes(before)
        if self._all:  # generators made since then start from the earlier seed
            global _gpu_seed
            _gpu_seed = self._seed
            for number in _gpu_generators.keys() - self._gpus.keys():
                _gpu_generators[number].manual_seed(self._seed)


@contextlib.contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context manager on whose exit the default generators continue as if the block had not run.

    Args:
        devices: the GPUs whose generators are restored besides the CPU's, by index or name; all of them for None.
        enabled: False to do nothing.
        device_type: the type of the devices: "cuda".
    """
    if not enabled:
        yield
        return
    numbers = None if devices is None else [numbered(to_device(gpu)).index or 0 for gpu in devices]
    present = States(numbers)
    try:
        yield
    finally:
        present.restore()
