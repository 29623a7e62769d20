"""Views of a whole tensor, as it is."""

from __future__ import annotations

from ..._tensor import Tensor
from ..table import operation
from .views import view_of

__all__ = ["alias", "primal_of"]


@operation("AliasBackward0", view=True, dims=())
def alias(input: Tensor) -> Tensor:
    """The whole tensor as a view of itself."""
    return view_of(input, input._layout.shape, input._layout.strides)


@operation("ViewBackward0", view=True, dims=())
def primal_of(input: Tensor) -> Tensor:
    """The same without its tangents, for forward mode."""
    return view_of(input, input._layout.shape, input._layout.strides)


primal_of.hides_tangents = True


@alias.gradient("input")
@primal_of.gradient("input")
def _(grad):
    return grad
