"""``torch.jit``: functions and modules passed to ``script`` or ``trace`` remain Python code.

A warning states this once.  Functions that require TorchScript itself, above all its files, raise an error.
"""

from __future__ import annotations

import builtins
import contextlib
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from .compiler import warn_once
from .nn.modules.module import Module

__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate",
    "enable_onednn_fusion", "export", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing",
    "isinstance", "load", "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing",
    "script_method", "trace", "trace_module", "unused", "wait",
]

Final = typing.Final


class ScriptModule(Module):
    """A base class for modules of programs; it adds nothing, as scripted modules are not of this class."""

    @property
    def original_name(self) -> str:
        """The name of the class."""
        return type(self).__name__


class ScriptFunction:
    """A class of which there are no objects: scripted functions stay functions."""


class TracerWarning(Warning):
    """A warning that programs filter, and that nothing issues."""


class Error(RuntimeError):
    """An error in TorchScript, which nothing raises."""


_AS_IT_IS = "torch.jit: numgrad compiles each operation; what is scripted or traced runs as it is, in Python"


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the function, class or module unchanged.  Modules get an attribute: ``original_name``, their class's."""
    warn_once(_AS_IT_IS)
    return _named(obj)


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the function or module unchanged, because its behaviour may depend on values, which a trace ignores."""
    warn_once(_AS_IT_IS)
    return _named(func)


def _named(obj: Any) -> Any:
    if builtins.isinstance(obj, Module):
        for module in obj.modules():
            vars(module).setdefault("original_name", type(module).__name__)
    return obj


def trace_module(mod: Module, inputs: Any, *args: Any, **kwargs: Any) -> Module:
    """Return the module unchanged."""
    warn_once(_AS_IT_IS)
    return mod


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged."""
    return fn


script_method = export = interface = script_if_tracing


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function unchanged, or a decorator that does so."""
    return drop if callable(drop) else lambda function: function


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged."""
    return fn


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged: the definition that follows under its name replaces it."""
    return func


_overload_method = _copy_to_script_wrapper = _overload


def freeze(mod: Module, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Module:
    """Return the module unchanged."""
    return mod


def optimize_for_inference(mod: Module, other_methods: Any = None) -> Module:
    """Return the module unchanged."""
    return mod


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value and its type."""

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return True if an object and its contents have a type such as ``list[int]``, or one of a tuple of types."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, element) for element in target_type)
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
    return container is None or all(isinstance(element, inner[0]) for element in obj)


def is_scripting() -> bool:
    """Return False: programs are always Python."""
    return False


def is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Do nothing."""


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Return a context manager without effect."""
    yield


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function immediately; :func:`wait` returns its result."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return the result of a call made by :func:`fork`."""
    return future


def save(m: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Raise an error, because there is no TorchScript.

    Raises:
        NotImplementedError: numgrad has no TorchScript; ``numgrad.save`` keeps a module's ``state_dict``.
    """
    raise NotImplementedError("numgrad has no TorchScript: save the module's state_dict() with save() instead")


def load(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Raise an error, because there is no TorchScript.

    Raises:
        NotImplementedError: numgrad has no TorchScript; ``numgrad.load`` reads a ``state_dict``.
    """
    raise NotImplementedError("numgrad has no TorchScript: load a state_dict() with load() instead")
