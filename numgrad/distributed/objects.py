"""Collectives and messages of Python objects, which travel pickled.

As with all pickles, whoever sends an object can run code on the rank that receives it.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..core.types import int64, uint8
from ..ops.creation.factories import empty
from ..ops.creation.from_data import from_numpy, tensor
from ..tensors.tensor import Tensor
from .calls import member, rank_in
from .collectives import all_gather, broadcast, gather, scatter
from .groups import get_world_size
from .point_to_point import recv, send

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]


def _pickled(value: Any) -> Tensor:
    return from_numpy(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8))


def _unpickled(elements: Tensor) -> Any:
    return pickle.loads(elements.numpy().tobytes())


def _sizes(own: Tensor, group: Any) -> list[int]:
    """Return the number of elements of each rank's tensor."""
    sizes = [empty([1], dtype=int64) for _ in range(get_world_size(group))]
    all_gather(sizes, tensor([own.numel()]), group)
    return [size.item() for size in sizes]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all ranks into ``object_list``, which has one element per rank.

    Raises:
        ValueError: ``object_list`` has another length.
    """
    if member("all_gather_object", group) is None:
        return
    _check_length("object_list", object_list, group)
    own = _pickled(obj)
    gathered = [empty([size], dtype=uint8) for size in _sizes(own, group)]
    all_gather(gathered, own, group)
    object_list[:] = map(_unpickled, gathered)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Write the objects of all ranks into ``object_gather_list`` of rank ``dst``, by default 0.

    Raises:
        ValueError: ``object_gather_list`` does not have one element per rank on ``dst``, or is given on another rank.
    """
    found = member("gather_object", group)
    if found is None:
        return
    root = rank_in(found, "dst", dst, group_dst, 0)
    is_root = found.rank() == root
    if is_root:
        _check_length("object_gather_list", object_gather_list, group)
    elif object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    own = _pickled(obj)
    sizes = _sizes(own, group)
    gathered = [empty([size], dtype=uint8) for size in sizes] if is_root else None
    gather(own, gathered, group=group, group_dst=root)
    if gathered is not None and object_gather_list is not None:
        object_gather_list[:] = map(_unpickled, gathered)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Replace the objects in the list of each rank by those of rank ``src``, by default 0.

    Raises:
        ValueError: the lists have different lengths.
    """
    found = member("broadcast_object_list", group)
    if found is None:
        return
    root = rank_in(found, "src", src, group_src, 0)
    own = _pickled(object_list) if found.rank() == root else None
    size = tensor([0 if own is None else own.numel()])
    broadcast(size, group=group, group_src=root)
    elements = empty([size.item()], dtype=uint8) if own is None else own
    broadcast(elements, group=group, group_src=root)
    if own is None:
        _replace(object_list, _unpickled(elements))


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Write one object of the list of rank ``src``, by default 0, to the first element of each rank's output list.

    Raises:
        ValueError: the list on ``src`` does not have one object per rank, or an output list is empty.
    """
    found = member("scatter_object_list", group)
    if found is None:
        return
    if not scatter_object_output_list:
        raise ValueError("scatter_object_output_list must have an element")
    root = rank_in(found, "src", src, group_src, 0)
    parts, sizes = None, None
    if found.rank() == root:
        _check_length("scatter_object_input_list", scatter_object_input_list, group)
        parts = [_pickled(value) for value in scatter_object_input_list or ()]
        sizes = [tensor([part.numel()]) for part in parts]
    size = empty([1], dtype=int64)
    scatter(size, sizes, group=group, group_src=root)
    own = empty([size.item()], dtype=uint8)
    scatter(own, parts, group=group, group_src=root)
    scatter_object_output_list[0] = _unpickled(own)


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send the objects of a list to rank ``dst``."""
    elements = _pickled(object_list)
    send(tensor([elements.numel()]), dst, group, group_dst=group_dst)
    send(elements, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Receive the objects of a list from rank ``src``, by default from any, and return the number of the sender.

    Raises:
        ValueError: the lists have different lengths.
    """
    size = empty([1], dtype=int64)
    source = recv(size, src, group, group_src=group_src)
    if source < 0:
        return source
    elements = empty([size.item()], dtype=uint8)
    recv(elements, source, group)
    _replace(object_list, _unpickled(elements))
    return source


def _replace(objects: list[Any], received: list[Any]) -> None:
    if len(objects) != len(received):
        raise ValueError(f"object_list has {len(objects)} elements, and that of the sender has {len(received)}")
    objects[:] = received


def _check_length(name: str, values: Any, group: Any) -> None:
    if values is None or len(values) != get_world_size(group):
        raise ValueError(f"{name} must have one element for each of the {get_world_size(group)} ranks")
