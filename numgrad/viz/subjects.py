"""What a graph is to be drawn of: tensors, nodes, edges, or several of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..autograd.graph import GradientEdge
from ..autograd.node import DeadEnd, Node, edge_of
from ..core.tensor import Tensor, type_name
from .names import readable


class Root(NamedTuple):
    """Where a drawing begins.

    Attributes:
        node: the node whose graph is drawn.
        number: which output of the node it is.
        tensor: the tensor that was given, None for a node.
        name: what the caller calls it, if it was given in a dictionary.
    """

    node: Node
    number: int
    tensor: Tensor | None
    name: str | None


def roots_of(subject: Any) -> list[Root]:
    """The roots of the drawing of a subject.

    Raises:
        TypeError: it is, or has in it, something else than tensors, nodes and gradient edges.
        ValueError: it is empty, or a tensor requires no gradient.
    """
    if isinstance(subject, Mapping):
        named: list[tuple[str | None, Any, str]] = [
            (readable(str(name)), value, f"subject[{name!r}]") for name, value in subject.items()
        ]
    elif isinstance(subject, list | tuple) and not isinstance(subject, GradientEdge):
        named = [(None, value, f"subject[{place}]") for place, value in enumerate(subject)]
    else:
        return [_root(subject, None, "subject")]
    if not named:
        raise ValueError(f"there is nothing to draw: the {type(subject).__name__} is empty")
    return [_root(value, name, which) for name, value, which in named]


def _root(value: Any, name: str | None, which: str) -> Root:
    if isinstance(value, GradientEdge):
        return Root(value.node, value.output_nr, None, name)
    if isinstance(value, Node):
        return Root(value, 0, None, name)
    if not isinstance(value, Tensor):
        allowed = "a tensor, a node (grad_fn), a gradient edge, or a list, tuple or dictionary of these"
        raise TypeError(f"{which} must be {allowed}, not {type_name(value)}")
    edge = edge_of(value) if value.requires_grad else None
    if edge is None or isinstance(edge[0], DeadEnd):
        raise ValueError(
            f"{which} has no graph to draw: the tensor of shape {list(value.shape)}, {value.dtype}, does not "
            "require gradients, so nothing was recorded (numgrad.explain(tensor) says why)"
        )
    return Root(edge[0], edge[1], value, name)
