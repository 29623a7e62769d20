"""The random numbers of GPUs: their default generators.

For the same seed the numbers are the same on every GPU and in the simulator, up to the rounding of logarithms and the
like.  They are not PyTorch's, which depend on how many processors the GPU has.  Where there is no GPU, seeds
are kept for one that may come into use, so that programs need not ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..devices import begin_cuda, cuda_in_use
from ..ops.creation.random_numbers import get_state, set_state
from ..random import gpu_generator, seed_gpus
from .gpus import index_of

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]


def _generator(device: Any) -> Any:
    """The default generator of a GPU, named or by its number; see ``gpus.index_of`` for errors."""
    return gpu_generator(index_of(device))


def _of_current() -> Any:
    """The default generator of the current GPU, or of the first while GPUs are not in use."""
    return gpu_generator(begin_cuda().runtime.current_device() if cuda_in_use() else 0)


def manual_seed(seed: int) -> None:
    """Start the current GPU's default generator again from ``seed``, an integer in [-2^63, 2^64)."""
    _of_current().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Start the default generators of all GPUs again from ``seed``."""
    _of_current().manual_seed(seed)  # which checks it
    seed_gpus(seed)


def seed() -> None:
    """Start the current GPU's default generator again from a seed chosen at random."""
    _of_current().seed()


def seed_all() -> None:
    """Start the default generators of all GPUs again from one seed chosen at random."""
    seed_gpus(_of_current().seed())


def initial_seed() -> int:
    """The seed that the current GPU's default generator last started from.

    Raises:
        ImportError, RuntimeError: there is no GPU.
    """
    return _generator("cuda").initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's default generator: the seed and the number of draws, 16 bytes in a uint8 tensor on the CPU.

    Raises:
        ImportError, RuntimeError: there is no such GPU.

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
    """Have a GPU's default generator go on from a state that :func:`get_rng_state` gave.

    Raises:
        ImportError, RuntimeError: there is no such GPU, or it is no such state.
        TypeError: the state is no tensor of bytes.
    """
    set_state(_generator(device), new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of the default generators of all GPUs."""
    return [get_rng_state(number) for number in range(begin_cuda().runtime.driver.device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Have the default generators of all GPUs go on from the states that :func:`get_rng_state_all` gave."""
    for number, new_state in enumerate(new_states):
        set_rng_state(new_state, number)
