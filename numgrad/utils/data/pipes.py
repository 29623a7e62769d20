"""Data pipes of PyTorch's ``utils.data.datapipes.iter``: elements of an iterable, mapped, selected and in batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from .datapipes import IterDataPipe, functional_datapipe

__all__ = ["Batcher", "DataChunk", "Filter", "IterableWrapper", "Mapper"]

T = TypeVar("T")


class DataChunk(list[T]):
    """A list of the elements of a batch."""


class IterableWrapper(IterDataPipe[Any]):
    """The elements of an iterable, which is copied each time unless ``deepcopy`` is False.

    Example:
        >>> from numgrad.utils.data.pipes import IterableWrapper
        >>> list(IterableWrapper(range(5)).filter(lambda n: n != 2).map(lambda n: 10 * n).batch(3))
        [[0, 10, 30], [40]]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        yield from copy.deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


@functional_datapipe("map")
class Mapper(IterDataPipe[Any]):
    """The results of a function of each element; also ``datapipe.map(fn)``."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __iter__(self) -> Iterator[Any]:
        return map(self.fn, self.datapipe)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("filter")
class Filter(IterDataPipe[Any]):
    """The elements for which a function returns True; also ``datapipe.filter(filter_fn)``."""

    def __init__(self, datapipe: Any, filter_fn: Callable[[Any], bool]) -> None:
        self.datapipe, self.filter_fn = datapipe, filter_fn

    def __iter__(self) -> Iterator[Any]:
        return filter(self.filter_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(IterDataPipe[Any]):
    """Batches of consecutive elements; also ``datapipe.batch(batch_size)``.

    Args:
        datapipe: the elements.
        batch_size: the number of elements in a batch.
        drop_last: True to leave out a last batch of fewer elements.
        wrapper_class: the class of a batch, which takes a list.

    Raises:
        ValueError: ``batch_size`` is not positive.
    """

    def __init__(
        self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk
    ) -> None:
        if batch_size <= 0:
            raise ValueError(f"the batch size must be positive, but is {batch_size}")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for element in self.datapipe:
            batch.append(element)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)
