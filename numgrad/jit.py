"""``torch.jit``: functions and modules that programs have it script or trace stay what they are, Python.

That is said once.  What needs TorchScript itself, its files above all, is refused.
"""

from __future__ import annotations

import builtins
import contextlib
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from .compiler import told_once
from .nn.modules.module import Module

__all__ = [
    "Attribute", "Final", "ScriptModule", "annotate", "enable_onednn_fusion", "export", "fork", "freeze", "ignore",
    "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "optimized_execution",
    "save", "script", "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait",
]

Final = typing.Final
ScriptModule = Module

_AS_IT_IS = "torch.jit: numgrad compiles each operation; what is scripted or traced runs as it is, in Python"


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, class or module as it is."""
    told_once(_AS_IT_IS)
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The function or module as it is: what it does may depend on values, which a trace forgets."""
    told_once(_AS_IT_IS)
    return func


def trace_module(mod: Module, inputs: Any, *args: Any, **kwargs: Any) -> Module:
    """The module as it is."""
    told_once(_AS_IT_IS)
    return mod


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


script_method = export = interface = script_if_tracing


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function as it is, or a decorator that returns it so."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is."""
    return fn


def freeze(mod: Module, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Module:
    """The module as it is."""
    return mod


def optimize_for_inference(mod: Module, other_methods: Any = None) -> Module:
    """The module as it is."""
    return mod


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value and its type."""

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether the object is of a type, or one of a tuple of types, and so is all that is in it: ``list[int]``, say."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    container, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if container in (typing.Union, types.UnionType):
        return isinstance(obj, inner)
    kind: Any = container or target_type or types.NoneType
    if not builtins.isinstance(obj, kind):
        return False
    if container is tuple and inner[1:] != (...,):
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    if container is dict:
        return all(isinstance(key, inner[0]) and isinstance(value, inner[1]) for key, value in obj.items())
    return container is None or all(isinstance(one, inner[0]) for one in obj)


def is_scripting() -> bool:
    """False: the program is Python."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing."""


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context without effect."""
    yield


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function at once; :func:`wait` gives its result."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """The result of what :func:`fork` called."""
    return future


def save(m: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Refused.

    Raises:
        NotImplementedError: numgrad has no TorchScript; ``numgrad.save`` keeps a module's ``state_dict``.
    """
    raise NotImplementedError("numgrad has no TorchScript: save the module's state_dict() with save() instead")


def load(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Refused.

    Raises:
        NotImplementedError: numgrad has no TorchScript; ``numgrad.load`` reads a ``state_dict``.
    """
    raise NotImplementedError("numgrad has no TorchScript: load a state_dict() with load() instead")
