"""Batches in pinned memory, from which GPUs copy while the program goes on."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

__all__ = ["pinned"]


def pinned(batch: Any) -> Any:
    """A batch with all tensors in it in pinned memory, and whatever else has a method ``pin_memory``.

    Tensors are looked for in mappings and sequences, however nested.  A tuple without names becomes a list, as in
    PyTorch.
    """
    if isinstance(batch, str | bytes):
        return batch
    if isinstance(batch, Mapping):
        pairs = {key: pinned(value) for key, value in batch.items()}
        if isinstance(batch, MutableMapping):
            clone = copy.copy(batch)
            clone.update(pairs)
            return clone
        return pairs
    if isinstance(batch, tuple):
        items = [pinned(item) for item in batch]
        return type(batch)(*items) if hasattr(batch, "_fields") else items
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, Sequence):
        items = [pinned(item) for item in batch]
        if isinstance(batch, MutableSequence):
            same: Any = copy.copy(batch)
            for place, item in enumerate(items):
                same[place] = item
            return same
        return items
    return batch
