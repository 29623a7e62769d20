"""Arguments and results of the transforms: nested structures, ``argnums``, and checks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..autograd.checks import is_tensor

#: Position of one argument, or positions of several.
Argnums = int | tuple[int, ...]


def at_argnums(
    func: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[[Any], Any], Any]:
    """Return ``func(*args, **kwargs)`` as a function of the arguments at ``argnums``, and these arguments.

    For a tuple of positions, the function takes a tuple of arguments.

    Raises:
        RuntimeError: ``argnums`` is neither an int nor a tuple of distinct ints, or exceeds the number of arguments.
    """
    alone = isinstance(argnums, int)
    positions = _positions((argnums,) if alone else argnums, len(args))

    def function(given: Any) -> Any:
        arguments = list(args)
        for position, value in zip(positions, (given,) if alone else given, strict=True):
            arguments[position] = value
        return func(*arguments, **kwargs)

    found = tuple([args[position] for position in positions])
    return function, found[0] if alone else found


def _positions(argnums: Any, count: int) -> tuple[int, ...]:
    """Return a tuple of positions among ``count`` arguments, counted from the front."""
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    for argnum in argnums:
        if not isinstance(argnum, int):
            raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
        if not -count <= argnum < count:
            raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    positions = tuple([argnum % count for argnum in argnums])
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return positions


def split_aux(output: Any, has_aux: bool, caller: str) -> tuple[Any, Any]:
    """Return output and auxiliary output of a function that returns both with ``has_aux``.

    Raises:
        RuntimeError: the function did not return a pair.
    """
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{caller}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def check_outputs(leaves: list[Any], caller: str) -> None:
    """Raise unless there are outputs and all are tensors.

    Raises:
        RuntimeError: there are no outputs, or one is not a tensor.
    """
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{caller}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not is_tensor(leaf):
            raise RuntimeError(
                f"{caller}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


# -- nested structures ---------------------------------------------------------------------------------------
#
# Tuples, lists, dictionaries and named tuples of tensors are flattened and rebuilt.  Any other value, including None,
# is a leaf.


@dataclass(frozen=True)
class Structure:
    """Nesting of leaves.

    Attributes:
        container: the class of the tuple, list or dictionary; None for a leaf.
        keys: the keys of a dictionary, in order.
        parts: the structures of its elements, in order.
    """

    container: type | None = None
    keys: tuple[Any, ...] | None = None
    parts: tuple[Structure, ...] = ()

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.container is None else sum([part.count for part in self.parts])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the structure with these leaves, which must match it in number."""
        return self._take(iter(leaves))

    def _take(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves)
        parts = [part._take(leaves) for part in self.parts]
        if self.keys is not None:
            return self.container(zip(self.keys, parts, strict=True))
        return self.container(*parts) if hasattr(self.container, "_fields") else self.container(parts)

    def __str__(self) -> str:
        """Return the structure as a literal, with a star for each leaf."""
        if self.container is None:
            return "*"
        parts = [str(part) for part in self.parts]
        if self.keys is not None:
            text = "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(self.keys, parts, strict=True)]) + "}"
            return text if self.container is dict else f"{self.container.__name__}({text})"
        if hasattr(self.container, "_fields"):
            fields = [f"{name}={part}" for name, part in zip(self.container._fields, parts, strict=True)]
            return f"{self.container.__name__}({', '.join(fields)})"
        text = ", ".join(parts)
        if self.container is list:
            return f"[{text}]"
        return f"({text},)" if len(parts) == 1 else f"({text})"


_LEAF = Structure()


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of a nested structure, in order, and the structure."""
    leaves: list[Any] = []
    return leaves, _structure(tree, leaves)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same structure with the result of ``function`` for each leaf."""
    leaves, structure = flatten(tree)
    return structure.unflatten([function(leaf) for leaf in leaves])


def _structure(tree: Any, leaves: list[Any]) -> Structure:
    container = tree.__class__
    if container is dict or container is OrderedDict:
        return Structure(container, tuple(tree), tuple([_structure(part, leaves) for part in tree.values()]))
    if container is tuple or container is list or (isinstance(tree, tuple) and hasattr(container, "_fields")):
        return Structure(container, None, tuple([_structure(part, leaves) for part in tree]))
    leaves.append(tree)
    return _LEAF
