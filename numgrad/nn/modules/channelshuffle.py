"""Channel shuffling as a module."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Images whose channels are taken from the groups of channels in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
