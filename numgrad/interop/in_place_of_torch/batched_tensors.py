"""``torch._C._functorch`` as far as libraries use it: questions about tensors in functions under ``vmap``."""

from __future__ import annotations

from typing import Any

from ...ops.batching.batches import is_batched, physical
from ...tensors.tensor import Tensor

__all__ = ["get_unwrapped", "is_batchedtensor", "is_legacy_batchedtensor", "maybe_get_bdim", "unwrap_if_dead"]

is_batchedtensor = is_batched


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """Return False: there is one kind of batches."""
    return False


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return the tensor with the elements of all examples, whose first dimension they are."""
    return physical(tensor)


def maybe_get_bdim(tensor: Tensor) -> int:
    """Return the dimension of the examples in the unwrapped tensor, or -1 for a tensor that stands for none."""
    return 0 if is_batched(tensor) else -1


def unwrap_if_dead(tensor: Tensor) -> Tensor:
    """Return the tensor."""
    return tensor
