"""What programs do with the graph itself: ask for its edges, hook into it, decide how tensors are saved."""

from __future__ import annotations

from .node import Node

__all__ = ["Node"]
