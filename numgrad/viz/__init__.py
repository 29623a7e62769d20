"""Seeing inside: pictures of the graph."""

from .draw_graph import draw, node_mimebundle
from .drawing import Drawing

__all__ = ["Drawing", "draw", "node_mimebundle"]
