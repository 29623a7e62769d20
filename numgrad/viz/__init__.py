"""Views inside numgrad: pictures of graphs, backward step by step, and a trace of operations as they run."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later

__all__ = ["Drawing", "Steps", "backward_steps", "debug", "draw"]

if TYPE_CHECKING:
    from .debugging import debug
    from .graph.drawing import Drawing, draw
    from .stepping import Steps, backward_steps
else:  # numgrad.explain must not import the drawing code
    __getattr__, __dir__ = _found_later(globals(), "viz", {
        "Drawing": "graph.drawing", "Steps": "stepping", "backward_steps": "stepping", "debug": "debugging",
        "draw": "graph.drawing",
    })
