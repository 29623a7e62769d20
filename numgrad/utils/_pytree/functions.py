"""Functions of trees: flattening, rebuilding, mapping and testing of leaves.

All take ``is_leaf``, a function that returns True for containers that count as leaves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any

from .keys import SequenceKey
from .nodes import SUPPORTED_NODES, node_type
from .specs import LeafSpec, TreeSpec

_IsLeaf = Callable[[Any], bool] | None

_LEAF = LeafSpec()


def tree_is_leaf(tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return True for a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: Any, is_leaf: _IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, in order, and its structure."""
    leaves: list[Any] = []

    def spec_of(tree: Any) -> TreeSpec:
        if tree_is_leaf(tree, is_leaf):
            leaves.append(tree)
            return _LEAF
        cls = node_type(tree)
        children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
        return TreeSpec(cls, context, [spec_of(child) for child in children])

    spec = spec_of(tree)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: _IsLeaf = None) -> Iterator[Any]:
    """Yield the leaves of a tree."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: _IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, in order."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: _IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of all arguments."""
    return [leaf for part in itertools.chain(args, kwargs.values()) for leaf in tree_iter(part)]


# -- mapping ----------------------------------------------------------------------------------------------------------


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Return the tree of the results of a function, called with each leaf and the parts at its place in the ``rests``.

    Raises:
        ValueError: one of the ``rests`` has not the structure of the tree.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Call a function as :func:`tree_map` does, without using its results, and return the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *[spec.flatten_up_to(rest) for rest in rests], strict=True):
        func(*arguments)
    return tree


def map_only(kinds: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator: the function is called with values of these classes only, and others are returned.

    ``kinds`` is a class, a tuple or union of classes, or a function that returns True for the values to call it with.
    """
    chosen = _chosen(kinds)
    return lambda func: lambda value: func(value) if chosen(value) else value


def _chosen(kinds: Any) -> Callable[[Any], bool]:
    if isinstance(kinds, type | tuple | UnionType):
        return lambda value: isinstance(value, kinds)
    if callable(kinds):
        return kinds
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """Return the tree with the results of a function for the leaves of these kinds; see :func:`map_only`."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: _IsLeaf = None) -> Any:
    """Call a function with the leaves of these kinds, and return the tree."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


# -- tests ------------------------------------------------------------------------------------------------------------


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return True if a function is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return True if a function is true for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return True if a function is true for all leaves of these classes."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kinds))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: _IsLeaf = None) -> bool:
    """Return True if a function is true for any leaf of these classes."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, kinds))


# -- paths ------------------------------------------------------------------------------------------------------------


def _with_paths(path: tuple[Any, ...], tree: Any, is_leaf: _IsLeaf) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[node_type(tree)]
    if node.flatten_with_keys_fn is None:
        pairs: Any = [(SequenceKey(index), child) for index, child in enumerate(node.flatten_fn(tree)[0])]
    else:
        pairs = node.flatten_with_keys_fn(tree)[0]
    for key, child in pairs:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: _IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the leaves of a tree, each with the keys that lead to it."""
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(
    tree: Any, is_leaf: _IsLeaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Return the leaves of a tree, each with the keys that lead to it, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: _IsLeaf = None) -> Any:
    """Return the tree of the results of a function, called as by :func:`tree_map`, with the keys to the leaf first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: _IsLeaf = None) -> list[Any] | None:
    """Return for each leaf of a structure the leaf of ``tree`` at its place or above it; None if they do not match."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    cls = node_type(tree)
    if treespec.is_leaf() or cls is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [
        _broadcast_to_and_flatten(child, spec, is_leaf)
        for child, spec in zip(children, treespec.children_specs, strict=True)
    ]
    return None if any(part is None for part in parts) else [leaf for part in parts for leaf in part or ()]
