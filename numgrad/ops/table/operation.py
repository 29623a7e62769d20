"""Operations whose public function follows from their declaration.

``@operation(...)`` decorates the function that decides, as ``@planned(...)`` does, and exports the operation: that
which is called ``cumsum_op`` as ``numgrad.cumsum`` and ``Tensor.cumsum``.  Its parameters are PyTorch's, with PyTorch's
defaults, and their annotations say what users may give (see ``arguments``): of a ``Dim`` the function that decides is
given the dimension counted from the front, of ``Dims`` all of them in order, of a ``DType`` numgrad's own.  So is a
rule.  From these come NumPy's names for them, ``out=``, what is said of arguments that do not fit, and which arguments
``vmap`` has to shift.  Other operations call the entry itself, with arguments in that form and by position.

What PyTorch has in more than one form, by nodes of several names or as several operations, is declared by ``@planned``
and ``@lookup``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any

from .arguments import bind, declared_arguments
from .entries import Entry
from .lookup import lookup
from .op import parameters
from .planned import Planned


class Operation(Planned):
    """An operation with the public function that follows from its declaration, ``public``."""

    public: Callable[..., Any]

    def prepared(self, args: Sequence[Any], in_place: bool = False) -> Entry:
        if self.dims and len(args) <= max(map(self.parameters.index, self.dims)):
            raise TypeError(f"{self.name} must be given its dimensions {self.dims}")  # which defaults do not count so
        return super().prepared(args, in_place)


def operation(
    node: str,
    *,
    internal: Sequence[str] = (),
    order: Sequence[str] = (),
    export: bool = True,
    method: bool = True,
    in_place: bool = False,
    outside: Callable[..., Exception] | None = None,
    results: Any = None,
    **declared: Any,
) -> Callable[[Callable[..., Any]], Operation]:
    """Decorate the function that decides what a call comes to.

    Args:
        node: name of the node class.
        internal: parameters, the last ones, that users do not give.
        export: whether ``numgrad`` has the public function; ``nn.functional`` may, too.
        order: the parameters as users give them, where that is not the order in which rules do.
        method: whether there is a method of Tensor, too.
        in_place, outside, results: see ``lookup``.
        declared: see ``Planned``.
    """

    def decorate(decide: Callable[..., Any]) -> Operation:
        op = Operation(decide, node, **declared)
        op.prepare = _by_position(decide)
        resolve = _resolver(op, decide, [name for name in order or op.parameters if name not in internal])
        op.public = lookup(
            resolve, outside=outside, results=results, export=export, method=method, in_place=in_place
        )
        return op

    return decorate


def _by_position(decide: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with all arguments by position."""
    count, named = decide.__code__.co_argcount, parameters(decide)[decide.__code__.co_argcount :]
    if not named:
        return decide

    return lambda *args: decide(*args[:count], **dict(zip(named, args[count:], strict=False)))


def _resolver(op: Operation, decide: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """What says for what users give, by parameters of these names, which arguments of the operation that is."""

    @wraps(decide)
    def resolve(*args: Any, **keywords: Any) -> tuple[Operation, tuple[Any, ...]]:
        bound = bind(resolve, args, keywords)
        given = bound.arguments
        rank = len(given[op.parameters[0]].shape)
        for name, argument in declared_arguments(decide).items():
            if given[name] is None and bound.signature.parameters[name].default is not None:
                raise TypeError  # of which ``lookup`` says more
            given[name] = argument.normal(given[name], rank)
        return op, tuple([given[name] for name in op.parameters if name in given])

    resolve.__name__ = resolve.__qualname__ = op.name.removesuffix("_op")
    if tuple(names) != op.parameters:
        own = signature(decide)
        ordered = own.replace(parameters=[own.parameters[name] for name in names])
        resolve.__signature__ = ordered  # type: ignore[attr-defined]
    return resolve
