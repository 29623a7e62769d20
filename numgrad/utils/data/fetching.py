"""How the samples that make a batch are read, in whichever process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.tensor import Tensor
from ...ops.creation.from_data import tensor
from .collate import default_collate
from .dataset import IterableDataset, Subset, TensorDataset, samples_at

__all__ = ["Fetcher", "Reading"]


@dataclass(frozen=True)
class Reading:
    """How a loader reads: from which data set, and what makes a batch.

    Attributes:
        collate: makes a batch from a list of samples or, if not ``batched``, converts a sample.
        batched: whether samples are read in batches.
        drop_last: whether to leave out a last batch with fewer samples, where samples follow one another.
    """

    dataset: Any
    collate: Callable[[Any], Any]
    batched: bool
    drop_last: bool

    @property
    def iterable(self) -> bool:
        """Whether samples follow one another, without indices."""
        return isinstance(self.dataset, IterableDataset)


class Fetcher:
    """One pass over a data set."""

    def __init__(self, reading: Reading):
        self._reading = reading
        self._samples = iter(reading.dataset) if reading.iterable else None

    def fetch(self, index: Any) -> Any:
        """The batch at some indices, or the sample at one; where there are no indices, the next, their number counts.

        Raises:
            StopIteration: there is no other.
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
    """What collating the samples at ``indices`` gives, read at once; None where that is not sure to be the same.

    It is for rows of plain tensors, outside the graph, at indices that are ints.
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
