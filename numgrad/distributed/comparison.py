"""Comparison of the ranks' calls, with ``NUMGRAD_DISTRIBUTED_DEBUG=1``, before each collective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..autograd.locations import Location
from .contact import named
from .groups import ProcessGroup
from .mpi import message
from .work import DistBackendError, Work

__all__ = ["compare"]

#: Bytes that describe a call: ranks exchange as many, whatever they call.
_LENGTH = 2048


def compare(
    group: ProcessGroup, work: Work, name: str, tensors: Sequence[Any], details: Mapping[str, Any], location: Location
) -> None:
    """Compare a call with those of the other ranks of the group.

    Raises:
        DistBackendError: they differ; raised on all ranks.
    """
    call = f"{name}({', '.join([*map(_described, tensors), *[f'{key}={value}' for key, value in details.items()]])})"
    own = f"{call}\n{location.brief}".encode()[:_LENGTH]
    every = np.zeros((group.size(), _LENGTH), np.uint8)
    every[group.rank(), : len(own)] = np.frombuffer(own, np.uint8)
    from_each = every[group.rank()].copy()
    work.start([group.communicator.Iallgather(message(from_each), message(every))])
    work.wait()
    ranks: dict[str, list[int]] = {}
    calls = []
    for rank, row in zip(group.ranks, every, strict=True):
        text = row.tobytes().rstrip(b"\0").decode(errors="replace")
        calls.append(text.partition("\n")[0])
        ranks.setdefault(text, []).append(rank)
    if len({*calls}) > 1:
        listed = "\n".join(f"  {named(same)}: {text.replace(chr(10), ' at ')}" for text, same in ranks.items())
        raise DistBackendError(f"the ranks differ in collective number {group.count} of {group}:\n{listed}")


def _described(tensor: Any) -> str:
    return f"{tensor.dtype} {list(tensor.shape)}"
