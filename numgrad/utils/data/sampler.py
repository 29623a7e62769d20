"""Samplers: the order in which the samples of a data set are read, and their grouping into batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ...core.types import float64, int64
from ...ops.creation.distributions import multinomial
from ...ops.creation.factories import empty
from ...ops.creation.from_data import as_tensor
from ...ops.creation.random_numbers import randint, randperm
from ...random import Generator

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]

T = TypeVar("T", covariant=True)

#: Number of indices drawn at a time with replacement; the numbers depend on it, so it is PyTorch's.
_CHUNK = 32


def draw_seed(generator: Generator | None = None) -> int:
    """Return a random seed in [0, 2^63)."""
    return empty((), dtype=int64).random_(generator=generator).item()


def permutation(count: int, generator: Generator | None) -> list[int]:
    """Return the numbers below ``count`` in random order."""
    return randperm(count, generator=generator).tolist()


def check_positive(name: str, value: Any) -> None:
    """Raise ValueError unless an argument is an int above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_flag(name: str, value: Any, error: type[Exception]) -> None:
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


class Sampler(Generic[T]):
    """Indices of samples, one after another: a subclass defines ``__iter__``."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__}: subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """All indices of ``data_source`` in order.

    Example:
        >>> import numgrad
        >>> list(numgrad.utils.data.SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices of ``data_source`` in random order; the same seed gives the same order as in PyTorch.

    Args:
        data_source: the data set, of which only the length is used.
        replacement: draw each index from all indices, independently of earlier draws.
        num_samples: the number of indices, by default the number of samples; without ``replacement``, further indices
            start over in a new order.
        generator: the source of random numbers; by default a new one, seeded from the default generator.

    Raises:
        TypeError: ``replacement`` is not a bool.
        ValueError: ``num_samples`` is not a positive int.

    Example:
        >>> import numgrad
        >>> generator = numgrad.Generator().manual_seed(0)
        >>> list(numgrad.utils.data.RandomSampler(range(4), generator=generator))
        [0, 1, 3, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        _check_flag("replacement", replacement, TypeError)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        count = len(self.data_source)
        size = _CHUNK if self.replacement else count
        # The last piece is drawn even if none of it is used, to leave the generator in PyTorch's state.
        for left in range(self.num_samples, -1, -size):
            if self.replacement:
                yield from randint(count, (min(left, size),), generator=generator).tolist()
            else:
                yield from permutation(count, generator)[:left]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Example:
        >>> import numgrad
        >>> generator = numgrad.Generator().manual_seed(0)
        >>> list(numgrad.utils.data.SubsetRandomSampler([10, 20, 30], generator=generator))
        [30, 10, 20]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in permutation(len(self.indices), self.generator):
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given probabilities.

    Args:
        weights: one for each index; they need not sum to 1.
        num_samples: the number of indices to draw.
        replacement: True if an index may be drawn again.
        generator: the source of random numbers, by default the default generator.

    Raises:
        ValueError: the weights are not one-dimensional, ``num_samples`` is not a positive int, or ``replacement`` is
            not a bool.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        check_positive("num_samples", num_samples)
        _check_flag("replacement", replacement, ValueError)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of ``batch_size``.

    The last list may be shorter, unless ``drop_last`` omits it.

    Raises:
        ValueError: ``batch_size`` is not a positive int, or ``drop_last`` is not a bool.

    Example:
        >>> import numgrad
        >>> indices = numgrad.utils.data.SequentialSampler(range(5))
        >>> list(numgrad.utils.data.BatchSampler(indices, batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        check_positive("batch_size", batch_size)
        _check_flag("drop_last", drop_last, ValueError)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
