"""Sampler for the share of a data set's indices that one of several processes reads."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from ... import distributed
from ...random import Generator
from .sampler import Sampler, permutation

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index of a data set, starting at ``rank``, in PyTorch's order for the same seed.

    All shares have the same length: if the indices do not divide evenly, the first are repeated, or the last dropped.

    Args:
        dataset: the data set, of which only the length is used.
        num_replicas: the number of processes that share the indices, by default all.
        rank: the number of this process among them.
        shuffle: read the indices in random order, a different one for each epoch set by :meth:`set_epoch`.
        seed: the seed of that order, which must be the same in all processes.
        drop_last: drop the last indices instead of repeating the first.

    Raises:
        RuntimeError: ``num_replicas`` or ``rank`` is not given, and mpi4py is not installed.
        ValueError: one is not given, and there is no process group; or ``rank`` is not in [0, num_replicas - 1].

    Example:
        >>> import numgrad
        >>> list(numgrad.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if (num_replicas is None or rank is None) and not distributed.is_available():
            raise RuntimeError("Requires distributed package to be available: without it, give num_replicas and rank")
        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            indices = permutation(count, Generator().manual_seed(self.seed + self.epoch))
        else:
            indices = list(range(count))
        return iter([indices[position % count] for position in range(self.rank, self.total_size, self.num_replicas)])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Use the order of this epoch from the next iteration on."""
        self.epoch = epoch
