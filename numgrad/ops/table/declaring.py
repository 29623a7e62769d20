"""Decorators that declare pointwise operations: the function of scalars, and rules for where its operand is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .callables import function_of, in_place
from .elementwise import Pointwise
from .op import Rule, attach, enter
from .op import export as export_as


def pointwise(
    node: str, *, inplace: bool | None = None, export: bool = True, entered: bool = True, **declared: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function of scalars to make it an operation on tensors.

    Args:
        node: name of the node class.
        inplace: whether there is an in-place method, too; by default unless the result is bool.
        export: whether ``numgrad`` exports the function and Tensor has the method.
        entered: whether the operation is one of the table, and not a user's own.
        declared: see ``Pointwise``.

    The result is the public function.  It has ``gradient``, to declare rules with, ``op``, the table's entry, and
    ``scalar_function``, the text of which goes into kernels of other operations that call it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        op = Pointwise(function, node, **declared)
        if entered:
            enter(op)
        call: Any = function_of(op)
        call.__doc__ = function.__doc__
        call.op = op
        call.gradient = op.gradient
        call.scalar_function = function
        if export:
            export_as(op.name, call)
        if inplace or (inplace is None and op.result != "bool"):
            call.inplace = in_place(op)
            if export:
                attach(op.name + "_", call.inplace)
        return call

    return decorate


def by_result(call: Any) -> Callable[[Rule], Rule]:
    """Decorate the rule of the pointwise operation ``call`` for where its one operand is gone.

    The operation's own rule takes the operand and the result.  This one takes the result alone: in place, where the
    operand is overwritten, and where it was changed since.
    """

    def register(rule: Rule) -> Rule:
        op = call.op
        other = op.recorded_by(*op.node)
        other.rules, other.rules_of, other.complex_entry = {op.inputs[0]: rule}, {}, None
        call.inplace = in_place(other.with_own_entries())
        attach(f"{op.name}_", call.inplace)
        op.of_result = other
        return rule

    return register
