"""Random number generators: PyTorch's Mersenne Twister on the CPU, and the counter-based Philox on GPUs."""

from __future__ import annotations

import operator
import os
import struct
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..core.device import to_device
from ..core.types import device, numbered
from . import cpu, recording
from .gpus import begin_cuda
from .plan import Buffer, Plan
from .recording import Effect, reads_values

#: Default seed of a generator.
_DEFAULT_SEED = 67280421310721


class Generator:
    """Source of random numbers with its own state.

    On the CPU it is a Mersenne Twister that produces PyTorch's numbers.  On a GPU it is the counter-based Philox: the
    same seed gives the same numbers on every GPU, but not PyTorch's, which depend on the GPU's number of processors.

    A generator may be shared between threads: the numbers of each call are drawn without interruption.

    Args:
        device: the device on which numbers are generated: "cpu" or "cuda", with or without an index.

    Raises:
        ImportError, RuntimeError: the device is not available.

    Example:
        >>> import numgrad as torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> torch.rand(2, generator=generator)
        tensor([0.4963, 0.7682])
    """

    __module__ = "numgrad"

    #: Generator class for each device type.
    _classes: ClassVar[dict[str, type[Generator]]] = {}

    def __init_subclass__(cls, device_type: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        Generator._classes[device_type] = cls

    def __new__(cls, device: Any = "cpu") -> Generator:
        return object.__new__(Generator._classes.get(to_device(device).type, Generator))

    def __init__(self, device: Any = "cpu") -> None:
        self.device = numbered(to_device(device))
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        _generators.add(self)
        self.manual_seed(_DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from ``seed``, an integer in [-2^63, 2^64), and return the generator.

        A negative seed means ``seed + 2^64``.

        Raises:
            RuntimeError: ``seed`` is not such an integer.
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
        """Restart from a random seed provided by the operating system, and return the seed."""
        chosen = int.from_bytes(os.urandom(8), "little") >> 11
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """Return the seed of the last restart, in [0, 2^64)."""
        recording.state_read("the seed of a generator")
        return self._seed

    def state_bytes(self) -> bytes:
        """Return the state in PyTorch's format."""
        raise NotImplementedError

    def set_state_bytes(self, data: bytes) -> None:
        """Restore a state written by :meth:`state_bytes`.

        Raises:
            RuntimeError: the data is not a valid state.
        """
        raise NotImplementedError

    def _restart(self) -> None:
        """Reset the state to the start of the seed's sequence."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.device, self.state_bytes())


_generators: weakref.WeakSet[Generator] = weakref.WeakSet()


def _renew_locks() -> None:
    """Renew the locks in a forked child: a thread that does not exist here may have been drawing."""
    for generator in _generators:
        generator._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _restored(device: Any, state: bytes) -> Generator:
    """Restore a generator from its pickle."""
    generator = Generator(device)
    generator.set_state_bytes(state)
    return generator


class Philox(Generator, device_type="cuda"):
    """Generator for a GPU, whose state is the seed and the number of draws so far, the ``offset``.

    Number ``i`` of a draw depends only on the seed, the offset and ``i``.
    """

    @classmethod
    def of_gpu(cls, number: int) -> Philox:
        """Return a generator for a GPU that need not have been initialized."""
        generator: Philox = object.__new__(cls)
        generator.device = device("cuda", number)
        generator._begin()
        return generator

    @reads_values("seeding a generator")
    def _restart(self) -> None:
        self._offset = 0

    def fill(self, out: Any, distribution: str, first: Any, second: Any) -> None:
        """Fill memory with the numbers of a draw; see ``fill_random``.

        The parameters are the rate of an exponential distribution, or the bounds of integers.
        """
        if distribution == "exponential":
            first = 1.0 / first
        elif distribution == "integers":
            second -= first
        recording.on_gpu(self._next_draw().fill, (out, distribution, first, second), (out,))

    def drop(self, x: Any, out: Any, mask: Any, kept: float) -> None:
        """Store dropout of a buffer in ``out`` and ``mask``; see ``drop_random``."""
        recording.on_gpu(self._next_draw().drop, (x, out, mask, kept), (out, mask))

    def sample(self, out: Any, distribution: str, *operands: Any) -> None:
        """Fill memory with random numbers that have parameters of their own; see ``sample_random``."""
        recording.on_gpu(self._next_draw().sample, (out, distribution, *operands), (out,))

    def _next_draw(self) -> _Draw:
        draw = _Draw(self)
        draw.advance()
        if recording.recorder is not None:
            recording.recorder.repeat(draw)
        return draw

    @reads_values("reading a generator's state")
    def state_bytes(self) -> bytes:
        """Return the state in PyTorch's format: seed and offset."""
        with self._lock:
            return struct.pack("<QQ", self._seed, self._offset)

    @reads_values("setting a generator's state")
    def set_state_bytes(self, data: bytes) -> None:
        """Restore a state written by :meth:`state_bytes`.

        Raises:
            RuntimeError: the data is not a valid state.
        """
        if len(data) != 16:
            raise RuntimeError(f"RNG state is wrong size: expected 16 bytes, got {len(data)}")
        with self._lock:
            self._seed, self._offset = struct.unpack("<QQ", data)


class _Draw(Effect):
    """One draw of a GPU generator, which each run of a program repeats with new numbers."""

    def __init__(self, generator: Philox):
        self._generator = generator

    def advance(self) -> None:
        """Advance the generator by one draw."""
        generator = self._generator
        with generator._lock:
            self._seed, self._offset = generator._seed, generator._offset
            generator._offset = (generator._offset + 1) % 2**64

    def undo(self) -> None:
        """Take back one draw of the generator."""
        with self._generator._lock:
            self._generator._offset = (self._generator._offset - 1) % 2**64

    def fill(self, out: Any, distribution: str, first: float, second: float) -> None:
        """Fill a buffer with the numbers of this draw."""
        begin_cuda().fill_random(out, distribution, self._seed, self._offset, first, second)

    def drop(self, x: Any, out: Any, mask: Any, kept: float) -> None:
        """Apply dropout with the numbers of this draw."""
        begin_cuda().drop_random(x, out, mask, kept, self._seed, self._offset)

    def sample(self, out: Any, distribution: str, *operands: Any) -> None:
        """Fill a buffer with the numbers of this draw, which have parameters of their own."""
        begin_cuda().sample_random(out, distribution, *operands, seed=self._seed, offset=self._offset)


#: Size in bytes of a generator's state in PyTorch's format.
_STATE_SIZE = 5056


class _Seeding(threading.local):
    """NumPy's twister, which expands seeds; one for each thread, since making one takes longer than seeding it."""

    def __init__(self) -> None:
        self.twister = np.random.MT19937(0)


_seeding = _Seeding()


class MersenneTwister(Generator, device_type="cpu"):
    """Generator for the CPU."""

    def _begin(self) -> None:
        #: The 624 words of the twister, and the number of words used.
        self._state = np.zeros(625, np.uint64)
        #: A normal number kept for the next call, and 1 if there is one, else 0.
        self._second_normal = np.zeros(2)
        super()._begin()

    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the arrays that hold the state, which draws modify."""
        return self._state, self._second_normal

    @reads_values("seeding a generator")
    def _restart(self) -> None:
        seeded = _seeding.twister
        seeded._legacy_seeding(self._seed % 2**32)
        self._state[:624] = seeded.state["state"]["key"]
        self._state[624] = 624
        self._second_normal[:] = 0

    def uniform(self, size: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Draw an array of numbers from [low, high), float32 or float64."""
        return self._drawn(cpu.draw_uniform, size, dtype, low, high)

    def normal(self, size: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """Draw an array of normal numbers, float32 or float64."""
        return self._drawn(cpu.draw_normal, size, dtype, mean, std)

    def _drawn(self, draw: Callable[..., Buffer], size: int, dtype: np.dtype, *numbers: float) -> np.ndarray:
        if dtype.char not in "fd":
            raise TypeError(f"uniform and normal numbers are float32 or float64, not {dtype}")
        p = Plan(cpu)
        generator, out = p.operand(MersenneTwister), p.new(size, dtype)
        p.results = (draw(p, generator, out, *[p.operand(float) for _ in numbers]),)
        return p(self, *map(float, numbers))

    # -- the state, in the layout of PyTorch's ``get_state`` ----------------------------------------------

    @reads_values("reading a generator's state")
    def state_bytes(self) -> bytes:
        """Return the state in PyTorch's format: seed, index in the block, the block, and the second normal number."""
        with self._lock:
            used, (second, waits) = int(self._state[624]), self._second_normal.tolist()
            head = struct.pack("<QiiQ", self._seed, 625 - used, 1, used % 624)
            tail = struct.pack("<dddi4x8x", 0.0, second if waits else 0.0, 0.0, int(waits))
            return head + self._state[:624].astype("<u8").tobytes() + tail

    @reads_values("setting a generator's state")
    def set_state_bytes(self, data: bytes) -> None:
        """Restore a state written by :meth:`state_bytes` or by PyTorch.

        Raises:
            RuntimeError: the data is not a valid state.
        """
        if len(data) != _STATE_SIZE:
            raise RuntimeError(f"RNG state is wrong size: expected {_STATE_SIZE} bytes, got {len(data)}")
        seed, left, seeded, _ = struct.unpack_from("<QiiQ", data)
        if not (seeded and 1 <= left <= 624):
            raise RuntimeError("Invalid mt19937 state")
        words = np.frombuffer(data, "<u8", 624, 24) % 2**32
        _, second, _, waits = struct.unpack_from("<dddi", data, 24 + 624 * 8)
        with self._lock:
            self._seed = seed
            self._state[:624], self._state[624] = words, 625 - left
            self._second_normal[:] = second, bool(waits)
