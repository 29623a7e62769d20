"""Backward step by step: recorded while the engine runs, and shown as text, as HTML and by a widget."""

from .steps import Steps, backward_steps

__all__ = ["Steps", "backward_steps"]
