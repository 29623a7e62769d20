"""What all generators of random numbers have: a seed, a lock, a device."""

from __future__ import annotations

import operator
import os
import threading
from typing import Any, ClassVar

from ..device import to_device
from ..types import numbered

#: The seed of a generator that was not given one.
_DEFAULT_SEED = 67280421310721


class Generator:
    """A source of random numbers with a state of its own.

    On the CPU it is a Mersenne Twister whose numbers are PyTorch's.  On a GPU it is Philox, which counts: for the same
    seed it gives the same numbers on every GPU, but not PyTorch's, which depend on the number of the GPU's processors.

    A generator may be shared between threads: each call takes its numbers in one piece.

    Args:
        device: where it makes numbers: "cpu" or "cuda", with or without a number.

    Raises:
        ImportError, RuntimeError: there is no such device.

    Example:
        >>> import numgrad as torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> torch.rand(2, generator=generator)
        tensor([0.4963, 0.7682])
    """

    #: The class for each kind of device.
    _kinds: ClassVar[dict[str, type[Generator]]] = {}

    def __init_subclass__(cls, kind: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        Generator._kinds[kind] = cls

    def __new__(cls, device: Any = "cpu") -> Generator:
        return object.__new__(Generator._kinds[to_device(device).type])

    def __init__(self, device: Any = "cpu") -> None:
        self.device = numbered(to_device(device))
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self.manual_seed(_DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``, an integer in [-2^63, 2^64); a negative one stands for ``seed + 2^64``.

        Returns the generator itself. Raises RuntimeError for anything that is not such an integer.
        """
        try:
            number = operator.index(seed)
        except TypeError:
            raise RuntimeError(f"manual_seed expected an int, but got {type(seed).__name__}") from None
        if not -(2**63) <= number < 2**64:
            raise RuntimeError(f"manual_seed expected an int in [-2**63, 2**64), but got {number}")
        with self._lock:
            self._seed = number % 2**64
            self._restart()
        return self

    def seed(self) -> int:
        """Start again from a seed that the operating system chose at random, and return it."""
        chosen = int.from_bytes(os.urandom(8), "little") >> 11
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed that the generator last started from, in [0, 2^64)."""
        return self._seed

    def state_bytes(self) -> bytes:
        """The state as PyTorch writes it."""
        raise NotImplementedError

    def set_state_bytes(self, data: bytes) -> None:
        """Go on from a state that :meth:`state_bytes` wrote.

        Raises:
            RuntimeError: it is no such state.
        """
        raise NotImplementedError

    def _restart(self) -> None:
        """Go back to where the seed starts."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.device, self.state_bytes())


def _restored(device: Any, state: bytes) -> Generator:
    """A generator from its pickle."""
    generator = Generator(device)
    generator.set_state_bytes(state)
    return generator
