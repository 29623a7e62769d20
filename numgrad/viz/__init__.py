"""Seeing inside: pictures of the graph, and backward step by step."""

from .draw_graph import draw, node_mimebundle
from .drawing import Drawing
from .stepping import Steps, backward_steps

__all__ = ["Drawing", "Steps", "backward_steps", "draw", "node_mimebundle"]
