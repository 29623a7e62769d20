"""Decorators that declare pointwise operations: the function of scalars, and rules that need only the result."""

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
        inplace: if True, define an in-place method, too; by default, do so unless the result is bool.
        export: if True, export the function from ``numgrad`` and attach the method to Tensor.
        entered: if True, enter the operation into the table; False for a user's own operation.
        declared: see ``Pointwise``.

    The result is the public function.  Its attribute ``gradient`` declares rules, ``op`` is the table's entry, and
    ``scalar_function`` is the function whose text goes into the kernels of other operations that call it.
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
    """Decorate the rule of the pointwise operation ``call`` that needs only the result.

    The operation's own rule takes the operand and the result.  This one takes the result alone.  It serves in-place
    calls, which overwrite the operand, and operands that were changed after the call.
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
