"""Channel shuffling as a module."""

from __future__ import annotations

from .. import functional
from .module import CallsFunction

__all__ = ["ChannelShuffle"]


class ChannelShuffle(CallsFunction, function=functional.channel_shuffle):
    """Images whose channels are taken from the groups of channels in turn."""

    _shown = ("groups=",)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)
