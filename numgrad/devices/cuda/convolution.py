"""Convolutions on a GPU: they are copies of windows and products, for none has a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["correlation_launcher", "depthwise_launcher", "spread_products_launcher", "window_products_launcher"]


def depthwise_launcher(
    name: str, type: Any, images: int, channels: int, multiplier: int, sizes: Sequence[int]
) -> None:
    """None: as those of any groups, they are products with windows; see the CPU's."""


def correlation_launcher(*layouts: Any) -> None:
    """None, like the next: see the CPU's."""


def spread_products_launcher(*layouts: Any) -> None:
    """None."""


def window_products_launcher(*layouts: Any) -> None:
    """None."""
