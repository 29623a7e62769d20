"""Channel shuffling as a module."""

from __future__ import annotations

from .. import functional
from .module import CallsFunction

__all__ = ["ChannelShuffle"]


class ChannelShuffle(CallsFunction, function=functional.channel_shuffle):
    """Images whose channels are taken from the groups of channels in turn.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ChannelShuffle(2)(numgrad.arange(4).reshape(1, 4, 1)).flatten()
        tensor([0, 2, 1, 3])
    """

    _shown = ("groups=",)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)
