"""What the transforms are given and what their functions return: which arguments are meant, and the checks."""

from __future__ import annotations

from typing import Any

from ..autograd.checks import is_tensor

#: One position among the arguments, or several.
Argnums = int | tuple[int, ...]


def wrapped(argnums: Any, count: int) -> Argnums:
    """``argnums`` counted from the front, of ``count`` positional arguments.

    Raises:
        RuntimeError: it is neither an int nor a tuple of different ints, or there are not as many arguments.
    """
    if isinstance(argnums, int):
        return _wrapped(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    result = tuple([_wrapped(argnum, count) for argnum in argnums])
    if len(set(result)) != len(result):
        raise RuntimeError(f"argnums elements must be unique, got {result}")
    return result


def _wrapped(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def chosen(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The argument that ``argnums`` means, or a tuple of them."""
    return args[argnums] if isinstance(argnums, int) else tuple([args[argnum] for argnum in argnums])


def replaced(args: tuple[Any, ...], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    """The arguments with ``new`` in place of what ``chosen`` gives."""
    result = list(args)
    if isinstance(argnums, int):
        result[argnums] = new
    else:
        for argnum, value in zip(argnums, new, strict=True):
            result[argnum] = value
    return tuple(result)


def split_aux(output: Any, has_aux: bool, caller: str) -> tuple[Any, Any]:
    """Output and auxiliary output of a function that returns both with ``has_aux``.

    Raises:
        RuntimeError: it does not.
    """
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{caller}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def check_outputs(leaves: list[Any], caller: str) -> None:
    """Raise unless there are outputs, and all are tensors.

    Raises:
        RuntimeError: there are none, or one is no tensor.
    """
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{caller}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not is_tensor(leaf):
            raise RuntimeError(
                f"{caller}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
