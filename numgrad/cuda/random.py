"""Random numbers of GPUs: their default generators.

For the same seed, the numbers are the same on every GPU and in the simulator, up to rounding of functions such as the
logarithm.  They are not PyTorch's, which depend on the GPU's number of processors.  Without a GPU, a
seed is stored and takes effect when a GPU comes into use, so programs need no check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..devices import begin_cuda, cuda_in_use
from ..ops.creation.random_numbers import get_state, set_state
from ..random import gpu_generator, seed_gpus
from ..tensors.tensor import Tensor
from .gpus import device_count, index_of

__all__ = [
    "default_generators", "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all",
    "seed", "seed_all", "set_rng_state", "set_rng_state_all",
]


def _generator(device: Any) -> Any:
    """Return the default generator of a GPU, by name or index; see ``gpus.index_of`` for errors."""
    return gpu_generator(index_of(device))


def _of_current() -> Any:
    """Return the default generator of the current GPU, or of the first while GPUs are not in use."""
    return gpu_generator(begin_cuda().runtime.current_device() if cuda_in_use() else 0)


class _DefaultGenerators(Sequence[Any]):
    """The default generators of all GPUs, by number."""

    def __len__(self) -> int:
        return device_count()

    def __getitem__(self, number: Any) -> Any:
        return gpu_generator(range(len(self))[number])


default_generators = _DefaultGenerators()


def manual_seed(seed: int) -> None:
    """Restart the current GPU's default generator from ``seed``, an integer in [-2^63, 2^64)."""
    _of_current().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the default generators of all GPUs from ``seed``."""
    _of_current().manual_seed(seed)  # checks the seed
    seed_gpus(seed)


def seed() -> None:
    """Restart the current GPU's default generator from a random seed."""
    _of_current().seed()


def seed_all() -> None:
    """Restart the default generators of all GPUs from one random seed."""
    seed_gpus(_of_current().seed())


def initial_seed() -> int:
    """Return the seed of the last restart of the current GPU's default generator.

    Raises:
        ImportError, RuntimeError: there is no GPU.
    """
    return _generator("cuda").initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the state of a GPU's default generator: seed and number of draws, as a uint8 CPU tensor of 16 bytes.

    Raises:
        ImportError, RuntimeError: the GPU is not available.

    Example:
        >>> import numgrad as torch
        >>> if torch.cuda.is_available():
        ...     state = torch.cuda.get_rng_state()
        ...     first = torch.rand(3, device="cuda")
        ...     torch.cuda.set_rng_state(state)
        ...     assert torch.equal(first, torch.rand(3, device="cuda"))
    """
    return get_state(_generator(device))


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Restore a state of a GPU's default generator returned by :func:`get_rng_state`.

    Raises:
        ImportError, RuntimeError: the GPU is not available, or the state is invalid.
        TypeError: the state is not a tensor of bytes.
    """
    set_state(_generator(device), new_state)


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the default generators of all GPUs."""
    return [get_rng_state(number) for number in range(begin_cuda().runtime.driver.device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the states of the default generators of all GPUs returned by :func:`get_rng_state_all`."""
    for number, new_state in enumerate(new_states):
        set_rng_state(new_state, number)
