"""Arguments and results of the transforms: ``argnums``, auxiliary outputs, and checks."""

from __future__ import annotations

from collections.abc import Callable
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

    def function(differentiated: Any) -> Any:
        arguments = list(args)
        for position, value in zip(positions, (differentiated,) if alone else differentiated, strict=True):
            arguments[position] = value
        return func(*arguments, **kwargs)

    chosen = tuple([args[position] for position in positions])
    return function, chosen[0] if alone else chosen


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
