"""What a hook for saved tensors may lose under ``vmap``: the places in the graph of the physical tensors.

The engine puts a tensor that a hook gives back in the place in the graph which the saved one had.  One that stands for
examples has further places, of the physical tensors below it, where what is outside of ``vmap`` is differentiated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._tensor import Tensor
from ..autograd.node import Edge, edge_of
from ..autograd.saved import put_in_graph
from .batches import Mapped, take_on

__all__ = ["Beneath", "beneath", "put_above"]


class Beneath(NamedTuple):
    """What derivatives outside of one level of ``vmap`` need of a physical tensor."""

    edge: Edge
    tangents: dict[Any, Tensor] | None


def beneath(tensor: Tensor) -> tuple[Beneath, ...]:
    """For each level of ``vmap``, the innermost first, the place of the physical tensor; empty if none has one."""
    found = []
    own = getattr(tensor, "_mapped", None)
    while own is not None:
        found.append(Beneath(edge_of(own.tensor), getattr(own.tensor, "_duals", None)))
        own = getattr(own.tensor, "_mapped", None)
    return tuple(found) if any(place.edge is not None or place.tangents for place in found) else ()


def put_above(tensor: Tensor, places: tuple[Beneath, ...]) -> None:
    """Give the physical tensors of one that a hook returned the places that :func:`beneath` found.

    Raises:
        RuntimeError: the tensor does not stand for examples as the saved one did.
    """
    if not places:
        return
    own = getattr(tensor, "_mapped", None)
    if own is None:
        raise RuntimeError(
            "A tensor that was saved under vmap depends on what is outside of it, but the unpack hook returned one "
            "that was not computed from it under vmap, so that derivatives outside of vmap would be lost."
        )
    physical = own.tensor._alias()
    place, *others = places
    if place.edge is not None:
        put_in_graph(physical, place.edge)
    if place.tangents is not None:
        physical._duals = place.tangents
    put_above(physical, tuple(others))
    take_on(tensor, Mapped(own.level, physical, own.batched))
