"""Seeing inside: pictures of the graph, backward step by step, and what is done printed as it is done."""

from .debugging import debug
from .draw_graph import draw
from .drawing import Drawing
from .stepping import Steps, backward_steps

__all__ = ["Drawing", "Steps", "backward_steps", "debug", "draw"]
