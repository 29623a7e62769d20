"""Derivatives of functions of arrays that Numba compiles, by transformation of their source.

A function passes through these modules: ``inlining`` expands its calls, with the control flow of ``structure``;
``lowering`` turns array expressions into loops, with ``elements`` and ``array_calls``; ``normal`` normalizes the loops;
``analysis`` collects facts, and ``storing`` decides which values are stored.  ``reverse`` and ``forward`` generate the
derivatives, ``program`` compiles them, and ``recording`` puts calls into the graph.

Functions of scalars need fewer modules: ``scalars`` converts a function to a formula, and ``derived`` computes the
formulas of its derivatives, with ``forward``.  ``vectorized`` makes an operation of the table from a formula, and
``derivatives`` a compiled function.
"""

from .decorator import differentiable
from .derivatives import derivative
from .vectorized import vectorize

__all__ = ["derivative", "differentiable", "vectorize"]
