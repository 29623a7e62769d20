"""``torch.overrides``: calls of functions with objects whose classes define ``__torch_function__``.

numgrad's own functions do not look for this method.  A library that lets others override its functions checks its
arguments by :func:`has_torch_function` and passes the call on by :func:`handle_torch_function`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ...tensors.tensor import Tensor

__all__ = [
    "get_ignored_functions", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "wrap_torch_function",
]


def is_tensor_like(inp: Any) -> bool:
    """Return True for a tensor, or an object whose class defines ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def _overriding(arguments: Iterable[Any]) -> list[Any]:
    """Return one argument of each class that overrides functions, subclasses before their bases."""
    found: list[Any] = []
    for argument in arguments:
        cls = type(argument)
        if hasattr(cls, "__torch_function__") and cls not in [type(other) for other in found]:
            position = next((n for n, other in enumerate(found) if issubclass(cls, type(other))), len(found))
            found.insert(position, argument)
    return found


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return True if the class of an argument defines ``__torch_function__``; numgrad's own classes do not."""
    return any(hasattr(type(argument), "__torch_function__") for argument in relevant_args)


def has_torch_function_unary(argument: Any) -> bool:
    """Return True if the class of the argument defines ``__torch_function__``."""
    return hasattr(type(argument), "__torch_function__")


def has_torch_function_variadic(*arguments: Any) -> bool:
    """Return True if the class of an argument defines ``__torch_function__``."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call ``__torch_function__`` of the classes of the arguments until one does not return ``NotImplemented``.

    Args:
        public_api: the function to override.
        relevant_args: the arguments whose classes may override it.
        args, kwargs: the arguments of the function.

    Raises:
        TypeError: no class overrides the function.
    """
    overriding = _overriding(relevant_args)
    types = tuple(map(type, overriding))
    for argument in overriding:
        result = type(argument).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: {[*types]}"
    )


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Callable[..., Any]]:
    """Return a decorator: calls go to overriding classes among the arguments that ``dispatcher`` returns."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return an empty set: see the module."""
    return set()


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return True for a method of tensors, or the getter of one of their attributes."""
    name = getattr(func, "__name__", "")
    return getattr(Tensor, name, None) is func or name == "__get__"
