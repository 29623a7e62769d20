"""``torch.distributed.tensor``: descriptions of tensors that are spread over processes, for tables of libraries."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """A description of what a process has of a tensor; there are no tensors that are spread."""


@dataclass(frozen=True)
class Shard(Placement):
    """A part, along a dimension."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """A term of a sum, or of another reduction."""

    reduce_op: str = "sum"
