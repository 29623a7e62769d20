"""Sizes: PyTorch's text, and how many elements that is."""

from __future__ import annotations

from typing import Any

from ...core.display import counted
from .html import faint, framed


def html(size: Any) -> str:
    """The size as HTML."""
    return framed(repr(size), " ", faint(counted(size.numel(), "element")))
