"""Array expressions as loops over elements.

Afterwards a statement assigns a scalar, an element, or binds a name to an array: another name, a view, a new array.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
from numba import typeof
from numba.core import types
from numba.core.types.containers import BaseTuple

from .inference import is_array
from .inlining import Hoister, Inliner, indices_of
from .library import LIBRARY
from .partials import BINARY, CHOOSING, CONSTANT, UNARY, base_of
from .source import Refused, assign, expression, index_text, located, name, placing, statements, text
from .structure import flag_of

#: Functions that make an array whose elements do not depend on the values of their arguments.
CREATED = {"np.empty", "np.zeros", "np.ones", "np.empty_like", "np.zeros_like", "np.ones_like", "np.eye", "np.identity"}

#: Functions that make an array of integers, or of numbers that are constants.
OPAQUE = {"np.argsort", "np.arange", "np.linspace"}

_ELEMENTWISE = {*UNARY, *BINARY, *CHOOSING, "floor", "ceil", "trunc", "rint", "sign", "isnan", "isinf", "isfinite"}

_METHODS = {
    "sum", "mean", "prod", "max", "min", "dot", "copy", "astype", "ravel", "flatten", "reshape", "transpose", "argmax",
    "argmin", "argsort", "any", "all", "cumsum", "var", "std", "trace",
}

_REDUCTIONS = {
    "np.sum": "sum", "np.mean": "mean", "np.prod": "prod", "np.max": "max", "np.min": "min", "np.amax": "max",
    "np.amin": "min", "sum": "sum", "np.any": "any", "np.all": "all", "np.var": "var", "np.std": "std",
}


class Lowering(Hoister):
    """Translation of statements whose names have the types ``kinds``."""

    def __init__(self, inliner: Inliner, kinds: dict[str, Any]):
        self.inliner, self.names, self.namespace = inliner, inliner.names, inliner.namespace
        self.kinds = dict(kinds)
        for own, value in self.namespace.items():
            if isinstance(value, np.ndarray):
                self.kinds[own] = typeof(value)
        self._roots: dict[str, str] = {}  # of names that may refer to the same memory
        self._views: dict[str, str] = {}  # source of the view that a name of ours is bound to

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """Translate a block."""
        done: list[ast.stmt] = []
        for statement in block:
            with placing(statement):
                start = len(done)
                self._statement(statement, done)
                for each in done[start:]:
                    located(each, statement)
        return done

    def _body(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return self.block(block) or [ast.Pass()]

    # -- what expressions are

    def rank(self, node: ast.expr) -> int:
        """Return the number of dimensions of the value of an expression whose parts are translated."""
        if isinstance(node, ast.Name):
            kind = self.kinds.get(node.id)
            if isinstance(kind, BaseTuple):
                raise Refused(f"the tuple '{node.id}' is not supported")
            return self.kinds[node.id].ndim if is_array(kind) else 0
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Attribute) or not self.rank(node.value):
                return 0
            return self.rank(node.value) - sum(not _keeps(each) for each in indices_of(node) if text(each) != "...")
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
            return max(self.rank(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        if isinstance(node, ast.Call) and base_of(text(node.func)) in _ELEMENTWISE:
            return max(map(self.rank, node.args))
        return 0

    def dtype(self, node: ast.expr) -> str:
        """Return the source of the dtype of an array expression."""
        found = set()
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and (kind := self.kinds.get(each.id)) is not None:
                found.add(str(kind.dtype if is_array(kind) else kind))
            elif isinstance(each, ast.Constant) and isinstance(each.value, float):
                found.add("float64")
        known = [each for each in found if each.startswith(("float", "int", "uint", "bool"))]
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return "np.bool_"
        made = np.result_type(*[np.dtype(each) for each in known]) if known else np.dtype("float64")
        if made.kind != "f" and any(isinstance(each, (ast.Div, ast.Call)) for each in ast.walk(node)):
            made = np.dtype("float64")
        return f"np.{made}" if made.kind != "b" else "np.bool_"

    def _new(self, wanted: str, rank: int, dtype: str) -> str:
        own = self.names.fresh(wanted)
        self.kinds[own] = types.Array(getattr(types, dtype.removeprefix("np.").rstrip("_")), rank, "A")
        return own

    def root(self, own: str) -> str:
        """Return the representative of the names that may refer to the same memory."""
        while own in self._roots:
            own = self._roots[own]
        return own

    def _share(self, one: str, other: str) -> None:
        one, other = self.root(one), self.root(other)
        if one != other:
            self._roots[one] = other

    # -- statements

    def _statement(self, statement: ast.stmt, done: list[ast.stmt]) -> None:
        if isinstance(statement, ast.Assign):
            self._assignment(statement.targets[0], statement.value, done, statement)
        elif isinstance(statement, ast.AugAssign):
            target = copy.copy(statement.target)
            target.ctx = ast.Load()
            if isinstance(target, ast.Subscript):
                target = self._place(target, done)
                target.ctx = ast.Load()
            whole = located(ast.BinOp(target, statement.op, statement.value), statement)
            if self.rank(target):
                goal = target if isinstance(target, ast.Subscript) else expression(f"{text(target)}[...]")
                self._elements(goal, whole, done)  # type: ignore[arg-type]
            elif isinstance(target, ast.Subscript) and isinstance(statement.op, (ast.Add, ast.Sub)):
                value = self.rewrite(statement.value, done)
                done.append(ast.AugAssign(_stored(target), statement.op, value))  # type: ignore[arg-type]
            else:
                done.append(ast.Assign([_stored(target)], self.rewrite(whole, done)))
        elif isinstance(statement, ast.If):
            test = self.rewrite(statement.test, done)
            done.append(ast.If(test, self._body(statement.body), self.block(statement.orelse)))
        elif isinstance(statement, ast.For):
            bounds = self.rewrite(statement.iter, done)
            done.append(ast.For(statement.target, bounds, self._body(statement.body), []))
        elif isinstance(statement, ast.While):
            before: list[ast.stmt] = []
            test = self.rewrite(statement.test, before)
            if before:
                done += self.repeated(before, test, self._body(statement.body), statement, flag_of(statement))
            else:
                done.append(ast.While(test, self._body(statement.body), []))
        else:
            done.append(statement)

    def _assignment(self, target: ast.expr, value: ast.expr, done: list[ast.stmt], at: ast.stmt) -> None:
        if isinstance(target, ast.Subscript):
            target = self._place(target, done)
            if self.rank(target):
                self._elements(target, value, done)
            else:
                value = self.rewrite(value, done)
                done.append(ast.Assign([target], value))
            return
        assert isinstance(target, ast.Name)
        start = len(done)
        value = self.rewrite(value, done)
        rank = self.rank(value)
        if not rank:
            done.append(ast.Assign([target], value))
        elif not isinstance(value, ast.Name):
            self._bind(target.id, self._computed(value, done), done)
        else:
            last = done[-1] if len(done) > start else None
            made = isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id
            if made and made == value.id and isinstance(last, ast.Assign):  # bind the name itself
                last.targets = [target]
                if made in self._roots:
                    self._share(target.id, made)
            else:
                self._bind(target.id, value.id, done)

    def _bind(self, target: str, value: str, done: list[ast.stmt]) -> None:
        self._share(target, value)
        done.append(ast.Assign([name(target, store=True)], name(value)))

    def _place(self, target: ast.Subscript, done: list[ast.stmt]) -> ast.Subscript:
        """Return a target whose array is a name and whose index needs no more statements."""
        array = name(self._named(self.rewrite(target.value, done), done))
        index = self.rewrite(target.slice, done)
        for each in [index] if not isinstance(index, ast.Tuple) else index.elts:
            if not isinstance(each, ast.Slice) and self.rank(each):
                raise Refused(f"writing to the places {text(each)} at once is not supported: use a loop")
        return located(ast.Subscript(array, index, ast.Store()), target)

    def _elements(self, target: ast.Subscript, value: ast.expr, done: list[ast.stmt]) -> None:
        """Assign to the elements of a view."""
        value = self.rewrite(value, done)
        array = target.value
        assert isinstance(array, ast.Name)
        if index_text(target) in (":", "..."):
            view, source = array.id, array.id
        else:
            source = f"{array.id}[{index_text(target)}]"
            view = self._new("part", self.rank(target), str(self.kinds[array.id].dtype))
            done.append(ast.Assign([name(view, store=True)], expression(source)))
            self._share(view, array.id)
            self._views[view] = source
        arrays = {each.id for each in ast.walk(value) if isinstance(each, ast.Name) and self.rank(each)}
        overlapping = [
            each for each in arrays
            if self.root(each) == self.root(view) and self._views.get(each, each) != source
        ]
        if overlapping:
            value = name(self._computed(value, done))
        elif not self.rank(value) and not isinstance(value, (ast.Name, ast.Constant)):
            held = self.names.fresh("held")
            done.append(ast.Assign([name(held, store=True)], value))
            value = name(held)
        self._loops(view, value, done)

    def _loops(self, target: str, value: ast.expr, done: list[ast.stmt]) -> None:
        rank = self.kinds[target].ndim
        places = [self.names.fresh("ijklmn"[axis]) for axis in range(rank)]
        self._check_lengths([(target, rank), *self._arrays(value)], done)
        index = expression(f"{target}[{', '.join(places)}]")
        body: list[ast.stmt] = [ast.Assign([_stored(index)], self._at(value, places))]
        done += self._nest(places, [f"{target}.shape[{axis}]" for axis in range(rank)], body)

    @staticmethod
    def _nest(places: list[str], lengths: list[str], body: list[ast.stmt]) -> list[ast.stmt]:
        for place, length in zip(reversed(places), reversed(lengths), strict=True):
            body = [ast.For(name(place, store=True), expression(f"range({length})"), body, [])]
        return body

    def _arrays(self, value: ast.expr) -> list[tuple[str, int]]:
        found = {each.id: self.rank(each) for each in ast.walk(value) if isinstance(each, ast.Name)}
        return [(own, rank) for own, rank in found.items() if rank]

    def _check_lengths(self, arrays: list[tuple[str, int]], done: list[ast.stmt]) -> None:
        """Add checks that no axis is broadcast, since the loops would read beyond the end."""
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
            return expression(f"{value.id}[{', '.join(places[-rank:])}]")
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
        own = self._new("array", rank, self.dtype(value))
        shaped = next(each for each, its in self._arrays(value) if its == rank)
        shape = ", ".join(f"{shaped}.shape[{axis}]" for axis in range(rank))
        dtype = self.dtype(value)
        done += statements(f"{own} = np.empty(({shape},), {dtype})")
        self._loops(own, value, done)
        return own

    # -- expressions

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self.rank(node.value):
            return self._subscript(node, before)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return self._from_library("np.dot", [node.left, node.right], before)
        if isinstance(node, ast.IfExp) and self.rank(node) and not self.rank(node.test):
            chosen = self._new("chosen", self.rank(node), self.dtype(node))
            branches: list[list[ast.stmt]] = [[], []]
            for branch, value in zip(branches, (node.body, node.orelse), strict=True):
                self._bind(chosen, self._named(value, branch), branch)
            before.append(located(ast.If(node.test, *branches), node))
            return name(chosen)
        if isinstance(node, ast.Attribute) and node.attr == "T" and self.rank(node.value):
            array = self._named(node.value, before)
            return self._viewed(f"{array}.T", array, self.kinds[array].ndim, before)
        if isinstance(node, ast.Call):
            return self._call(node, before)
        return node

    def _named(self, value: ast.expr, before: list[ast.stmt]) -> str:
        return value.id if isinstance(value, ast.Name) else self._computed(value, before)

    def _viewed(self, source: str, array: str, rank: int, before: list[ast.stmt]) -> ast.expr:
        view = self._new("part", rank, str(self.kinds[array].dtype))
        before += statements(f"{view} = {source}")
        self._share(view, array)
        self._views[view] = source
        return name(view)

    def _subscript(self, node: ast.Subscript, before: list[ast.stmt]) -> ast.expr:
        indices = indices_of(node)
        array = self._named(node.value, before)
        if any(isinstance(each, ast.Constant) and each.value is None for each in indices):
            raise Refused("new axes (None, np.newaxis) are not supported")
        gathered = [each for each in indices if not isinstance(each, ast.Slice) and self.rank(each)]
        if gathered:
            index = self._named(gathered[0], before)
            if len(indices) > 1 or self.kinds[array].ndim > 1 or isinstance(self.kinds[index].dtype, types.Boolean):
                raise Refused(f"indexing by an array, as in {text(node)}, is not supported: use a loop")
            own = self._new("gathered", 1, str(self.kinds[array].dtype))
            place = self.names.fresh("i")
            before += statements(
                f"{own} = np.empty({index}.shape[0], {array}.dtype)\n"
                f"for {place} in range({index}.shape[0]):\n    {own}[{place}] = {array}[{index}[{place}]]"
            )
            return name(own)
        if not self.rank(node):
            return ast.Subscript(name(array), node.slice, ast.Load())
        return self._viewed(f"{array}[{index_text(node)}]", array, self.rank(node), before)

    def _call(self, node: ast.Call, before: list[ast.stmt]) -> ast.expr:
        function, arguments = text(node.func), list(node.args)
        keywords = {each.arg: each.value for each in node.keywords}
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and self.rank(node.func.value):
            function, arguments = f"np.{node.func.attr}", [node.func.value, *arguments]
        if function.startswith("np.random") or function.startswith("random."):
            raise Refused("random numbers would differ in the reverse pass: draw them before and pass them")
        if function == "np.where" and len(arguments) == 3:
            return self._elementwise_choice(arguments, before)
        if function in _REDUCTIONS:
            axis = arguments[1] if len(arguments) > 1 else keywords.get("axis")
            return self._reduction(_REDUCTIONS[function], arguments[0], axis, before)
        if function in ("np.array", "np.asarray") and isinstance(arguments[0], ast.List):
            return self._literal(arguments[0], before)
        if function in ("np.array", "np.asarray", "np.ascontiguousarray", "np.copy", "np.flatten", "np.astype"):
            return name(self._copied(arguments, before))
        if function in ("np.ravel", "np.reshape", "np.transpose"):
            return self._reshaped(function, arguments, before)
        if function in ("np.full", "np.full_like"):
            return self._filled(function, arguments, before)
        if function in CREATED | OPAQUE:
            return self._created(function, node, arguments, before)
        ranks = tuple(map(self.rank, arguments))
        if (function, ranks) in LIBRARY:
            return self._from_library(function, arguments, before)
        base = base_of(function)
        if base in CONSTANT or (base in _ELEMENTWISE and not node.keywords):
            if base in _ELEMENTWISE:
                return node
            arguments = [name(self._named(each, before)) if self.rank(each) else each for each in arguments]
            return located(ast.Call(expression(function), arguments, node.keywords), node)
        if function == "range":
            return node
        raise Refused(f"the derivative of {function} is not known, or not for such arguments: {text(node)}")

    def _elementwise_choice(self, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        choice = ast.IfExp(*arguments)
        if self.rank(choice) and not self.rank(arguments[0]):
            return name(self._computed(choice, before))
        return choice

    def _from_library(self, function: str, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        ranks = tuple(map(self.rank, arguments))
        if (function, ranks) not in LIBRARY:
            raise Refused(f"{function} of arrays of {' and '.join(map(str, ranks))} dimensions is not supported")
        loops, rank = LIBRARY[function, ranks]
        arrays = [self._named(each, before) for each in arguments]
        body, _, (result,) = self.inliner.function(loops, [name(each) for each in arrays], {})
        for each in body:
            for node in ast.walk(each):
                if hasattr(node, "origin"):
                    del node.origin
        if len(arrays) == 2 and "solve" not in function:
            shared = {"np.dot": (-1, -2 if ranks[1] == 2 else -1)}.get(function)
            if shared:
                before += statements(
                    f"same_length({arrays[0]}.shape[{ranks[0] - 1}], {arrays[1]}.shape[{max(0, ranks[1] - 2)}])"
                )
        before += body
        if rank:
            self.kinds[result] = types.Array(self.kinds[arrays[0]].dtype, rank, "A")
        return name(result)

    def _created(
        self, function: str, node: ast.Call, arguments: list[ast.expr], before: list[ast.stmt]
    ) -> ast.expr:
        dtype, rank = "float64", 1
        given = [*arguments[1:], *[each.value for each in node.keywords if each.arg == "dtype"]]
        if function.endswith("_like"):
            array = self._named(arguments[0], before)
            arguments = [name(array), *arguments[1:]]
            dtype, rank = str(self.kinds[array].dtype), self.kinds[array].ndim
        elif function in ("np.eye", "np.identity"):
            rank = 2
        elif isinstance(arguments[0], ast.Tuple):
            rank = len(arguments[0].elts)
        elif isinstance(arguments[0], ast.Attribute) and arguments[0].attr == "shape":
            rank = self.rank(arguments[0].value)
        if function in ("np.argsort", "np.arange"):
            dtype = "int64"
            arguments = [name(self._named(each, before)) if self.rank(each) else each for each in arguments]
        elif given and function != "np.linspace":
            named = text(given[-1])
            dtype = str(self.kinds[named.removesuffix(".dtype")].dtype) if named.endswith(".dtype") else (
                {"float": "float64", "int": "int64", "bool": "bool_"}.get(named, named.removeprefix("np.")))
        own = self._new("array", rank, "np." + dtype)
        before.append(assign(own, ast.Call(expression(function), arguments, node.keywords), node))
        return name(own)

    def _literal(self, values: ast.List, before: list[ast.stmt]) -> ast.expr:
        rows = [each.elts if isinstance(each, ast.List) else None for each in values.elts]
        dtype = self.dtype(values)
        if dtype.startswith("np.int") and any(not isinstance(each, ast.Constant) for each in values.elts):
            dtype = "np.float64"
        if rows and rows[0] is not None:
            own = self._new("array", 2, dtype)
            before += statements(f"{own} = np.empty(({len(rows)}, {len(rows[0])}), {dtype})")
            places = [(f"{i}, {j}", each) for i, row in enumerate(rows) for j, each in enumerate(row or [])]
        else:
            own = self._new("array", 1, dtype)
            before += statements(f"{own} = np.empty({len(rows)}, {dtype})")
            places = [(str(i), each) for i, each in enumerate(values.elts)]
        for place, each in places:
            if self.rank(each):
                raise Refused("an array of arrays is not supported")
            before.append(ast.Assign([_stored(expression(f"{own}[{place}]"))], each))
        return name(own)

    def _copied(self, arguments: list[ast.expr], before: list[ast.stmt]) -> str:
        value = arguments[0]
        rank = self.rank(value)
        if not rank:
            raise Refused(f"an array of {text(value)} is not supported")
        if rank > 1 and len(arguments) == 1 and not isinstance(value, ast.Name):
            return self._computed(value, before)
        array = self._named(value, before)
        dtype = f"{array}.dtype"
        kind = str(self.kinds[array].dtype)
        if len(arguments) > 1:
            dtype = text(arguments[1])
            kind = {"float": "float64", "int": "int64"}.get(dtype, dtype.removeprefix("np."))
        own = self._new("copied", rank, kind)
        shape = ", ".join(f"{array}.shape[{axis}]" for axis in range(rank))
        before += statements(f"{own} = np.empty(({shape},), {dtype})")
        self._loops(own, name(array), before)
        return own

    def _reshaped(self, function: str, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        array = self._named(arguments[0], before)
        if function == "np.transpose" and len(arguments) == 1:
            return self._viewed(f"{array}.T", array, self.kinds[array].ndim, before)
        if self.kinds[array].layout != "C" or function == "np.transpose":
            raise Refused(f"{function} of an array that may not be contiguous is not supported")
        if function == "np.ravel":
            return self._viewed(f"{array}.reshape({array}.size)", array, 1, before)
        shape = arguments[1].elts if isinstance(arguments[1], ast.Tuple) else arguments[1:]
        view = self._viewed(f"{array}.reshape(({', '.join(map(text, shape))},))", array, len(shape), before)
        return view

    def _filled(self, function: str, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        if function == "np.full_like":
            array = self._named(arguments[0], before)
            own = self._new("array", self.kinds[array].ndim, str(self.kinds[array].dtype))
            made = f"np.empty_like({array})"
        else:
            shape = arguments[0]
            dtype = text(arguments[2]) if len(arguments) > 2 else self.dtype(arguments[1])
            own = self._new("array", len(shape.elts) if isinstance(shape, ast.Tuple) else 1, dtype)
            made = f"np.empty({text(shape)}, {dtype})"
        before += statements(f"{own} = {made}")
        held = self.names.fresh("held")
        before.append(ast.Assign([name(held, store=True)], arguments[1]))
        self._loops(own, name(held), before)
        return name(own)

    def _reduction(
        self, kind: str, value: ast.expr, axis: ast.expr | None, before: list[ast.stmt]
    ) -> ast.expr:
        rank = self.rank(value)
        if not rank:
            raise Refused(f"'{kind}' of {text(value)} is not supported")
        if axis is not None and text(axis) != "None":
            return self._along_axis(kind, value, axis, before)
        if kind in ("var", "std"):
            array = self._named(value, before)
            mean = text(self._reduction("mean", name(array), None, before))
            square = expression(f"({array} - {mean}) * ({array} - {mean})")
            variance = self._reduction("mean", square, None, before)
            return variance if kind == "var" else expression(f"math.sqrt({text(variance)})")
        arrays = self._arrays(value)
        self._check_lengths(arrays, before)
        shaped = next(each for each, its in arrays if its == rank)
        places = [self.names.fresh("ijklmn"[each]) for each in range(rank)]
        own = self.names.fresh({"mean": "sum"}.get(kind, kind) + "_of")
        element = self._at(value, places)
        integer = not self.dtype(value).startswith("np.float")
        first = text(self._at(value, ["0"] * rank))
        start = {"sum": "0" if integer else "0.0", "mean": "0.0", "prod": "1" if integer else "1.0", "any": "False",
                 "all": "True"}.get(kind, first)
        each = text(element)
        update = {
            "sum": f"{own} = {own} + {each}", "mean": f"{own} = {own} + {each}", "prod": f"{own} = {own} * {each}",
            "max": f"if {each} > {own}:\n    {own} = {each}", "min": f"if {each} < {own}:\n    {own} = {each}",
            "any": f"if {each}:\n    {own} = True", "all": f"if not {each}:\n    {own} = False",
        }[kind]
        before += statements(f"{own} = {start}")
        before += self._nest(places, [f"{shaped}.shape[{each}]" for each in range(rank)], statements(update))
        return expression(f"{own} / {shaped}.size") if kind == "mean" else name(own)

    def _along_axis(self, kind: str, value: ast.expr, axis: ast.expr, before: list[ast.stmt]) -> ast.expr:
        rank = self.rank(value)
        try:
            number = range(rank)[ast.literal_eval(axis)]
        except (ValueError, IndexError, TypeError):
            raise Refused(f"the axis {text(axis)} must be a constant") from None
        if kind not in ("sum", "mean") or rank != 2:
            raise Refused(f"'{kind}' along an axis of {rank} dimensions is not supported: use a loop")
        array = self._named(value, before)
        own = self._new("along", 1, self.dtype(value))
        kept = 1 - number
        i, j, total = self.names.fresh("i"), self.names.fresh("j"), self.names.fresh("total")
        place = f"{i}, {j}" if kept == 0 else f"{j}, {i}"
        divided = f" / {array}.shape[{number}]" if kind == "mean" else ""
        before += statements(
            f"{own} = np.empty({array}.shape[{kept}], {self.dtype(value)})\n"
            f"for {i} in range({array}.shape[{kept}]):\n    {total} = 0.0\n"
            f"    for {j} in range({array}.shape[{number}]):\n        {total} = {total} + {array}[{place}]\n"
            f"    {own}[{i}] = {total}{divided}"
        )
        return name(own)


def _keeps(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice)


def _stored(target: ast.expr) -> ast.expr:
    target = copy.copy(target)
    target.ctx = ast.Store()  # type: ignore[attr-defined]
    return target
