"""The CPU's random numbers: for the same seed, those of PyTorch's CPU generator, in the same order."""

from __future__ import annotations

import struct

import numpy as np

from ...devices import cpu
from .generator import Generator

_WORD = np.dtype(np.uint64)

#: Draws taken at a time: few enough to stay in the processor's cache until they are used.
_CHUNK = 1 << 14

#: From this range on PyTorch takes two draws for an integer.
_WIDE_RANGE = 1 << 28

#: Bytes of a generator's state as PyTorch writes it.
_STATE_SIZE = 5056

#: From this size on PyTorch computes normals in blocks, below it one pair at a time.
_BLOCK = 16


class MersenneTwister(Generator, kind="cpu"):
    """A generator for the CPU.  Numbers come as new rows, or in a row that is given."""

    def _begin(self) -> None:
        #: The 624 words of the twister, and how many of them have been used.
        self._state = np.zeros(625, np.uint64)
        #: A normal that waits for the next call, and 1 if there is one, else 0.
        self._spare = np.zeros(2)
        super()._begin()

    def _restart(self) -> None:
        seeded = np.random.MT19937(0)
        seeded._legacy_seeding(self._seed % 2**32)
        self._state[:624] = seeded.state["state"]["key"]
        self._state[624] = 624
        self._spare[:] = 0

    def uniform(
        self, size: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """``size`` numbers from [low, high), in the 1-D array ``out`` or a new one, of ``dtype``, float32 or float64.

        ``low`` is at most ``high``.
        """
        if out is None:
            out = _empty(size, dtype)
        with self._lock:
            self._fill_uniform(out, float(low), float(high))
        return out

    def normal(
        self, size: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """``size`` normal numbers, in the 1-D array ``out`` or a new one, of ``dtype``, float32 or float64."""
        if out is None:
            out = _empty(size, dtype)
        with self._lock:
            if size < _BLOCK:
                self._fill_pairs(out, float(mean), float(std))
            else:
                self._fill_normal(out, float(mean), float(std))
        return out

    def normal_pairs(self, size: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
        """``normal`` as PyTorch computes it for tensors that are not contiguous, whatever their size: by pairs."""
        out = _empty(size, dtype)
        with self._lock:
            self._fill_pairs(out, float(mean), float(std))
        return out

    def exponential(self, size: int, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
        """``size`` numbers from the exponential distribution, as a new 1-D array."""
        with self._lock:
            return (-np.log1p(-self._doubles(size)) / rate).astype(dtype)

    def bernoulli(self, size: int, probability: float | np.ndarray) -> np.ndarray:
        """``size`` truth values, each true with the ``probability``, one number or an array of floats."""
        with self._lock:
            if isinstance(probability, np.ndarray) and probability.dtype == np.float32:
                uniforms = np.empty(size, np.float32)
                self._fill_uniform(uniforms, 0.0, 1.0)
                return uniforms < probability
            return self._doubles(size) < probability

    def integers(self, size: int, low: int, high: int, wide: bool | None = None) -> np.ndarray:
        """``size`` integers from [low, high), as a new int64 array; the range is at most 2^64.

        ``wide`` numbers take two 32-bit draws each; unless told otherwise, as in PyTorch, those of 2^28 or more.
        """
        span = high - low
        with self._lock:
            two_each = span >= _WIDE_RANGE if wide is None else wide
            draws = self._draws64(size) if two_each else self._draws(size)
        if span < 2**64:
            draws %= np.uint64(span)
        if low:
            draws += np.uint64(low % 2**64)
        return draws.view(np.int64)

    def permutation(self, size: int) -> np.ndarray:
        """The numbers from 0 to ``size - 1`` in random order, as a new int64 array."""
        order = np.arange(size)
        with self._lock:
            draws = self._draws(max(size - 1, 0))
        cpu.shuffle(draws, order)
        return order

    def _draws(self, size: int) -> np.ndarray:
        """The next 32-bit numbers, as a new uint64 array."""
        draws = np.empty(size, _WORD)
        cpu.draw(self._state, draws)
        return draws

    def _draws64(self, size: int) -> np.ndarray:
        """Pairs of draws as one number of 64 bits, the first draw its high half."""
        draws = self._draws(2 * size)
        return draws[0::2] << np.uint64(32) | draws[1::2]

    def _doubles(self, size: int) -> np.ndarray:
        """Uniform numbers from [0, 1) in float64."""
        out = np.empty(size, np.float64)
        self._fill_uniform(out, 0.0, 1.0)
        return out

    # -- the state, in the layout of PyTorch's ``get_state`` ----------------------------------------------

    def state_bytes(self) -> bytes:
        """The state as PyTorch writes it: seed, place in the block, the block, and the normal that waits."""
        with self._lock:
            used, (spare, waits) = int(self._state[624]), self._spare.tolist()
            head = struct.pack("<QiiQ", self._seed, 625 - used, 1, used % 624)
            tail = struct.pack("<dddi4x8x", 0.0, spare if waits else 0.0, 0.0, int(waits))
            return head + self._state[:624].astype("<u8").tobytes() + tail

    def set_state_bytes(self, data: bytes) -> None:
        """Go on from a state that :meth:`state_bytes` or PyTorch wrote.

        Raises:
            RuntimeError: it is no such state.
        """
        if len(data) != _STATE_SIZE:
            raise RuntimeError(f"RNG state is wrong size: expected {_STATE_SIZE} bytes, got {len(data)}")
        seed, left, seeded, _ = struct.unpack_from("<QiiQ", data)
        if not (seeded and 1 <= left <= 624):
            raise RuntimeError("Invalid mt19937 state")
        words = np.frombuffer(data, "<u8", 624, 24) % 2**32
        _, spare, _, waits = struct.unpack_from("<dddi", data, 24 + 624 * 8)
        with self._lock:
            self._seed = seed
            self._state[:624], self._state[624] = words, 625 - left
            self._spare[:] = spare, bool(waits)

    def _fill_uniform(self, out: np.ndarray, low: float, high: float) -> None:
        run = cpu.random_kernel("uniform", out.dtype).entry
        draws_each = out.itemsize // 4
        if out.size <= _CHUNK:
            run(self._state, np.empty(out.size * draws_each, _WORD), low, high, out)
            return
        for start in range(0, out.size, _CHUNK):
            part = out[start : start + _CHUNK]
            run(self._state, np.empty(part.size * draws_each, _WORD), low, high, part)

    def _fill_normal(self, out: np.ndarray, mean: float, std: float) -> None:
        kernel = cpu.random_kernel("normal", out.dtype).entry
        for start in range(0, out.size, _CHUNK):
            part = out[start : start + _CHUNK]
            self._fill_uniform(part, 0.0, 1.0)
            kernel(mean, std, part)  # its whole blocks
        if out.size % _BLOCK:  # then the last block is drawn afresh, over the end of the one before
            last = out[-_BLOCK:]
            self._fill_uniform(last, 0.0, 1.0)
            kernel(mean, std, last)

    def _fill_pairs(self, out: np.ndarray, mean: float, std: float) -> None:
        """Normals in pairs; one that is left over waits for the next call, whatever its dtype."""
        pairs = (out.size - int(self._spare[1]) + 1) // 2
        draws = np.empty(4 * pairs, _WORD)
        cpu.random_kernel("normal_pairs", out.dtype).entry(self._state, draws, self._spare, mean, std, out)


def _empty(size: int, dtype: np.dtype) -> np.ndarray:
    if dtype.char not in "fd":
        raise TypeError(f"uniform and normal numbers are float32 or float64, not {dtype}")
    return np.empty(size, dtype)
