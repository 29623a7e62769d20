"""Convolutions where each filter sees one channel, on a GPU: they have no kernel of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["depthwise_launcher"]


def depthwise_launcher(
    name: str, type: Any, images: int, channels: int, multiplier: int, sizes: Sequence[int]
) -> None:
    """None: as those of any groups, they are products with windows; see the CPU's."""
