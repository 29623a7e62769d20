"""DataLoader: the samples of a data set in batches, once for each ``for`` loop over it."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ... import cuda
from ...random import Generator
from .collate import default_collate, default_convert, pinned
from .dataset import Dataset, IterableDataset
from .fetching import Fetcher, Reading, _BaseDataLoaderIter
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from .worker_info import get_worker_info

if TYPE_CHECKING:
    from .workers import WorkerIterator

__all__ = ["DataLoader", "get_worker_info"]

T = TypeVar("T", covariant=True)

#: The type of ``collate_fn``, for annotations.
_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]

#: Attributes that cannot be changed later, because other attributes depend on them.
_FIXED = frozenset({"batch_size", "batch_sampler", "dataset", "drop_last", "persistent_workers", "sampler"})

#: Default number of batches that a worker reads ahead.
_AHEAD = 2


class DataLoader(Generic[T]):
    """Iterable over batches of a data set's samples; the same seed gives the same batches as in PyTorch.

    Args:
        dataset: an object with ``__getitem__`` and ``__len__``, or an :class:`IterableDataset`.
        batch_size: the number of samples in a batch; None for single samples.
        shuffle: read the samples in a new random order each time.
        sampler: the indices to read, instead of ``shuffle``.
        batch_sampler: lists of indices, one for each batch, instead of ``batch_size``, ``shuffle``, ``sampler`` and
            ``drop_last``.
        num_workers: the number of processes that read batches ahead of their use; with 0, this process reads them.
        collate_fn: makes a batch from a list of samples, by default :func:`default_collate`; without batches, it is
            applied to each sample, by default :func:`default_convert`.
        pin_memory: place the tensors of batches in pinned memory, from which GPUs copy asynchronously (see
            :meth:`Tensor.to`); no effect without a GPU.
        drop_last: drop an incomplete last batch.
        timeout: seconds to wait for a worker's batch; 0 for no limit.
        worker_init_fn: called in each worker with its number before it reads anything.
        multiprocessing_context: the start method of workers, one of ``multiprocessing``'s contexts or its name.  By
            default, it is the one set by ``multiprocessing.set_start_method``, otherwise "fork" on Linux, and "spawn"
            in a process that has started MPI.
        generator: the source of random numbers for ``shuffle`` and for the seeds of workers.
        prefetch_factor: the number of batches that each worker reads ahead, by default 2.
        persistent_workers: keep the workers from one loop to the next.
        pin_memory_device: no effect: it is the current GPU.
        in_order: return batches in the order of the indices, regardless of which worker finishes first.

    A worker has a copy of the data set and its own generators: numgrad's and Python's are seeded with the loader's seed
    plus the worker's number, NumPy's with both.  Its kernels run on one thread.  Large tensors and arrays reach this
    process in shared memory, which is freed with the last of them.  Each worker reads an :class:`IterableDataset` from
    the beginning: use :func:`get_worker_info` to divide it.  A user-defined function that Numba runs on threads
    (``parallel=True``) cannot run in a forked worker; use "spawn" for it.

    Raises:
        ValueError: arguments exclude each other, or one is out of range.
        TypeError: ``multiprocessing_context`` is neither a context nor a name.

    Example:
        >>> import numgrad
        >>> from numgrad.utils.data import DataLoader, TensorDataset
        >>> data = TensorDataset(numgrad.arange(5))
        >>> [batch.tolist() for (batch,) in DataLoader(data, batch_size=2)]
        [[0, 1], [2, 3], [4]]
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
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            for name, option in {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}.items():
                if option is not None and option is not False:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={option}"
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
        self.prefetch_factor = _AHEAD if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.collate_fn = collate_fn
        self._workers: WorkerIterator | None = None  # persistent workers

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
        """Return the number of batches, or of samples without batches.

        Raises:
            TypeError: the data set has no length.
        """
        return len(self._index_sampler)

    def __iter__(self) -> Iterator[Any]:
        pins = self.pin_memory and _has_gpu()
        if self.pin_memory and not pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
                "be used.",
                UserWarning,
                stacklevel=2,
            )
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self, pins)
        if self._workers is not None and self._workers.close.alive:
            self._workers.restart()
            return self._workers
        started = self._started(pins)
        if self.persistent_workers:
            self._workers = started
        return started

    def _started(self, pins: bool) -> WorkerIterator:
        """Start the workers and return their iterator."""
        workers = _workers()
        iter(self._index_sampler)  # as in PyTorch, because this may draw random numbers
        job = workers.Job(self._reading, draw_seed(self.generator), self.num_workers, self.worker_init_fn)
        return workers.WorkerIterator(
            job, self._index_sampler, workers.context_of(self.multiprocessing_context), ahead=self.prefetch_factor or 0,
            timeout=self.timeout, in_order=self.in_order, pins=pins, keeps=self.persistent_workers,
        )  # fmt: skip

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _reading(self) -> Reading:
        return Reading(self.dataset, self.collate_fn, self.batch_sampler is not None, self.drop_last)


def _has_gpu() -> bool:
    return cuda.is_available()


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One pass over the data set of a loader, in this process."""

    def __init__(self, loader: DataLoader[Any], pins: bool):
        self._loader = loader
        self._pins = pins
        # In PyTorch's order, because each of these may draw random numbers.
        self._indices = iter(loader._index_sampler)
        draw_seed(loader.generator)  # PyTorch draws the workers' seed even without workers
        self._fetcher = Fetcher(loader._reading)

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        """Return the next batch, or sample; after an exception in making it, continue with the one after it."""
        batch = self._fetcher.fetch(next(self._indices))
        return pinned(batch) if self._pins else batch


class _Endless(SequentialSampler):
    """Endless sampler for data without indices: the data end the iteration, and may have a length."""

    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(0)


def _check_workers(
    num_workers: Any, timeout: Any, prefetch_factor: Any, persistent_workers: Any, context: Any
) -> None:
    """Raise ValueError or TypeError for arguments that are out of range, or meaningless without workers."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError(f"timeout option should be non-negative, not {timeout}")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor option should be non-negative, not {prefetch_factor}")
    if num_workers and prefetch_factor == 0:
        raise ValueError("prefetch_factor option should be positive where there are workers, not 0")
    if num_workers:
        _check_count(num_workers)
        if context is not None:
            from .workers import context_of  # as above

            context_of(context)
        return
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


def _check_count(num_workers: int) -> None:
    """Warn if there are more workers than cores available to this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores is not None and num_workers > cores:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total, and there are {cores} cores: with "
            "more workers than cores, loading may be slower, not faster",
            UserWarning,
            stacklevel=4,
        )


def _workers() -> ModuleType:
    from . import workers  # loaders without workers do not need multiprocessing

    return workers


def __getattr__(name: str) -> Any:
    if name == "_MultiProcessingDataLoaderIter":
        return _workers().WorkerIterator
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
