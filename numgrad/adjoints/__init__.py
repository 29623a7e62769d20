"""Derivatives of functions of arrays that Numba compiles, by transformation of their source.

A function passes through these modules: ``inlining`` (its calls, with ``structure`` for control flow), ``lowering``
(array expressions to loops, with ``elements`` and ``array_calls``), ``normal`` (loops), ``analysis`` and ``storing``
(facts and decisions).  ``reverse`` and ``forward`` write derivatives, ``program`` compiles them, and ``recording`` puts
calls into the graph.

A function of scalars takes a shorter way: ``scalars`` makes a formula of it, ``derived`` the formulas of its
derivatives, by ``forward``.  ``vectorized`` makes an operation of the table of a formula, ``derivatives`` a function.
"""

from .decorator import differentiable
from .derivatives import derivative
from .vectorized import vectorize

__all__ = ["derivative", "differentiable", "vectorize"]
