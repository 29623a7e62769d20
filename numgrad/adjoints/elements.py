"""Array expressions: their dimensions and dtypes, and loops that compute their elements."""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types
from numba.core.types.containers import BaseTuple

from .aliases import Aliases
from .hoisting import Hoister
from .inference import is_array
from .inlining import CallInliner
from .partials import BINARY, CHOOSING, UNARY, base_of
from .source import Refused, expression, indices_of, is_none, name, statements, text

#: Functions of numbers that are applied to each element of an array.
ELEMENTWISE = {*UNARY, *BINARY, *CHOOSING, "floor", "ceil", "trunc", "rint", "sign"}

#: Functions of numbers that return a truth value and are applied to each element of an array.
TESTS = {"isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not"}


_BITWISE = ast.BitAnd, ast.BitOr, ast.BitXor


class Elements(Hoister):
    """Parts of array expressions of statements whose names have the types ``kinds``.

    If ``broadcasts`` is True, axes of length one are broadcast; otherwise the lengths are checked to be equal, which
    makes the loops faster.
    """

    def __init__(self, inliner: CallInliner, kinds: dict[str, Any], broadcasts: bool):
        self.broadcasts = broadcasts
        self.inliner, self.names, self.namespace = inliner, inliner.names, inliner.namespace
        self.kinds = dict(kinds)
        for variable, value in self.namespace.items():
            if isinstance(value, np.ndarray):
                self.kinds[variable] = typeof(value)
        self.aliases = Aliases()
        self._views: dict[str, str] = {}  # source of the view that a generated name is bound to
        #: Names that stand for the elements of tuples, by the names of the tuples.
        self.tuples: dict[str, list[str]] = {}

    def rank(self, node: ast.expr) -> int:
        """Return the number of dimensions of the value of an expression whose parts are translated."""
        if isinstance(node, ast.Name):
            kind = self.kinds.get(node.id)
            if isinstance(kind, BaseTuple):
                raise Refused(f"the tuple '{node.id}' is not supported here")
            return self.kinds[node.id].ndim if is_array(kind) else 0
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Attribute) or not self.rank(node.value):
                return 0
            indices = [each for each in indices_of(node) if text(each) != "..." and not isinstance(each, ast.Slice)]
            return self.rank(node.value) + sum(1 if is_none(each) else -1 for each in indices)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
            return max(self.rank(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        if isinstance(node, ast.Call) and base_of(text(node.func)) in ELEMENTWISE | TESTS:
            return max(map(self.rank, node.args))
        return 0

    def is_test(self, node: ast.expr) -> bool:
        """Return True if the value of an expression is a truth value, or an array of them."""
        if isinstance(node, ast.Name):
            kind: Any = self.kinds.get(node.id)
            return (kind.dtype if is_array(kind) else kind) == types.boolean
        if isinstance(node, ast.BinOp):
            return self.is_test(node.left) and self.is_test(node.right) and isinstance(node.op, _BITWISE)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not) or (isinstance(node.op, ast.Invert) and self.is_test(node.operand))
        if isinstance(node, ast.Call):
            return base_of(text(node.func)) in TESTS
        return isinstance(node, (ast.Compare, ast.BoolOp))

    def elements_of(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the elements of a tuple or of the shape of an array; None for other values."""
        if isinstance(node, ast.Attribute) and node.attr == "shape" and (rank := self.rank(node.value)):
            return [ast.Subscript(node, ast.Constant(axis), ast.Load()) for axis in range(rank)]
        return node.elts if isinstance(node, ast.Tuple) else None

    def dtype(self, node: ast.expr) -> str:
        """Return the source of the dtype of an array expression."""
        if self.is_test(node):
            return "np.bool_"
        names = set()
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and (kind := self.kinds.get(each.id)) is not None:
                names.add(str(kind.dtype if is_array(kind) else kind))
            elif isinstance(each, ast.Constant) and isinstance(each.value, float):
                names.add("float64")
        numeric = [each for each in names if each.startswith(("float", "int", "uint", "bool"))]
        result = np.result_type(*map(np.dtype, numeric)) if numeric else np.dtype("float64")
        widened = [isinstance(each, ast.Div) or _makes_floats(each) for each in ast.walk(node)]
        if result.kind != "f" and any(widened):
            result = np.dtype("float64")
        return f"np.{result}" if result.kind != "b" else "np.bool_"

    def _new(self, stem: str, rank: int, dtype: str, layout: Any = "C") -> str:
        variable = self.names.fresh(stem)
        self.kinds[variable] = types.Array(getattr(types, dtype.removeprefix("np.").rstrip("_")), rank, layout)
        return variable

    def _bind(self, target: str, value: str, done: list[ast.stmt]) -> None:
        self.aliases.share(target, value)
        done.append(ast.Assign([name(target, store=True)], name(value)))

    def _loops(self, target: str, value: ast.expr, done: list[ast.stmt]) -> None:
        rank = self.kinds[target].ndim
        places = [self.names.fresh("ijklmn"[axis]) for axis in range(rank)]
        self._check_lengths([(target, rank), *self._arrays(value)], done)
        index = expression(f"{target}[{', '.join(places)}]")
        body: list[ast.stmt] = [ast.Assign([stored(index)], self._at(value, places))]
        done += self._nest(places, [f"{target}.shape[{axis}]" for axis in range(rank)], body)

    @staticmethod
    def _nest(places: list[str], lengths: list[str], body: list[ast.stmt]) -> list[ast.stmt]:
        for index, length in zip(reversed(places), reversed(lengths), strict=True):
            body = [ast.For(name(index, store=True), expression(f"range({length})"), body, [])]
        return body

    def _arrays(self, value: ast.expr) -> list[tuple[str, int]]:
        """Return the arrays whose elements an array expression combines, with their dimensions."""
        rank = self.rank(value)
        if isinstance(value, ast.Name) or not rank:
            return [(value.id, rank)] if rank else []  # type: ignore[attr-defined]
        parts = [each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]
        return list(dict.fromkeys(found for part in parts for found in self._arrays(part)))

    def _check_lengths(self, arrays: list[tuple[str, int]], done: list[ast.stmt]) -> None:
        """Add checks that no axis is broadcast, since the loops would read past the end of the shorter array."""
        if self.broadcasts:
            return
        first, rank = max(arrays, key=lambda each: each[1])
        for other, its in arrays:
            if other != first:
                for axis in range(1, its + 1):
                    done += statements(f"same_length({first}.shape[{rank - axis}], {other}.shape[{its - axis}])")

    def _at(self, value: ast.expr, places: list[str]) -> ast.expr:
        """Return an element of an array expression."""
        rank = self.rank(value)
        if not rank:
            return value
        if isinstance(value, ast.Name):
            index = places[-rank:]
            if self.broadcasts:
                index = [f"min({place}, {value.id}.shape[{axis}] - 1)" for axis, place in enumerate(index)]
            return expression(f"{value.id}[{', '.join(index)}]")
        new = copy.copy(value)
        for key, part in ast.iter_fields(value):
            if isinstance(part, ast.expr) and key != "func":
                setattr(new, key, self._at(part, places))
            elif isinstance(part, list):
                setattr(new, key, [self._at(each, places) if isinstance(each, ast.expr) else each for each in part])
        return new

    def _computed(self, value: ast.expr, done: list[ast.stmt]) -> str:
        """Compute an array expression; return the name of the new array."""
        rank = self.rank(value)
        variable = self._new("array", rank, self.dtype(value))
        shape = ", ".join(self._length(value, axis) for axis in range(rank))
        done += statements(f"{variable} = np.empty(({shape},), {self.dtype(value)})")
        self._loops(variable, value, done)
        return variable

    def _length(self, value: ast.expr, axis: int) -> str:
        """Return the length of an axis of an array expression: the first of its arrays' that is not one."""
        before = self.rank(value)
        lengths = [f"{own}.shape[{axis - before + its}]" for own, its in self._arrays(value) if axis >= before - its]
        found = lengths.pop()
        for each in reversed(lengths):
            found = f"({each} if {each} != 1 else {found})" if self.broadcasts else each
        return found

    def _named(self, value: ast.expr, before: list[ast.stmt]) -> str:
        return value.id if isinstance(value, ast.Name) else self._computed(value, before)

    def _viewed(
        self, source: str, array: str, rank: int, before: list[ast.stmt], layout: str = "A"
    ) -> ast.expr:
        view = self._new("part", rank, str(self.kinds[array].dtype), layout)
        before += statements(f"{view} = {source}")
        self.aliases.share(view, array)
        self._views[view] = source
        return name(view)


def _makes_floats(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and base_of(text(node.func)) not in {*CHOOSING, "abs", "sign"}


def stored(target: ast.expr) -> ast.expr:
    target = copy.copy(target)
    target.ctx = ast.Store()  # type: ignore[attr-defined]
    return target
