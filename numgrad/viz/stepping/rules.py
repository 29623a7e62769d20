"""Text about a node's rules and the values saved for them."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.function_node import BackwardCFunction
from ...autograd.node import AccumulateGrad, Node
from ...autograd.saved import SavingNode
from ...autograd.views import CopySlices
from ...ops.table.elementwise import Pointwise
from ...ops.table.formulas import rule_formula
from ...ops.table.op import parameters
from ...ops.table.recording import OpNode, shown_name
from ..graph.boxes import acting_node

#: The number of lines of a user's backward that are shown.
LINES = 12


class Rule(NamedTuple):
    """The rule that computes the gradient of one input of a node.

    Attributes:
        input: the name of the input.
        function: the rule in the op table; None for a node that has none there.
        real: True if the rule is of real numbers only, so that conjugates are omitted.
        together: the names of all inputs whose gradients this one rule computes.
    """

    input: str
    function: Callable[..., Any] | None = None
    real: bool = False
    together: str = ""

    @property
    def formula(self) -> str | None:
        """The rule as written in the op table."""
        return None if self.function is None else rule_formula(self.function, self.real)

    @property
    def meaning(self) -> str | None:
        """The formula of the backward operation that the rule calls, if any: ``relu_backward(...) = ...``."""
        if self.function is None:
            return None
        for name in self.function.__code__.co_names:
            op = getattr(self.function.__globals__.get(name), "op", None)
            if isinstance(op, Pointwise) and op.inputs[0].startswith("grad"):
                return f"{name}({', '.join(parameters(op.function))}) = {rule_formula(op.function, self.real)}"
        return None


def rules_of(node: Node) -> list[Rule]:
    """Return the rule for each of the node's edges."""
    if isinstance(node, OpNode):
        return _rules_of_op(node)
    if isinstance(node, BackwardCFunction):
        return [Rule(name) for name in _inputs(node)]
    if isinstance(node, CopySlices) and isinstance(node.operation, Node):
        rules = rules_of(node.operation)
        if rules[0].function is None and len(rules) == 2:
            return [Rule("the tensor before"), Rule("what was written")]
        return [rules[node.index], *rules[: node.index], *rules[node.index + 1 :]]
    return [Rule(f"input {index}" if len(node.edges) > 1 else "input") for index in range(len(node.edges))]


def _rules_of_op(node: OpNode) -> list[Rule]:
    op: Any = node.op
    real = _is_real(node)
    names: Sequence[str] = op.inputs if isinstance(op, Pointwise) else op.differentiable
    if op.joint:
        rule, together = op.rules[names[0]], ", ".join(names)
        inputs = [f"{names[0]}[{index}]" for index in range(len(node.edges))] if op.sequence else names
        return [Rule(name, rule, real, together) for name in inputs]
    return [
        Rule(name) if edge is None else Rule(name, op.rules[name], real)
        for name, edge in zip(names, node.edges, strict=True)
    ]


def _is_real(node: Node) -> bool:
    """Return True if the node's result and the inputs that need a gradient are real."""
    outputs = [(node, 0), *[edge for edge in node.edges if edge is not None]]
    return not any(other.output(number).type.dtype.is_complex for other, number in outputs)


def saved_by(node: Node) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the saved values for a node's rules, by the names in the rules, and the names of values packed by hooks.

    Packed values are listed by name only, since unpacking may have side effects.  Both parts are empty if the node is
    freed, and the values are empty if one was changed in place: backward itself reports these errors.
    """
    node = acting_node(node)
    if not isinstance(node, SavingNode) or node.is_freed():
        return {}, ()
    names = node.names if isinstance(node, OpNode) else node.saved_names()
    packed = tuple([name for index, name in enumerate(names) if node.is_packed(index)])
    try:
        values = {name: node.unpack_one(index) for index, name in enumerate(names) if not node.is_packed(index)}
    except RuntimeError:
        return {}, packed
    if isinstance(node, OpNode):
        used = {name for rule in rules_of(node) if rule.function is not None for name in parameters(rule.function)}
        values.update({name: value for name, value in node.constants.items() if name in used})
        order = [*node.op.parameters, *values]
        values = {name: values[name] for name in sorted(values, key=order.index)}
    return values, packed


def attribute(node: Node, name: str) -> str:
    """Return the name, in the node's attributes and in pictures, of the value that its rules call ``name``."""
    return shown_name(name) if isinstance(acting_node(node), OpNode) else name


def gradient_names(node: Node) -> list[str]:
    """Return the names of the gradients of the node's outputs in its rules."""
    count = len(node.outputs)
    if isinstance(node, BackwardCFunction) and not node.function.boxed_grads_call:
        return _named(_backward_of(node.function), count)
    return ["grad"] if count == 1 else [f"grad[{number}]" for number in range(count)]


def remark(node: Node) -> str | None:
    """Return, for a node without formulas, the source of a user's backward, or a sentence."""
    if isinstance(node, OpNode | AccumulateGrad):
        return None
    if isinstance(node, BackwardCFunction):
        return _source(_backward_of(node.function))
    if isinstance(node, CopySlices):
        inner = node.operation.name() if isinstance(node.operation, Node) else "an operation"
        return (
            f"A part of this tensor was overwritten by {inner}: its rule computes the gradient of that part; that of "
            "the rest passes unchanged."
        )
    return " ".join((inspect.getdoc(type(node)) or "").partition("\n\n")[0].split()).replace("``", "")


def _backward_of(function: type[Function]) -> Callable[..., Any]:
    return function.backward if function.vjp is Function.vjp else function.vjp


@functools.cache
def _source(function: Callable[..., Any]) -> str:
    """Return the source of a function without decorators and docstring, truncated if it is long."""
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function))).rstrip()
        (definition,) = ast.parse(text).body
    except (OSError, TypeError, SyntaxError, ValueError):  # it was not read from a file or a cell
        return f"{function.__qualname__} returns the gradients."
    lines = text.split("\n")
    if isinstance(definition, ast.FunctionDef):
        start, body = definition.lineno - 1, definition.body
        if ast.get_docstring(definition) is not None and len(body) > 1:
            del lines[body[0].lineno - 1 : body[0].end_lineno]
        lines = lines[start:]
    return "\n".join([*lines[:LINES], "    ..."] if len(lines) > LINES else lines)


def _inputs(node: BackwardCFunction) -> list[str]:
    """Return the names of a Function's inputs that are tensors."""
    function = node.function
    names = _named(function.forward, node.input_count, function.setup_context is Function.setup_context)
    tensors = node.tensor_inputs or (True,) * len(names)
    return [name for name, is_tensor in zip(names, tensors, strict=True) if is_tensor]


def _named(function: Callable[..., Any], count: int, skip: bool = True) -> list[str]:
    """Return the names of ``count`` positional arguments of a function; ``skip`` omits the first, its context."""
    names: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{index}]" for index in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return [*names, *[f"argument {index}" for index in range(len(names), count)]][:count]
