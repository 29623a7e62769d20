"""Functions of scalars with control flow, as statements of a kernel's loop body.

A ``Formula`` is in normal form: its statements assign to names, ``if``, ``for ... in range`` and ``while`` contain
statements, and there is no ``return``.  In a kernel each floating-point value has the dtype that the kernel
computes in, while loop variables, counts and truth values keep their own types.  So each expression has a kind: "b" for
a truth value, "i" for an integer, "f" for a value of the kernel's dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import scalar
from .inline import Inliner, literals

#: Statements of a loop with a constant number of rounds that are written one round after the other.
_UNROLLED = 256

_KINDS = "bif"  # from the narrowest to the widest
_INTEGER = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_CONVERSIONS = {"int": "i", "float": "f", "float32": "f", "bool": "b", "round": "i"}


class FormulaError(TypeError):
    """Error in the statement ``node`` of a formula."""

    def __init__(self, reason: str, node: ast.AST):
        super().__init__(reason)
        self.node = node


@dataclass(frozen=True, eq=False)
class Formula:
    """Function of scalars in normal form.

    Attributes:
        parameters: the names of the parameters.
        body: the statements.
        results: the names of the results, one for each output of a kernel.
        functions: by their names in the text, the functions that it calls, which are those of ``scalar`` or have an
            attribute ``scalar_function``.
        truths: the names of functions that return truth values.
    """

    parameters: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    results: tuple[str, ...]
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    truths: frozenset[str] = frozenset()

    def kinds(self, operand_kind: str) -> dict[str, str]:
        """Return the kind of each name, the widest kind of its values, if the parameters have ``operand_kind``."""
        kinds = dict.fromkeys(self.parameters, operand_kind)
        assigned = list(_assignments(self.body))
        while True:
            before = dict(kinds)
            for name, value in assigned:
                kind = "i" if value is None else self.kind(value, kinds)
                kinds[name] = wider(kinds.get(name, kind), kind)
            if kinds == before:
                return kinds

    def kind(self, node: ast.expr, kinds: Mapping[str, str]) -> str:
        """Return the kind of an expression; names without a known kind count as truth values."""
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as value):
                return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"
            case ast.Name(id=name):
                return kinds.get(name, "b")
            case ast.Attribute():
                return "f"
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return "b"
            case ast.BoolOp(values=values):
                return wider(*[self.kind(value, kinds) for value in values])
            case ast.UnaryOp(operand=operand):
                return wider("i", self.kind(operand, kinds))
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int() | float() as exponent)) if exponent < 0:
                return "f"
            case ast.BinOp(left=left, op=op, right=right):
                kind = wider(self.kind(left, kinds), self.kind(right, kinds))
                return "f" if isinstance(op, ast.Div) else kind if isinstance(op, _INTEGER) else wider("i", kind)
            case ast.IfExp(body=body, orelse=orelse):
                return wider(self.kind(body, kinds), self.kind(orelse, kinds))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                if name in _CONVERSIONS:
                    return _CONVERSIONS[name]
                if name in ("min", "max", "abs"):
                    return wider(*[self.kind(each, kinds) for each in arguments])
                return "b" if name in self.truths else "f"
        raise FormulaError(f"{ast.unparse(node)} cannot be part of a kernel", node)

    def text(
        self, compute: np.dtype, arguments: Mapping[str, Any], outputs: Sequence[str], reserved: set[str]
    ) -> tuple[list[str], set[str]]:
        """Return statements that compute the elements ``<output>[@]``, and the functions of ``scalar`` they call.

        Args:
            compute: the dtype to compute in.
            arguments: for each parameter the name of a variable, or a number to write in its place.
            outputs: the names of the outputs.
            reserved: names that the statements must not assign to.

        Raises:
            FormulaError: a statement has no meaning in a kernel.
        """
        text = _FormulaText(self, compute, arguments, outputs, reserved)
        return text.lines, text.inliner.imports


def wider(*kinds: str) -> str:
    """Return the widest of these kinds."""
    return max(kinds, key=_KINDS.index)


def _assignments(block: Iterable[ast.stmt]) -> Iterable[tuple[str, ast.expr | None]]:
    """Iterate over the names that statements assign to, with the values; None for that of a loop."""
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.For(target=ast.Name(id=name)):
                yield name, None
        for part in ("body", "orelse"):
            yield from _assignments(getattr(statement, part, ()))


def _rounds(loop: ast.For) -> range | None:
    """Return the numbers of a loop that is written one round after the other, None if it is not."""
    bounds = loop.iter.args  # type: ignore[attr-defined]
    nodes = [node for part in loop.body for node in ast.walk(part)]
    jumps = any(isinstance(node, ast.Break | ast.Continue) for node in nodes)
    if jumps or loop.target.id in {name for name, _ in _assignments(loop.body)}:  # type: ignore[attr-defined]
        return None
    try:
        rounds = range(*[ast.literal_eval(bound) for bound in bounds])
    except (ValueError, TypeError):
        return None
    return rounds if len(rounds) * sum(isinstance(node, ast.stmt) for node in nodes) <= _UNROLLED else None


class _FormulaText:
    """Text of a formula in a kernel, with its statements ``lines``."""

    def __init__(
        self, formula: Formula, compute: np.dtype, arguments: Mapping[str, Any], outputs: Sequence[str],
        reserved: set[str],
    ):
        self.formula, self.compute = formula, compute
        compute_kind = {"b": "b", "i": "i", "u": "i"}.get(compute.kind, "f")
        self.kinds = formula.kinds(compute_kind)
        self._reserved = reserved | {"bool", "float", "float32", "int", "round", "abs", "range"}
        self.inliner = Inliner(compute, self._reserved)
        self.lines: list[str] = []
        self.indent = ""
        self.variables: dict[str, ast.expr] = {}
        assigned = {name for name, _ in _assignments(formula.body)}
        for name in formula.parameters:
            value = arguments[name]
            operand = ast.Name(value) if isinstance(value, str) else self._number(value, compute_kind)
            if name in assigned:
                operand = self._variable(name, operand)
            self.variables[name] = operand
        for name in self._undefined():
            self._variable(name, self._number(0, self.kinds[name]))
        self._block(formula.body)
        for name, output in zip(formula.results, outputs, strict=True):
            if self.kinds[name] == "f" and compute_kind != "f":
                reason = "the result for integers is not an integer: declare result='float'"
                raise FormulaError(reason, formula.body[-1])
            self.lines.append(f"{output}[@] = {ast.unparse(self.variables[name])}")

    def _undefined(self) -> list[str]:
        """Return the names that get their first value within a branch or loop.

        They begin as 0 for each element, as in other functions that Numba compiles: otherwise they could keep the
        previous element's value.
        """
        defined = set(self.formula.parameters)
        for statement in self.formula.body:
            if isinstance(statement, ast.Assign):
                defined.add(statement.targets[0].id)  # type: ignore[attr-defined]
        return [*dict.fromkeys(name for name, _ in _assignments(self.formula.body) if name not in defined)]

    def _variable(self, name: str, value: ast.expr) -> ast.Name:
        """Assign to the variable of a name."""
        target = self.variables.get(name)
        if target is None or (isinstance(target, ast.Name) and target.id.endswith("_i") and target.id[:-2] == name):
            target = self.variables[name] = ast.Name(self.inliner.fresh(f"{name}_" if name in self._reserved else name))
        assert isinstance(target, ast.Name)
        self._line(f"{target.id} = {ast.unparse(value)}")
        return target

    def _line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    # -- statements

    def _block(self, block: Iterable[ast.stmt]) -> None:
        for statement in block:
            try:
                self._statement(statement)
            except FormulaError:
                raise
            except TypeError as error:
                raise FormulaError(str(error), statement) from None

    def _within(self, block: Sequence[ast.stmt]) -> None:
        self.indent += "    "
        count = len(self.lines)
        self._block(block)
        if len(self.lines) == count:
            self._line("pass")
        self.indent = self.indent[:-4]

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._variable(name, self.value(value, self.kinds[name]))
            case ast.If(test=test, body=body, orelse=orelse):
                self._line(f"if {ast.unparse(self._test(test))}:")
                self._within(body)
                if orelse:
                    self._line("else:")
                    self._within(orelse)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                rounds = _rounds(statement)
                if rounds is not None:
                    self._unrolled(name, rounds, body)
                    return
                if any(self.formula.kind(each, self.kinds) == "f" for each in bounds):
                    raise FormulaError("the bounds of a loop must be integers: write int(...)", statement)
                limits = [ast.unparse(self.value(each, "i")) for each in bounds]
                variable = self.variables[name]
                self._line(f"for {ast.unparse(variable)} in range({', '.join(limits)}):")
                self._within(body)
            case ast.While(test=test, body=body):
                self._while(test, body)
            case ast.Break() | ast.Continue():
                self._line(ast.unparse(statement))
            case ast.Pass():
                pass
            case _:
                raise FormulaError(f"{ast.unparse(statement)} cannot be part of a kernel", statement)

    def _unrolled(self, name: str, rounds: range, body: Sequence[ast.stmt]) -> None:
        """Add the rounds of a loop one after the other: LLVM vectorises no loop over elements that contains another."""
        variable = self.variables[name]
        for number in rounds:
            self.variables[name] = ast.Constant(number)
            self._block(body)
        self.variables[name] = variable
        if rounds:
            self._line(f"{ast.unparse(variable)} = {rounds[-1]}")

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        start = len(self.lines)
        written = ast.unparse(self._test(test))
        if len(self.lines) == start:
            self._line(f"while {written}:")
            self._within(body)
            return
        before = ["    " + line for line in self.lines[start:]]  # what the test needs, in each round
        del self.lines[start:]
        self._line("while True:")
        self.lines += before
        self._line(f"    if not ({written}):")
        self._line("        break")
        self._within(body)

    # -- expressions

    def value(self, node: ast.expr, target: str) -> ast.expr:
        """Return an expression in the kernel's text, converted to a kind that is not narrower than its own."""
        kind = self.formula.kind(node, self.kinds)
        if isinstance(node, ast.Constant):
            return self._number(node.value, target)
        if isinstance(node, ast.IfExp):
            return ast.IfExp(self._test(node.test), self.value(node.body, target), self.value(node.orelse, target))
        computed = self._computed(node, kind)
        if kind == target:
            return computed
        return ast.Call(ast.Name(self.compute.name if target == "f" else "int"), [computed], [])

    def _number(self, value: Any, kind: str) -> ast.expr:
        if kind == "f":
            return literals(self.compute, ast.Constant(value))
        return ast.Constant(int(value) if kind == "i" else bool(value))

    def _computed(self, node: ast.expr, kind: str) -> ast.expr:
        """Return an expression of its own kind."""
        match node:
            case ast.Name(id=name):
                return self.variables[name]
            case ast.Attribute(value=ast.Name(id="np"), attr=attr):
                return self._number(getattr(np, attr), "f")
            case ast.Attribute(value=ast.Name(id=name), attr=("real" | "imag") as attr) if name in self.variables:
                return ast.Attribute(self.variables[name], attr)
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [left, *others]
                common = wider("i", *[self.formula.kind(each, self.kinds) for each in operands])
                first, *rest = [self.value(each, common) for each in operands]
                return ast.Compare(first, ops, rest)
            case ast.BoolOp(op=op, values=values):
                if kind != "b":
                    raise TypeError(f"{ast.unparse(node)} combines numbers: compare them, or write 'a if c else b'")
                return ast.BoolOp(op, [self._computed(value, "b") for value in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ast.UnaryOp(ast.Not(), self._test(operand))
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.value(operand, kind))
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(left, op, right, kind)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                return self._call(name, arguments, keywords, kind)
        raise TypeError(f"{ast.unparse(node)} cannot be part of a kernel")

    def _test(self, node: ast.expr) -> ast.expr:
        """Return the truth value of an expression."""
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self._test(value) for value in node.values])
        kind = self.formula.kind(node, self.kinds)
        value = self.value(node, kind)
        return value if kind == "b" else ast.Compare(value, [ast.NotEq()], [self._number(0, kind)])

    def _arithmetic(self, left: ast.expr, op: ast.operator, right: ast.expr, kind: str) -> ast.expr:
        if kind != "f":
            return ast.BinOp(self.value(left, kind), op, self.value(right, kind))
        if isinstance(op, _INTEGER):
            raise TypeError(f"'{ast.unparse(ast.BinOp(left, op, right))}' needs integers")
        if isinstance(op, ast.Pow):
            return self._finished(self.inliner.power(self._operand(left), self._operand(right)))
        first, second = self.value(left, "f"), self.value(right, "f")
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return self.inliner.scalar("floor_quotient" if isinstance(op, ast.FloorDiv) else "remainder", first, second)
        if isinstance(op, ast.Div):
            return self.inliner.quotient(first, second)
        return ast.BinOp(first, op, second)

    def _call(self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword], kind: str) -> ast.expr:
        if name in ("min", "max"):
            return self._chosen(ast.Lt() if name == "min" else ast.Gt(), arguments, kind)
        if name == "abs" and kind != "f":
            return ast.Call(ast.Name("abs"), [self.value(arguments[0], "i")], [])
        if name in _CONVERSIONS:
            return self._converted(name, arguments)
        function = scalar.abs if name == "abs" else self.formula.functions[name]
        inner = getattr(function, "scalar_function", None)
        if inner is None:
            return self.inliner.scalar(function.__name__, *[self.value(each, "f") for each in arguments])
        operands = dict(zip(_parameters(inner), map(self._operand, arguments), strict=False))
        operands |= {each.arg or "": self._operand(each.value) for each in keywords}
        defaults = {key: ast.Constant(value) for key, value in (inner.__kwdefaults__ or {}).items()}
        return self._inlined(inner, defaults | operands)

    def _inlined(self, function: Callable[..., Any], operands: Mapping[str, ast.expr]) -> ast.expr:
        start = len(self.inliner.statements)
        value = self.inliner.expand(function, operands)
        self._flush(start)
        return self._finished(value)

    def _flush(self, start: int) -> None:
        for statement in self.inliner.statements[start:]:
            self._line(statement)
        del self.inliner.statements[start:]

    def _finished(self, value: ast.expr) -> ast.expr:
        """Return an expression made by the inliner with its literals in the computing dtype."""
        self._flush(0)
        return literals(self.compute, value)

    def _operand(self, node: ast.expr) -> ast.expr:
        """Return an operand for the inliner, which may use it several times: a number or a variable."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
            return node
        if isinstance(node, ast.Name) and isinstance(self.variables[node.id], ast.Constant):
            return self.variables[node.id]
        return self._held(self.value(node, "f"))

    def _chosen(self, op: ast.cmpop, arguments: list[ast.expr], kind: str) -> ast.expr:
        """Return Python's ``min`` or ``max``: the first of the smallest, or largest, arguments."""
        best = self._held(self.value(arguments[0], kind))
        for each in arguments[1:]:
            other = self._held(self.value(each, kind))
            best = self._held(ast.IfExp(ast.Compare(other, [op], [best]), other, best))
        return best

    def _held(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Name):
            return value
        variable = self.inliner.fresh("value")
        self._line(f"{variable} = {ast.unparse(value)}")
        return ast.Name(variable)

    def _converted(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        (argument,) = arguments  # the number of digits of round() is not supported
        kind = self.formula.kind(argument, self.kinds)
        if name == "bool":
            return self._test(argument)
        value = self.value(argument, kind)
        if name == "float" or (name == "float32" and self.compute.name != "float64"):
            return self.value(argument, "f")
        if name == "float32":
            return ast.Call(ast.Name("float64"), [ast.Call(ast.Name("float32"), [self.value(argument, "f")], [])], [])
        if kind != "f":
            return value if kind == "i" else ast.Call(ast.Name("int"), [value], [])
        return ast.Call(ast.Name("int"), [self.inliner.scalar("round", value) if name == "round" else value], [])


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
