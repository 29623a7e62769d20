"""Forward mode: generation of a function that also computes the tangents of its values.

It differentiates functions in normal form, and also adjoints, whose tangents are products with the Hessian.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from numba import njit

from ..ops.table.op import parameters
from .analysis import Analysis, bound_array, shadow_of, target_of
from .cotangents import atom, indented
from .inference import is_array, is_floating, zero
from .normal import normal_form
from .partials import BINARY, CHOOSING, UNARY, Derivatives, base_of
from .procedures import call_of
from .source import Names, Refused, compiled, expression, index_text, placing, text


@dataclass
class TangentSource:
    """Source of a function with tangents.

    Its arguments are those of the function, followed by a tangent for each of ``inputs``; it returns the results of the
    function, followed by their tangents.
    """

    name: str
    source: str
    inputs: list[str]


class Forward:
    """Generator of the tangents of the function ``tree``, whose parameters ``by`` have tangents."""

    def __init__(
        self, tree: ast.FunctionDef, kinds: dict[str, Any], by: list[str], names: Names, same: list[tuple[str, str]],
        operations: Mapping[str, Any] = MappingProxyType({}), derivatives: Derivatives | None = None,
    ):
        self.tree, self.kinds, self.names = tree, kinds, names
        self.parameters = [each.arg for each in tree.args.args]
        self._stacks = _stacks(tree, kinds)
        self.facts = facts = Analysis(tree.body, kinds)
        for first, second in same:
            facts.aliases.share(first, second)
        for stack, owner in self._stacks.items():
            facts.aliases.share(stack, owner)
        facts.activate({facts.contents(each) if facts.is_array(each) else each for each in by}, None)
        self._tangents: dict[str, str] = {}
        #: Operations of the table that the source calls, and the rules that the tangents call, by their names.
        self.operations = operations
        #: Functions that the source calls, and those that the tangents call.
        self.derivatives = Derivatives(names, {}) if derivatives is None else derivatives
        self.namespace = self.derivatives.namespace
        self.rules: dict[str, Any] = {}
        #: Names of the results of calls, by the identity of the calls.
        self.results: dict[int, str] = {}

    def tangent_name(self, variable: str) -> str:
        """Return the name of the tangent of a name."""
        if variable not in self._tangents:
            self._tangents[variable] = self.names.fresh(f"{variable}_t")
        return self._tangents[variable]

    def _has_tangent(self, variable: str) -> bool:
        if variable in self._stacks:
            variable = self._stacks[variable]
        key = self.facts.contents(variable) if self.facts.is_array(variable) else variable
        return key in self.facts.active and is_floating(self.kinds.get(variable))

    def generate(self) -> TangentSource:
        """Return the function with tangents."""
        inputs = [each for each in self.parameters if self._has_tangent(each)]
        body = self._block(self.tree.body)
        head = [
            f"{self.tangent_name(each)} = {zero(self.kinds[each])}"
            for each in sorted(self.facts.active) if not each.startswith("#") and each not in self.parameters
        ]
        title = self.names.fresh(f"{self.tree.name}_tangents")
        parameters = [*self.parameters, *map(self.tangent_name, inputs)]
        source = f"def {title}({', '.join(parameters)}):\n" + "\n".join(indented([*head, *body])) + "\n"
        return TangentSource(title, source, inputs)

    def _block(self, block: list[ast.stmt]) -> list[str]:
        lines: list[str] = []
        for statement in block:
            with placing(statement):
                lines += self._statement(statement)
        return lines

    def _statement(self, statement: ast.stmt) -> list[str]:
        if isinstance(statement, ast.If):
            lines = [f"if {text(statement.test)}:", *indented(self._block(statement.body))]
            return lines + (["else:", *indented(self._block(statement.orelse))] if statement.orelse else [])
        if isinstance(statement, ast.For):
            body = [*self.of_counter(statement), *self._block(statement.body)]
            return [f"for {text(statement.target)} in {text(statement.iter)}:", *indented(body)]
        if isinstance(statement, ast.While):
            return [f"while {text(statement.test)}:", *indented(self._block(statement.body))]
        if isinstance(statement, ast.Return):
            return self._return(statement)
        if isinstance(statement, ast.Expr):
            call = call_of(statement)
            return self._procedure(call) if call else [text(statement), *self._stacked(statement)]
        if isinstance(statement, ast.Assign) and self._is_list(statement):
            variable = statement.targets[0].id  # type: ignore[attr-defined]
            again = [f"{self.tangent_name(variable)} = {text(statement.value)}"] if self._has_tangent(variable) else []
            return [text(statement), *again]
        if self.facts.is_binding(statement):
            return self._binding(statement)  # type: ignore[arg-type]
        target = target_of(statement)
        if target is None:
            return [text(statement)]
        return self._assignment(statement, target)  # type: ignore[arg-type]

    def _procedure(self, call: ast.Call) -> list[str]:
        """Return the call of a function that runs a procedure and computes its tangents."""
        arguments = [text(each) for each in call.args]
        moved = [position for position, each in enumerate(arguments) if self._has_tangent(each)]
        if not self._has_tangent(arguments[0]):
            return [text(call)]
        function = self.namespace[text(call.func)].py_func
        function_with_tangents = _tangents_of(function, tuple([self.kinds[each] for each in arguments]), tuple(moved))
        called = self.names.fresh(f"{function.__name__}_tangents")
        self.namespace[called] = function_with_tangents
        return [f"{called}({', '.join([*arguments, *[self.tangent_name(arguments[position]) for position in moved]])})"]

    def of_counter(self, loop: ast.For) -> list[str]:
        """Return the statement that clears the tangent of a loop's variable, if it holds a float elsewhere."""
        counter = text(loop.target)
        return [f"{self.tangent_name(counter)} = 0.0"] if self._has_tangent(counter) else []

    @staticmethod
    def _is_list(statement: ast.Assign) -> bool:
        return isinstance(statement.value, ast.List)

    def _stacked(self, statement: ast.Expr) -> list[str]:
        call = statement.value
        if isinstance(call, ast.Call) and text(call.func).endswith(".append"):
            stack, variable = call.func.value.id, call.args[0].id  # type: ignore[attr-defined]
            if self._has_tangent(variable):
                return [f"{self.tangent_name(stack)}.append({self.tangent_name(variable)})"]
        return []

    def _binding(self, statement: ast.Assign) -> list[str]:
        variable, value = statement.targets[0].id, statement.value  # type: ignore[attr-defined]
        lines = [text(statement)]
        if self._has_tangent(variable):
            if text(value).endswith(".pop()"):
                source = f"{self.tangent_name(value.func.value.id)}.pop()"  # type: ignore[attr-defined]
            elif (array := bound_array(value)) is not None:
                source = shadow_of(value, array, self.tangent_name(array))
            else:
                source = f"np.zeros_like({variable})"
            lines.append(f"{self.tangent_name(variable)} = {source}")
        return lines

    def _assignment(self, statement: ast.Assign | ast.AugAssign, target: ast.expr) -> list[str]:
        value = statement.value
        owner = target.id if isinstance(target, ast.Name) else target.value.id  # type: ignore[attr-defined]
        if not self._has_tangent(owner):
            return [text(statement)]
        shadow = expression(text(target))
        target_tangent = shadow_of(shadow, owner, self.tangent_name(owner))
        tangent = self.tangent(value)
        if isinstance(statement, ast.AugAssign):
            operation = {ast.Add: "+=", ast.Sub: "-="}[type(statement.op)]
            return [*([f"{target_tangent} {operation} {tangent}"] if tangent else []), text(statement)]
        return [f"{target_tangent} = {tangent or '0.0'}", text(statement)]

    def _return(self, statement: ast.Return) -> list[str]:
        value = statement.value
        values = value.elts if isinstance(value, ast.Tuple) else [value] if value is not None else []
        tangents = [
            self.tangent_name(text(each)) if self._has_tangent(text(each)) else
            f"np.zeros_like({text(each)})" if is_array(self.kinds.get(text(each))) else "0.0" for each in values
        ]
        returned = "".join(f"{text(each)}, " for each in values)
        return [f"return ({returned}), ({''.join(f'{each}, ' for each in tangents)})"]

    # -- tangents of expressions

    def tangent(self, node: ast.expr) -> str | None:
        """Return the source of the tangent of an expression; None for zero."""
        if isinstance(node, ast.Name):
            return self.tangent_name(node.id) if self._has_tangent(node.id) else None
        if not self.facts.is_active(node):
            return None
        if isinstance(node, ast.Subscript):
            owner = node.value.id  # type: ignore[attr-defined]
            return f"{self.tangent_name(owner)}[{index_text(node)}]" if self._has_tangent(owner) else None
        if isinstance(node, ast.UnaryOp):
            inner = self.tangent(node.operand)
            return inner if inner is None or isinstance(node.op, ast.UAdd) else f"-({inner})"
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        if isinstance(node, ast.IfExp):
            return self._choice(text(node.test), node.body, node.orelse)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise Refused(f"the derivative of {text(node)} is not known")

    def _choice(self, test: str, first: ast.expr, second: ast.expr) -> str | None:
        left, right = self.tangent(first), self.tangent(second)
        return None if left is None and right is None else f"({left or '0.0'} if {test} else {right or '0.0'})"

    def _arithmetic(self, node: ast.BinOp) -> str | None:
        of_left, of_right, x, y = self.tangent(node.left), self.tangent(node.right), atom(node.left), atom(node.right)
        if isinstance(node.op, ast.Add):
            return _sum(of_left, of_right)
        if isinstance(node.op, ast.Sub):
            return _sum(of_left, of_right and f"-({of_right})")
        if isinstance(node.op, ast.Mult) and x == y:
            return _product(of_left, f"(2.0 * {x})")
        if isinstance(node.op, ast.Mult):
            return _sum(_product(of_left, y), _product(of_right, x))
        if isinstance(node.op, ast.Div):
            return _sum(of_left and f"({of_left}) / {y}", _product(of_right, f"-({x} / {y}) / {y}"))
        if isinstance(node.op, ast.Pow):
            exponent: Any = node.right.value if isinstance(node.right, ast.Constant) else None
            if exponent in (0, 1):
                return of_left if exponent else None
            lower = f"({y} - 1)" if exponent is None else repr(exponent - 1)
            by_base = f"{y} * {x} ** {lower}" if exponent != 2 else f"2.0 * {x}"
            by_exponent = f"({x} ** {y} * math.log({x}) if {x} > 0.0 else 0.0)"
            return _sum(_product(of_left, by_base), _product(of_right, by_exponent))
        if isinstance(node.op, ast.Mod):
            return _sum(of_left, _product(of_right, f"-np.floor({x} / {y})"))
        if isinstance(node.op, ast.FloorDiv):
            return None
        raise Refused(f"the derivative of {text(node)} is not known")

    def _call(self, node: ast.Call) -> str | None:
        base, arguments = base_of(text(node.func)), node.args
        if text(node.func) in self.operations:
            return self._by_rules(node, self.operations[text(node.func)])
        if base in CHOOSING and len(arguments) >= 2:
            first = arguments[0]
            second = arguments[1] if len(arguments) == 2 else ast.Call(node.func, arguments[1:], [])
            return self._choice(f"{atom(first)} {CHOOSING[base]} {atom(second)}", first, second)
        if base in UNARY and len(arguments) == 1:
            factor = UNARY[base].format(u=atom(arguments[0]), v=text(node))
            return _product(self.tangent(arguments[0]), f"({factor})")
        if base in BINARY and len(arguments) == 2:
            a, b = map(atom, arguments)
            factors = [f"({each.format(a=a, b=b, v=text(node))})" for each in BINARY[base]]
            return _sum(*[_product(self.tangent(each), by) for each, by in zip(arguments, factors, strict=True)])
        if text(node.func) in self.namespace:
            total = None
            for position, each in enumerate(arguments):
                if (tangent := self.tangent(each)) is not None:
                    by = self.derivatives.by(text(node.func), position)
                    total = _sum(total, _product(tangent, f"{by}({', '.join(map(text, arguments))})"))
            return total
        raise Refused(f"the derivative of {text(node.func)} is not known")


    def _by_rules(self, node: ast.Call, op: Any) -> str | None:
        """Return the tangent of an operation of the table: its Jacobian is diagonal, so its rules map tangents, too."""
        values = {**op.attributes, **dict(zip(op.inputs, map(text, node.args), strict=True))}
        values["out"] = self.results.get(id(node)) or text(node)
        values |= {each.arg or "": text(each.value) for each in node.keywords}
        total = None
        for variable, argument in zip(op.inputs, node.args, strict=True):
            tangent = None if variable in op.nondifferentiable else self.tangent(argument)
            if tangent is not None:
                rule = op.rule(variable)
                called = f"{op.name}_by_{variable}"
                self.rules[called] = rule
                arguments = [tangent if each == "grad" else str(values[each]) for each in parameters(rule)]
                total = _sum(total, f"{called}({', '.join(arguments)})")
        return total


@functools.cache
def _tangents_of(function: Any, kinds: tuple[Any, ...], moved: tuple[int, ...]) -> Any:
    """Return a compiled function that runs a procedure for arguments of certain types, with tangents of some."""
    normal = normal_form(function, list(kinds), {})
    by = [normal.parameters[position] for position in moved]
    generated = Forward(normal.tree(), normal.kinds, by, normal.names, [], derivatives=normal.derivatives).generate()
    return njit(error_model="numpy")(compiled(generated.source, generated.name, normal.namespace))


def _sum(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return first or second
    return f"{first} + {second}" if not second.startswith("-") else f"{first} - {second[1:]}"


def _product(tangent: str | None, factor: str) -> str | None:
    return None if tangent is None else factor if tangent == "1.0" else f"({tangent}) * {factor}"


def _stacks(tree: ast.FunctionDef, kinds: dict[str, Any]) -> dict[str, str]:
    """Return the lists of arrays in an adjoint, each with the name of an array stored in it."""
    stacks = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            stacks[node.func.value.id] = node.args[0].id  # type: ignore[attr-defined]
    return stacks
