"""Signatures of public functions as users call them, for ``help``, ``inspect.signature`` and editors.

A function that decides how a call is computed takes layouts, or a plan's tensors, where users pass tensors, and returns
the decision.  A public function is linked to it by ``__wrapped__``, as decorators do, but through an object that makes
the users' signature on demand: to make those of all operations at import takes too long.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ...core.layout import Layout
from ...devices import TensorRef
from ...tensors.tensor import Tensor
from .arguments import Argument, argument_types

#: Results of functions that return several tensors, and of functions that return one or several.
Several = Annotated[Any, tuple[Tensor, ...]]
OneOrSeveral = Annotated[Any, Tensor | tuple[Tensor, ...]]

_Call = TypeVar("_Call", bound=Callable[..., Any])


class _Link:
    """Link from a public function to the function that it calls.

    ``inspect.signature`` stops here, as there is a signature; ``inspect.unwrap`` continues.
    """

    __slots__ = ("__wrapped__", "_make")

    def __init__(self, function: Callable[..., Any], make: Callable[[Any], Signature]):
        self.__wrapped__, self._make = function, make

    @property
    def __signature__(self) -> Signature:
        return self._make(self.__wrapped__)


def linked(call: _Call, function: Callable[..., Any], make: Callable[[Any], Signature]) -> _Call:
    """Link a public function to the function that it calls; ``make(function)`` returns the signature."""
    vars(call).pop("__signature__", None)  # a copy of the function's own
    call.__wrapped__ = _Link(function, make)  # type: ignore[attr-defined]
    return call


def with_out(declared: Signature) -> Signature:
    """Return a signature with a parameter ``out`` for the tensor, or tensors, that receive the result."""
    result = declared.return_annotation
    if "out" in declared.parameters or ... in get_args(result) or result in (Any, bool):
        return declared
    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=result | None)
    parameters = [*declared.parameters.values()]
    position = len(parameters) - (bool(parameters) and parameters[-1].kind is Parameter.VAR_KEYWORD)
    return declared.replace(parameters=[*parameters[:position], out, *parameters[position:]])


def of_function(function: Callable[..., Any]) -> Signature:
    """Return the signature of a function that users could call themselves."""
    types = argument_types(function)
    for name, hint in get_type_hints(function, include_extras=True).items():
        if get_origin(hint) is Annotated:
            converted, declared, *_ = get_args(hint)
            if not isinstance(declared, Argument):
                types[name] = declared
            elif declared.accepted is Any:  # anything that can be converted
                types[name] = converted
    return _with_types(signature(function), lambda name: types.get(name, Any))


def of_decision(function: Callable[..., Any], results: Any, out: bool) -> Signature:
    """Return the signature of a public function, given the function that decides how a call is computed.

    Args:
        results: the class of named tuple that holds several results; None if there is only one.
        out: True if the function has a parameter ``out``.
    """
    declared = of_function(function)
    types = {name: _of_users(each.annotation) for name, each in declared.parameters.items()}
    result = declared.return_annotation
    if not _is_result(result):  # a decision
        result = Tensor if results is None else tuple[(Tensor,) * len(results._fields)]  # type: ignore[misc]
    declared = _with_types(declared, {**types, "return": _of_users(result)}.__getitem__)
    return with_out(declared) if out else declared


def of_operands(names: Sequence[str], attributes: Mapping[str, Any], out: bool) -> Signature:
    """Return the signature of a public function of a pointwise operation: operands after the first may be numbers."""
    operands = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=Tensor | complex if number else Tensor)
        for number, name in enumerate(names)
    ]
    numbers = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=complex)
        for name, default in attributes.items()
    ]
    declared = Signature([*operands, *numbers], return_annotation=Tensor)
    return with_out(declared) if out else declared


def _with_types(declared: Signature, type_of: Callable[[str], Any]) -> Signature:
    """Return a signature with other annotations: ``type_of(name)``, where "return" is the result."""
    parameters = [each.replace(annotation=type_of(each.name)) for each in declared.parameters.values()]
    return declared.replace(parameters=parameters, return_annotation=type_of("return"))


def _of_users(annotation: Any) -> Any:
    """Return the type that a user passes or receives where an operation has ``annotation``."""
    if annotation in (Layout, TensorRef):
        return Tensor
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return functools.reduce(operator.or_, map(_of_users, parts))
    if origin in (tuple, Sequence):
        return origin[*map(_of_users, parts)]
    return annotation


def _is_result(annotation: Any) -> bool:
    """Return True for the type of tensors, not of a decision such as a layout and an offset."""
    parts = get_args(annotation)
    return annotation in (Tensor, TensorRef, ...) or (bool(parts) and all(map(_is_result, parts)))
