"""Views of a whole tensor, as it is."""

from __future__ import annotations

from ..._layout import Layout
from ..planned import planned

__all__ = ["alias", "primal_of"]


@planned("AliasBackward0", view=True, dims=())
def alias(input: Layout) -> tuple[Layout, int]:
    """The whole tensor as a view of itself."""
    return input, 0


@planned("ViewBackward0", view=True, dims=())
def primal_of(input: Layout) -> tuple[Layout, int]:
    """The same without its tangents, for forward mode."""
    return input, 0


primal_of.hides_tangents = True


@alias.gradient("input")
@primal_of.gradient("input")
def _(grad):
    return grad
