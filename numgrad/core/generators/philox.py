"""A GPU's random numbers: for the same seed, the same ones on every GPU."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ... import devices
from ..types import device
from .generator import Generator

_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)

#: A row in a GPU's memory.
Row = devices.DeviceRow


class Philox(Generator, kind="cuda"):
    """A generator for a GPU: its state is the seed and how many draws it has made, the ``offset``.

    Number ``i`` of a draw depends on the seed, the offset and ``i`` alone.  Numbers come as new rows, or in the row
    ``out``, which for truth values and integers may be of any dtype.
    """

    @classmethod
    def of_gpu(cls, number: int) -> Philox:
        """A generator for a GPU that need not be in use yet."""
        generator: Philox = object.__new__(cls)
        generator.device = device("cuda", number)
        generator._begin()
        return generator

    def _restart(self) -> None:
        self._offset = 0

    def _fill(self, out: Row, distribution: str, first: float, second: float) -> Row:
        with self._lock:
            offset = self._offset
            self._offset = (offset + 1) % 2**64
        return devices.begin_cuda().fill_random(out, distribution, self._seed, offset, first, second)

    def _row(self, size: int, dtype: np.dtype, out: Row | None) -> Row:
        return devices.begin_cuda().empty_row(size, dtype, self.device.index) if out is None else out

    def _floats(self, size: int, dtype: np.dtype, out: Row | None) -> Row:
        if dtype not in _DTYPES:
            raise TypeError(f"random numbers with fractions are float32 or float64, not {dtype}")
        return self._row(size, dtype, out)

    def uniform(
        self, size: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0, *, out: Row | None = None
    ) -> Row:
        """``size`` numbers from [low, high), float32 or float64."""
        return self._fill(self._floats(size, dtype, out), "uniform", low, high)

    def normal(
        self, size: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, *, out: Row | None = None
    ) -> Row:
        """``size`` normal numbers, float32 or float64."""
        return self._fill(self._floats(size, dtype, out), "normal", mean, std)

    normal_pairs = normal

    def exponential(self, size: int, dtype: np.dtype, rate: float = 1.0, *, out: Row | None = None) -> Row:
        """``size`` numbers from the exponential distribution, float32 or float64; none is 0."""
        return self._fill(self._floats(size, dtype, out), "exponential", 1.0 / rate, 0.0)

    def bernoulli(
        self, size: int, probability: Any, *, value: float = 1.0, out: Row | None = None
    ) -> Row:
        """``value``, with the ``probability``, otherwise 0: truth values, unless ``out`` has another dtype.

        The probability is a number, or a row of floats; then the value is 1.
        """
        out = self._row(size, _BOOL, out)
        if not isinstance(probability, Row):
            return self._fill(out, "bernoulli", probability, value)
        draws = self.uniform(size, probability.dtype)
        return devices.begin_cuda().true_where_below(draws, probability, out)

    def integers(
        self, size: int, low: int, high: int, wide: bool | None = None, *, out: Row | None = None
    ) -> Row:
        """``size`` integers from [low, high), int64 unless ``out`` has another dtype; the range is at most 2^64."""
        return self._fill(self._row(size, _INT64, out), "integers", low, high - low)

    def permutation(self, size: int) -> Any:
        """The numbers from 0 to ``size - 1`` in random order, int64: where random keys stand when they are sorted."""
        keys: Any = self.integers(size, -(2**63), 2**63)
        return devices.begin_cuda().sort_axis(keys, 1, size, 1, False)[1]

    def state_bytes(self) -> bytes:
        """The state as PyTorch writes it: seed and offset."""
        with self._lock:
            return struct.pack("<QQ", self._seed, self._offset)

    def set_state_bytes(self, data: bytes) -> None:
        """Go on from a state that :meth:`state_bytes` wrote.

        Raises:
            RuntimeError: it is no such state.
        """
        if len(data) != 16:
            raise RuntimeError(f"RNG state is wrong size: expected 16 bytes, got {len(data)}")
        with self._lock:
            self._seed, self._offset = struct.unpack("<QQ", data)
