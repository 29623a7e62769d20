"""Derivatives of functions of arrays that Numba compiles, by transformation of their source.

A function passes through these modules: ``inlining`` (its calls, with ``structure`` for control flow), ``lowering``
(array expressions to loops, with ``elements`` and ``array_calls``), ``normal`` (loops), ``analysis`` and ``storing``
(facts and decisions).  ``reverse`` and ``forward`` write derivatives, ``program`` compiles them, and ``recording`` puts
calls into the graph.
"""

from .decorator import differentiable
from .derivative import derivative
from .vectorize import vectorize

__all__ = ["derivative", "differentiable", "vectorize"]
