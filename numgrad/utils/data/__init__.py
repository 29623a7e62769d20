"""Data sets, samplers that define the reading order, and batches of samples."""

# ruff: noqa: F403, F405 - each file has an __all__

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from . import pipes as _pipes  # noqa: F401 - it adds methods to data pipes
from .collate import *
from .dataloader import *
from .datapipes import *
from .dataset import *
from .distributed import *
from .sampler import *

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe",
    "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "default_convert",
    "functional_datapipe", "get_worker_info", "random_split",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "utils.data")
