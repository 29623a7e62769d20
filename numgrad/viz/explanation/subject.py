"""The tensor under explanation, and the objects of the process that are related to it."""

from __future__ import annotations

import functools
import gc
from collections.abc import Sequence
from typing import Any, TypeVar

from ...autograd import order
from ...autograd.node import AccumulateGrad, DeadEnd, Node
from ...autograd.saved import SavingNode
from ...tensors.tensor import Tensor


class Subject:
    """A tensor and its place in the graph.

    Attributes:
        tensor: the tensor.
        node: the node that made it, None for a leaf.
        trouble: the message of the error that its ``grad_fn`` raises, if any: a view may be unable to follow the change
            of its base.
        target: the node at which its gradient arrives, if there is one: ``node``, or a leaf's AccumulateGrad.
        number: the index of the tensor among the outputs of the target.
    """

    def __init__(self, tensor: Tensor):
        self.tensor = tensor
        self.node: Node | None = None
        self.trouble: str | None = None
        try:
            self.node = tensor.grad_fn
        except RuntimeError as error:
            self.trouble = str(error)
        weak = tensor._accumulator
        self.target: Node | None = self.node if self.node is not None or weak is None else weak()
        self.number = 0 if self.node is None else tensor.output_nr

    @functools.cached_property
    def users(self) -> list[Node]:
        """The live nodes that would send it a gradient."""
        if self.target is None:
            return []
        edge = (self.target, self.number)
        return [node for node in live_objects(Node) if edge in getattr(node, "edges", ())]

    def described(self) -> str:
        """Return a description that can begin a sentence."""
        if self.node is not None:
            origin = f"made by {self.node.name()}"
        elif self.tensor.requires_grad:
            origin = "a leaf"
        else:
            origin = "made by no recorded operation"
        return f"A {type(self.tensor).__name__.lower()} of {described(self.tensor)}, {origin}"


def described(tensor: Tensor) -> str:
    """Return the shape and dtype, and the GPU if the tensor is on one."""
    device = f" on {tensor.device}" if tensor.is_cuda else ""
    return f"shape {list(tensor.shape)}, {tensor._layout.type.dtype.name}{device}"


def described_best(tensors: Sequence[Tensor]) -> str:
    """Return a description, without the article, of one of several tensors on the same memory, preferably a base."""
    return Subject(min(tensors, key=Tensor._is_view)).described()[2:]


_Class = TypeVar("_Class")


def live_objects(cls: type[_Class]) -> list[_Class]:
    """Return all objects of a class in this process."""
    return [thing for thing in gc.get_objects() if issubclass(type(thing), cls)]


def others_on_memory(tensor: Tensor) -> list[Tensor]:
    """Return the other tensors that share a tensor's memory."""
    memory = tensor._storage
    saved_outputs = set()  # results that nodes have saved, which are invisible to the program
    for node in live_objects(SavingNode):
        saved: Any = getattr(node, "saved", None)
        if saved.__class__ is tuple:
            saved_outputs |= {id(value) for index, value in enumerate(saved) if node.saved_output(index) is not None}
    others = [other for other in live_objects(Tensor) if other is not tensor and id(other) not in saved_outputs]
    return [other for other in others if getattr(other, "_storage", None) is memory]


def nodes_behind(node: Node | None) -> tuple[list[Node], list[Tensor]]:
    """Return the nodes that backward would visit from this one, latest first, and the leaves that it would reach."""
    nodes = order.nodes_behind([] if node is None else [node])
    leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
    return [node for node in nodes if not isinstance(node, AccumulateGrad | DeadEnd)], leaves


#: The number of items listed before a list is cut off.
NAMED = 4


def listed(things: Sequence[Any]) -> str:
    """Return items as an enumeration for a sentence; repeated items are listed once with their count."""
    names = list(dict.fromkeys([str(thing) for thing in things]))
    counts = [sum(str(thing) == name for thing in things) for name in names]
    texts = [name if count == 1 else f"{name} ({count} times)" for name, count in zip(names, counts, strict=True)]
    if len(texts) > NAMED:
        return f"{', '.join(texts[:NAMED])} and {len(texts) - NAMED} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
