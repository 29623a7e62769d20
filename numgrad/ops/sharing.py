"""Tensors on the same memory: which may not be written to from one another."""

from __future__ import annotations

from .._tensor import Tensor
from .batches import is_mapped

__all__ = ["check_apart", "check_overlap", "overlaps"]


def overlaps(target: Tensor, source: Tensor) -> bool:
    """Whether two tensors share a part of their memory without being the same elements in the same order."""
    if target._storage is not source._storage or source is target:
        return False
    same = (target._offset, target._layout.shape, target._layout.strides) == (
        source._offset, source._layout.shape, source._layout.strides,
    )
    return not same and _share(target, source)


def check_overlap(target: Tensor, source: Tensor) -> None:
    """Raise if writing to ``target`` would change elements of ``source`` that are still to be read.

    Raises:
        RuntimeError: the two share a part of their memory without being the same elements.
    """
    if overlaps(target, source):
        raise _error(target, source)


def check_apart(target: Tensor, *sources: Tensor) -> None:
    """Raise if an element of a source lies where the target is written to; under ``vmap`` all is read first.

    Raises:
        RuntimeError: one does.
    """
    for source in sources:
        if source._storage is target._storage and not is_mapped(target) and _share(target, source):
            raise _error(target, source)


def _share(target: Tensor, source: Tensor) -> bool:
    """Whether two tensors on the same storage have elements in common."""
    low, high = _extent(target)
    start, stop = _extent(source)
    return low < stop and start < high and target._layout.type.backend.share_elements(target, source)


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The stretch of storage that a tensor's elements lie in."""
    reach = sum((extent - 1) * step for extent, step in zip(tensor._layout.shape, tensor._layout.strides, strict=True))
    return tensor._offset, tensor._offset + reach + 1


def _error(target: Tensor, source: Tensor) -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        f"memory location (shapes {list(source.shape)} and {list(target.shape)}). Please clone() the tensor "
        "before performing the operation."
    )
