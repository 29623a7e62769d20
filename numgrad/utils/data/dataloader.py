"""DataLoader: the samples of a data set in batches, once for each ``for`` loop over it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ...core.tensor import Tensor
from ...ops.creation.from_data import tensor
from ...random import Generator
from .collate import default_collate, default_convert, pinned
from .dataset import Dataset, IterableDataset, Subset, TensorDataset, samples_at
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "get_worker_info"]

T = TypeVar("T", covariant=True)

#: What cannot be exchanged once the loader is made, because other attributes were made from it.
_FIXED = frozenset({"batch_size", "batch_sampler", "dataset", "drop_last", "persistent_workers", "sampler"})


def get_worker_info() -> None:
    """None, as in PyTorch's main process, which is the one that data is always loaded in."""
    return None


class DataLoader(Generic[T]):
    """Batches of a data set's samples; for the same seed, those of PyTorch.

    Args:
        dataset: an object with ``__getitem__`` and ``__len__``, or an :class:`IterableDataset`.
        batch_size: samples in a batch; None to get the samples themselves.
        shuffle: whether to read the samples in a new random order each time.
        sampler: the indices to read, in place of ``shuffle``.
        batch_sampler: lists of indices, one for each batch, in place of ``batch_size``, ``shuffle``, ``sampler`` and
            ``drop_last``.
        num_workers: 0: the data is loaded in this process.
        collate_fn: makes a batch from a list of samples, by default :func:`default_collate`; without batches it is
            applied to each sample, by default :func:`default_convert`.
        pin_memory: whether the tensors in batches lie in pinned memory, from which GPUs copy while the program goes on
            (see :meth:`Tensor.to`); without a GPU that is of no consequence.
        drop_last: whether to leave out a last batch with fewer samples.
        timeout, worker_init_fn, multiprocessing_context, prefetch_factor, persistent_workers, pin_memory_device,
            in_order: for the sake of programs that name them; they only mean something with workers or a GPU.
        generator: the source of random numbers for ``shuffle``.

    Raises:
        ValueError: arguments exclude each other, or one is out of range.
    """

    def __init__(
        self,
        dataset: Dataset[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_single_process(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for name, given in {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}.items():
                if given is not None and given is not False:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _Endless(dataset)  # type: ignore[arg-type]
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.__dict__.update(
            dataset=dataset, batch_size=batch_size, drop_last=drop_last, sampler=sampler, batch_sampler=batch_sampler,
            persistent_workers=persistent_workers,
        )
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.collate_fn = collate_fn

    dataset: Dataset[T]
    batch_size: int | None
    drop_last: bool
    sampler: Any
    batch_sampler: Any
    persistent_workers: bool

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self) -> int:
        """The number of batches (of samples, without batches).

        Raises:
            TypeError: the data set has no length.
        """
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and not _has_gpu():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
                "be used.",
                UserWarning,
                stacklevel=2,
            )
        return _BatchIterator(self)


def _has_gpu() -> bool:
    from ... import cuda  # for few loaders need to know

    return cuda.is_available()


class _BatchIterator(Iterator[Any]):
    """One pass over the data set of a loader."""

    def __init__(self, loader: DataLoader[Any]):
        self._loader = loader
        self._collate = loader.collate_fn
        self._batched = loader.batch_sampler is not None
        self._pins = loader.pin_memory and _has_gpu()
        # In PyTorch's order, because each of these may draw random numbers.
        self._indices = iter(loader.batch_sampler if self._batched else loader.sampler)
        draw_seed(loader.generator)  # for PyTorch's workers, even if there are none
        self._samples = iter(loader.dataset) if isinstance(loader.dataset, IterableDataset) else None

    def __iter__(self) -> _BatchIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        """The next batch, or sample; if making it raised an exception, the one after it comes next."""
        index = next(self._indices)
        batch = self._chosen(index) if self._samples is None else self._following(self._samples, index)
        return pinned(batch) if self._pins else batch

    def _chosen(self, index: Any) -> Any:
        """The batch at some indices, or the sample at one."""
        dataset, collate = self._loader.dataset, self._collate
        if not self._batched:
            return collate(dataset[index])
        batch = _rows(dataset, index) if collate is default_collate else None
        return collate(samples_at(dataset, index)) if batch is None else batch

    def _following(self, samples: Iterator[Any], index: Any) -> Any:
        """The next batch, or sample, where samples follow one another; of the indices only the number matters."""
        if not self._batched:
            return self._collate(next(samples))
        batch = list(itertools.islice(samples, len(index)))
        if not batch or (self._loader.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self._collate(batch)


class _Endless(SequentialSampler):
    """For data without indices, which may have a length: a sampler that never ends, for data that itself ends."""

    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(0)


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


def _check_single_process(
    num_workers: Any, timeout: Any, prefetch_factor: Any, persistent_workers: Any, context: Any
) -> None:
    """Raise ValueError for arguments that ask for other processes."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if num_workers:
        raise ValueError(
            f"num_workers={num_workers}: numgrad's DataLoader loads the data in this process; use num_workers=0"
        )
    if timeout:
        raise ValueError(f"timeout={timeout}: there are no workers to wait for; use timeout=0")
    if prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing, with num_workers > 0")
    if persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
