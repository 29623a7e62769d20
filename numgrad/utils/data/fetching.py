"""Reading of the samples of a batch, in any process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...ops.creation.from_data import tensor
from ...tensors.tensor import Tensor
from .collate import default_collate
from .dataset import IterableDataset, Subset, TensorDataset, samples_at

__all__ = ["Fetcher", "Reading"]


@dataclass(frozen=True)
class Reading:
    """Data set and collation of a loader.

    Attributes:
        collate: makes a batch from a list of samples or, if not ``batched``, converts a sample.
        batched: True if samples are read in batches.
        drop_last: True to drop an incomplete last batch of an iterable data set.
    """

    dataset: Any
    collate: Callable[[Any], Any]
    batched: bool
    drop_last: bool

    @property
    def iterable(self) -> bool:
        """True if the samples are read one after another, without indices."""
        return isinstance(self.dataset, IterableDataset)


class Fetcher:
    """One pass over a data set."""

    def __init__(self, reading: Reading):
        self._reading = reading
        self._samples = iter(reading.dataset) if reading.iterable else None

    def fetch(self, index: Any) -> Any:
        """Return the batch at some indices, or the sample at one; an iterable data set uses only their number.

        Raises:
            StopIteration: there are no more samples.
        """
        return self._chosen(index) if self._samples is None else self._following(self._samples, index)

    def _chosen(self, index: Any) -> Any:
        dataset, collate = self._reading.dataset, self._reading.collate
        if not self._reading.batched:
            return collate(dataset[index])
        batch = _rows(dataset, index) if collate is default_collate else None
        return collate(samples_at(dataset, index)) if batch is None else batch

    def _following(self, samples: Iterator[Any], index: Any) -> Any:
        if not self._reading.batched:
            return self._reading.collate(next(samples))
        batch = list(itertools.islice(samples, len(index)))
        if not batch or (self._reading.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._reading.collate(batch)


def _rows(dataset: Any, indices: list[Any]) -> list[Tensor] | None:
    """Return the collated samples at ``indices``, read at once, or None if the result might differ.

    This applies to rows of plain tensors outside the graph, at indices that are ints.
    """
    if set(map(type, indices)) != {int}:
        return None
    while type(dataset) is Subset:
        indices = [dataset.indices[index] for index in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or set(map(type, indices)) != {int}:
        return None
    if any(type(table) is not Tensor or table.requires_grad for table in dataset.tensors):
        return None
    rows = tensor(indices)
    return [table[rows].contiguous() for table in dataset.tensors]


class _BaseDataLoaderIter(Iterator[Any]):
    """One pass over the data set of a loader."""
