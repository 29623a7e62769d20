"""Data sets: collections of samples, read by index or one after another."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...random import Generator
from ...tensors.tensor import Tensor
from .sampler import permutation

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """Samples by index: a subclass defines ``__getitem__`` and, for most samplers, ``__len__``.

    A subclass may also define ``__getitems__``, which takes a list of indices and returns the list of their samples.
    :class:`DataLoader` calls it for a batch.

    Example:
        >>> import numgrad
        >>> class Squares(numgrad.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return index * index
        >>> list(numgrad.utils.data.DataLoader(Squares(), batch_size=2))
        [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError(f"{type(self).__name__}: subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


def samples_at(dataset: Any, indices: list[Any]) -> list[Any]:
    """Return the samples of a data set at some indices."""
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if callable(several) else [dataset[index] for index in indices]


class IterableDataset(Dataset[T]):
    """Samples one after another: a subclass defines ``__iter__``.

    Example:
        >>> import numgrad
        >>> class Countdown(numgrad.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> list(numgrad.utils.data.DataLoader(Countdown(), batch_size=2))
        [tensor([3, 2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"{type(self).__name__}: subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Data set whose sample ``i`` is the tuple of row ``i`` of each tensor.

    Raises:
        AssertionError: the tensors' first dimensions differ in size.

    Example:
        >>> import numgrad
        >>> from numgrad.utils.data import TensorDataset
        >>> data = TensorDataset(numgrad.arange(3), numgrad.tensor([10, 20, 30]))
        >>> len(data), data[1]
        (3, (tensor(1), tensor(20)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors)
            raise AssertionError(f"Size mismatch between tensors (shapes {shapes})")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Data set whose sample ``i`` contains sample ``i`` of each data set, as a tuple, or as a dict if they are named.

    Raises:
        ValueError: there are no data sets, some are named and some not, or their lengths differ.

    Example:
        >>> import numgrad
        >>> data = numgrad.utils.data.StackDataset(x=[1, 2], y=["a", "b"])
        >>> data[1]
        {'x': 2, 'y': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("Supported either tuple- (via args) or dict- (via kwargs) like input/output, not both.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        lengths = [len(dataset) for dataset in (*args, *kwargs.values())]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets (lengths {lengths})")
        self.datasets = args or kwargs
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Concatenation of several data sets.

    Raises:
        AssertionError: there are no data sets, or one is an :class:`IterableDataset`.

    Example:
        >>> import numgrad
        >>> data = numgrad.utils.data.ConcatDataset([[1, 2], [3]])
        >>> len(data), data[2]
        (3, 3)
    """

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate([_length(dataset) for dataset in self.datasets]))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    f"absolute value of index should not exceed dataset length ({index} of {len(self)} samples)"
                )
            index += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, index)
        if number == len(self.datasets):
            raise IndexError(f"index {index} is out of range: there are {len(self)} samples")
        start = self.cumulative_sizes[number - 1] if number else 0
        return self.datasets[number][index - start]


class ChainDataset(IterableDataset[Any]):
    """Concatenation of several iterable data sets.

    Example:
        >>> import numgrad
        >>> class Letters(numgrad.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter("ab")
        >>> list(numgrad.utils.data.ChainDataset([Letters(), Letters()]))
        ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not all(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ChainDataset only supports IterableDataset")

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return sum(_length(dataset) for dataset in self.datasets)


class Subset(Dataset[T]):
    """The samples of a data set at some indices, in their order.

    Example:
        >>> import numgrad
        >>> list(numgrad.utils.data.Subset(["a", "b", "c"], [2, 0]))
        ['c', 'a']
    """

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        return samples_at(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Split a data set at random into parts that do not overlap; the same seed gives the same parts as in PyTorch.

    Args:
        dataset: the data set to split.
        lengths: the lengths of the parts or, if they sum to at most 1, their fractions of the whole.  Lengths from
            fractions are rounded down, and remaining samples go to the parts one by one, starting with the first.
        generator: the source of random numbers, by default the default generator.

    Raises:
        ValueError: a fraction is not between 0 and 1, a length is negative, or the lengths do not sum to the length of
            the data set.

    Example:
        >>> import numgrad
        >>> from numgrad.utils.data import random_split
        >>> generator = numgrad.Generator().manual_seed(0)
        >>> [list(part) for part in random_split(range(5), [3, 2], generator=generator)]
        [[4, 0, 1], [3, 2]]
    """
    total = _length(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _rounded(lengths, total)
    if any(length < 0 for length in lengths):
        raise ValueError(f"lengths should not be negative: {list(lengths)}")
    if sum(lengths) != total:
        raise ValueError(
            f"Sum of input lengths does not equal the length of the input dataset! ({list(lengths)} of {total})"
        )
    ends = list(itertools.accumulate([int(length) for length in lengths]))
    order = permutation(total, generator)
    return [Subset(dataset, order[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _rounded(fractions: Sequence[float], total: int) -> list[int]:
    for number, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {number} is not between 0 and 1 ({fraction})")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for left_over in range(total - sum(lengths)):
        lengths[left_over % len(lengths)] += 1
    for number, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {number} is 0. This might result in an empty dataset.",
                UserWarning,
                stacklevel=3,
            )
    return lengths


def _length(dataset: Any) -> int:
    return len(dataset)
