"""Structures of trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from .nodes import DICTIONARIES, SUPPORTED_NODES, node_type

__all__ = ["LeafSpec", "TreeSpec"]


class TreeSpec:
    """Structure of a tree: the class of its container, its context, and the structures of its children.

    Attributes:
        type: the class; None for a leaf.
        context: all else that is needed to rebuild the container, such as the keys of a dictionary.
        children_specs: the structures of the children.
        num_nodes, num_leaves, num_children: the number of containers and leaves, of leaves, and of children.
    """

    num_nodes: int
    num_leaves: int

    __slots__ = ("children_specs", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum([child.num_nodes for child in children_specs])
        self.num_leaves = 1 if type is None else sum([child.num_leaves for child in children_specs])

    def _key(self) -> tuple[Any, ...]:
        return self.type, self.context, self.children_specs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, tuple(self.children_specs)))  # the context may not be hashable

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = indent + 2
        children = f",\n{' ' * inner}".join([child.__repr__(inner) for child in self.children_specs])
        name = getattr(self.type, "__name__", self.type)
        return f"TreeSpec({name}, {self.context}, [{children}])"

    def is_leaf(self) -> bool:
        """Return True for the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return [*self.children_specs]

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return a tree of this structure with these leaves.

        Raises:
            ValueError: their number is another.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._taken(iter(leaves))

    def _taken(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._taken(leaves) for child in self.children_specs], self.context
        )

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the parts of a tree at the places of the leaves.

        Raises:
            ValueError: the tree has not this structure.
        """
        parts: list[Any] = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree: Any, parts: list[Any]) -> None:
        if self.type is None:
            parts.append(tree)
            return
        for child, spec in zip(self._children_of(tree), self.children_specs, strict=True):
            spec._collect(child, parts)

    def _children_of(self, tree: Any) -> list[Any]:
        """Return the children of a container, in the order of this structure."""
        cls = node_type(tree)
        if self.type in DICTIONARIES and cls in DICTIONARIES:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys).difference(tree), set(tree).difference(keys)
            if missing or extra:
                text = f"; missing key(s): {missing}" * bool(missing) + f"; extra key(s): {extra}" * bool(extra)
                raise ValueError(f"Node keys mismatch{text}.")
            return [tree[key] for key in keys]
        if cls is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {cls!r}.")
        children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if context != self.context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children


class LeafSpec(TreeSpec):
    """Structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])
