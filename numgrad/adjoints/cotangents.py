"""Cotangents of expressions: code that propagates the cotangent of a value to the operands of its expression."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .analysis import Analysis
from .partials import BINARY, CHOOSING, UNARY, Derivatives, base_of
from .source import Names, Refused, index_text, text


class Cotangents:
    """Source lines that propagate a cotangent, and the keys of the values that they read."""

    def __init__(self, facts: Analysis, names: Names, shadow: Callable[[str], str], derivatives: Derivatives):
        self.facts, self.names, self.shadow, self.derivatives = facts, names, shadow, derivatives
        self.lines: list[str] = []
        self.uses: set[str] = set()

    def use(self, node: ast.AST) -> None:
        """Record that the lines read the values in an expression."""
        self.uses |= self.facts.reads(node)

    def held(self, cotangent: str) -> str:
        """Assign a cotangent to a variable, so that several lines can use it, and return its name."""
        if cotangent.lstrip("-").isidentifier():
            return cotangent
        variable = self.names.fresh("t")
        self.lines.append(f"{variable} = {cotangent}")
        return variable

    def within(self, lines: list[str], head: str) -> None:
        """Add lines as the block of the statement ``head``, or ``pass`` if there are none."""
        self.lines += [head, *indented(lines or ["pass"])]

    def pass_on(self, node: ast.expr, cotangent: str) -> None:
        """Add lines that propagate the cotangent of an expression to the names and elements in it."""
        if not self.facts.is_active(node):
            return
        if isinstance(node, ast.Name):
            self.lines.append(f"{self.shadow(node.id)} += {cotangent}")
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            self.use(node.slice)
            self.uses.add(node.value.id)
            self.lines.append(f"{self.shadow(node.value.id)}[{index_text(node)}] += {cotangent}")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            self.pass_on(node.operand, cotangent if isinstance(node.op, ast.UAdd) else negative(cotangent))
        elif isinstance(node, ast.BinOp):
            self._arithmetic(node, cotangent)
        elif isinstance(node, ast.IfExp):
            self._choice(text(node.test), [node.test], [node.body, node.orelse], cotangent)
        elif isinstance(node, ast.Call):
            self._call(node, cotangent)
        else:
            raise Refused(f"the derivative of {text(node)} is not known")

    def _arithmetic(self, node: ast.BinOp, cotangent: str) -> None:
        left, right, operation = node.left, node.right, node.op
        both = self.facts.is_active(left) and self.facts.is_active(right)
        if isinstance(operation, (ast.Add, ast.Sub)):
            cotangent = self.held(cotangent) if both else cotangent
            self.pass_on(left, cotangent)
            self.pass_on(right, cotangent if isinstance(operation, ast.Add) else negative(cotangent))
        elif isinstance(operation, ast.Mult):
            if both and text(left) == text(right):
                self._by_factor(left, f"2.0 * {atom(left)}", [left], cotangent)
                return
            cotangent = self.held(cotangent) if both else cotangent
            self._by_factor(left, atom(right), [right], cotangent)
            self._by_factor(right, atom(left), [left], cotangent)
        elif isinstance(operation, ast.Div):
            self.use(right)
            quotient = f"{cotangent} / {atom(right)}"
            quotient = self.held(quotient) if both else quotient
            self.pass_on(left, quotient)
            self._by_factor(right, f"({atom(left)} / {atom(right)})", [left, right], negative(quotient))
        elif isinstance(operation, ast.Pow):
            self._power(node, cotangent, both)
        elif isinstance(operation, ast.Mod):
            cotangent = self.held(cotangent) if both else cotangent
            self.pass_on(left, cotangent)
            self._by_factor(right, f"np.floor({atom(left)} / {atom(right)})", [left, right], negative(cotangent))
        elif not isinstance(operation, ast.FloorDiv):
            raise Refused(f"the derivative of {text(node)} is not known")

    def _power(self, node: ast.BinOp, cotangent: str, both: bool) -> None:
        base, exponent = node.left, node.right
        cotangent = self.held(cotangent) if both else cotangent
        if isinstance(exponent, ast.Constant) and exponent.value == 2:
            self._by_factor(base, f"2.0 * {atom(base)}", [base], cotangent)
            return
        factor = f"{atom(exponent)} * {atom(base)} ** ({atom(exponent)} - 1)"
        self._by_factor(base, factor, [base, exponent], cotangent)
        logarithm = f"({text(node)} * math.log({text(base)}) if {atom(base)} > 0.0 else 0.0)"
        self._by_factor(exponent, logarithm, [base, exponent], cotangent)

    def _by_factor(self, node: ast.expr, factor: str, read: list[ast.expr], cotangent: str) -> None:
        if self.facts.is_active(node):
            for each in read:
                self.use(each)
            product = f"{cotangent} * {factor}"
            self.pass_on(node, product if isinstance(node, (ast.Name, ast.Subscript)) else self.held(product))

    def _choice(self, test: str, read: list[ast.expr], values: list[ast.expr], cotangent: str) -> None:
        for each in read:
            self.use(each)
        cotangent = self.held(cotangent)
        before, branches = self.lines, []
        for value in values:
            self.lines = []
            self.pass_on(value, cotangent)
            branches.append(self.lines)
        self.lines = before
        self.within(branches[0], f"if {test}:")
        if branches[1]:
            self.within(branches[1], "else:")

    def _call(self, node: ast.Call, cotangent: str) -> None:
        base, arguments = base_of(text(node.func)), node.args
        if base in CHOOSING and len(arguments) >= 2:
            first = arguments[0]
            second = arguments[1] if len(arguments) == 2 else ast.Call(node.func, arguments[1:], [])
            test = f"{atom(first)} {CHOOSING[base]} {atom(second)}"
            self._choice(test, [first, second], [first, second], cotangent)
        elif base in UNARY and len(arguments) == 1:
            argument, formula = arguments[0], UNARY[base]
            if "{v}" in formula or "{u}" in formula:
                self.use(argument)
            value = self.held(text(node)) if "{v}" in formula else ""
            factor = formula.format(u=atom(argument), v=value)
            if factor == "1.0":
                self.pass_on(argument, cotangent)
                return
            self._by_factor(argument, factor if "{" not in formula else f"({factor})", [], cotangent)
        elif base in BINARY and len(arguments) == 2:
            for each in arguments:
                self.use(each)
            cotangent = self.held(cotangent)
            value = self.held(text(node)) if "{v}" in "".join(BINARY[base]) else ""
            a, b = map(atom, arguments)
            for argument, formula in zip(arguments, BINARY[base], strict=True):
                self._by_factor(argument, f"({formula.format(a=a, b=b, v=value)})", [], cotangent)
        elif text(node.func) in self.derivatives.namespace:
            cotangent = self.held(cotangent)
            given = ", ".join(map(text, arguments))
            for position, argument in enumerate(arguments):
                if self.facts.is_active(argument):
                    by = self.derivatives.by(text(node.func), position)
                    self._by_factor(argument, f"{by}({given})", arguments, cotangent)
        else:
            raise Refused(f"the derivative of {text(node.func)} is not known")


def atom(node: ast.expr) -> str:
    """Return the source of an expression, in brackets unless it binds strongest."""
    plain = isinstance(node, (ast.Name, ast.Subscript, ast.Call, ast.Attribute)) or (
        isinstance(node, ast.Constant) and node.value >= 0  # type: ignore[operator]
    )
    return text(node) if plain else f"({text(node)})"


def negative(cotangent: str) -> str:
    """Return the source of the negative of a product or name."""
    return cotangent[1:] if cotangent.startswith("-") else f"-{cotangent}"


def indented(lines: list[str]) -> list[str]:
    """Return the lines, indented by one more level."""
    return [f"    {line}" for line in lines]
