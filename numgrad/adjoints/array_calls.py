"""Calls and indices of arrays as loops over elements."""

from __future__ import annotations

import ast

from numba.core import types

from .elements import ELEMENTWISE, TESTS, stored
from .gathering import JOINING, Gathering
from .hoisting import chosen_element
from .library import LIBRARY
from .partials import CONSTANT, base_of
from .source import Refused, assign, expression, index_text, is_none, located, name, statements, text

#: Functions that make an array whose elements do not depend on the values of their arguments.
CREATED = {"np.empty", "np.zeros", "np.ones", "np.empty_like", "np.zeros_like", "np.ones_like", "np.eye", "np.identity"}

#: Functions that make an array of integers, which are constants nearby.
INTEGERS = {"np.argsort", "np.flatnonzero"}

#: Functions that make an array of integers, or of numbers that are constants.
OPAQUE = {*INTEGERS, "np.arange", "np.linspace"}


_METHODS = {
    "sum", "mean", "prod", "max", "min", "dot", "copy", "astype", "ravel", "flatten", "reshape", "transpose", "argmax",
    "argmin", "argsort", "any", "all", "cumsum", "cumprod", "clip", "var", "std", "trace",
}

_REDUCTIONS = {
    "np.sum": "sum", "np.mean": "mean", "np.prod": "prod", "np.max": "max", "np.min": "min", "np.amax": "max",
    "np.amin": "min", "sum": "sum", "np.any": "any", "np.all": "all", "np.var": "var", "np.std": "std",
}


class ArrayCalls(Gathering):
    """Rewriter of expressions: all arrays in a rewritten expression are names."""

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        if isinstance(node, ast.Name) and node.id in self.tuples:
            return ast.Tuple(list(map(name, self.tuples[node.id])), ast.Load())
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            of_shape = isinstance(node.value, ast.Attribute) and isinstance(node.slice, ast.Slice)
            if isinstance(node.value, ast.Tuple) or of_shape:
                return self._of_tuple(node, before)
            if self.rank(node.value):
                return self._subscript(node, before)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Tuple):
            return ast.Tuple([*node.left.elts, *(self.elements_of(node.right) or [])], ast.Load())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and self.is_test(node.operand):
            return ast.UnaryOp(ast.Not(), node.operand)  # of a single element, ~ is that of an integer
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return self._from_library("np.dot", [node.left, node.right], before)
        if isinstance(node, ast.IfExp) and self.rank(node) and not self.rank(node.test):
            chosen = self._new("chosen", self.rank(node), self.dtype(node), "A")
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

    def _subscript(self, node: ast.Subscript, before: list[ast.stmt]) -> ast.expr:
        if picked := self.picked(node, before):
            return self.gathered(*picked, before)
        array = self._named(node.value, before)
        if not self.rank(node):
            return ast.Subscript(name(array), node.slice, ast.Load())
        return self._viewed(f"{array}[{index_text(node)}]", array, self.rank(node), before)

    def _of_tuple(self, node: ast.Subscript, before: list[ast.stmt]) -> ast.expr:
        parts = self.elements_of(node.value)
        if parts is None:
            return node
        if isinstance(node.slice, ast.Slice):
            bounds = [each and ast.literal_eval(each) for each in (node.slice.lower, node.slice.upper, node.slice.step)]
            return ast.Tuple(parts[slice(*bounds)], ast.Load())  # type: ignore[arg-type]
        chosen = chosen_element(parts, node.slice)
        return self.part(chosen, before) if isinstance(chosen, ast.IfExp) else chosen

    def _call(self, node: ast.Call, before: list[ast.stmt]) -> ast.expr:
        function, arguments = text(node.func), list(node.args)
        keywords = {each.arg: each.value for each in node.keywords}
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and self.rank(node.func.value):
            function, arguments = f"np.{node.func.attr}", [node.func.value, *arguments]
        if function.startswith("np.random") or function.startswith("random."):
            raise Refused("random numbers would differ in the reverse pass: draw them before the call and pass them")
        if function == "len" and (parts := self.elements_of(arguments[0])) is not None:
            return ast.Constant(len(parts))
        if function in ("np.where", "np.nonzero") and len(arguments) == 1 and self.rank(arguments[0]) == 1:
            return ast.Tuple([self._created("np.flatnonzero", node, arguments, before)], ast.Load())
        if function == "np.clip":
            return self._clipped(arguments, keywords)
        if function == "np.sort" and [*map(self.rank, arguments)] == [1]:
            array = name(self._named(arguments[0], before))
            order = self._created("np.argsort", node, [array], before)
            return self.gathered(array.id, 0, [text(order)], before)
        if function == "np.flip" and [*map(self.rank, arguments)] == [1]:
            array = name(self._named(arguments[0], before))
            return self._viewed(f"{array.id}[::-1]", array.id, 1, before)
        if function in JOINING:
            return self.joined(function, arguments[0], [*arguments[1:], keywords.get("axis")][0], before)
        if function == "np.where" and len(arguments) == 3:
            return self._elementwise_choice(arguments, before)
        if function in _REDUCTIONS:
            axis = arguments[1] if len(arguments) > 1 else keywords.get("axis")
            return self._reduction(_REDUCTIONS[function], arguments[0], axis, before)
        if function in ("np.array", "np.asarray") and isinstance(arguments[0], ast.List):
            return self._literal(arguments[0], before)
        if function in ("np.array", "np.asarray", "np.ascontiguousarray", "np.copy", "np.flatten", "np.astype"):
            copied = self._copied(arguments, before)
            if function == "np.flatten":
                return self._viewed(f"{copied}.reshape({copied}.size)", copied, 1, before)
            return name(copied)
        if function in ("np.ravel", "np.reshape", "np.transpose"):
            return self._reshaped(function, arguments, before)
        if function in ("np.full", "np.full_like"):
            dtypes = [value for each, value in keywords.items() if each == "dtype"]
            return self._filled(function, [*arguments, *dtypes], before)
        if function in CREATED | OPAQUE:
            return self._created(function, node, arguments, before)
        ranks = tuple(map(self.rank, arguments))
        if function in ("np.trapezoid", "np.trapz"):
            return self._trapezoid(arguments, keywords, before)
        if (function, ranks) in LIBRARY and not keywords:
            return self._from_library(function, arguments, before)
        base = base_of(function)
        if base in CONSTANT or (base in ELEMENTWISE and not node.keywords):
            if base in ELEMENTWISE | TESTS:
                return node
            arguments = [name(self._named(each, before)) if self.rank(each) else each for each in arguments]
            return located(ast.Call(expression(function), arguments, node.keywords), node)
        if function == "range" or (function in self.namespace and not any(ranks)):
            return node
        raise Refused(f"the derivative of {function} is not known for these arguments: {text(node)}")

    def _clipped(self, arguments: list[ast.expr], keywords: dict[str | None, ast.expr]) -> ast.expr:
        """Return ``np.clip`` as a minimum of a maximum: the derivative at a bound is that of the value."""
        value, *bounds = arguments
        bounds += [keywords[each] for each in ("a_min", "a_max") if each in keywords]
        for function, bound in zip(("np.maximum", "np.minimum"), bounds, strict=True):
            if not is_none(bound):
                value = ast.Call(expression(function), [value, bound], [])
        return value

    def _trapezoid(
        self, arguments: list[ast.expr], keywords: dict[str | None, ast.expr], before: list[ast.stmt]
    ) -> ast.expr:
        given: dict[str | None, ast.expr] = dict(zip(("y", "x", "dx"), arguments, strict=False))
        given |= keywords
        places = given.get("x", ast.Constant(None))
        if not is_none(places):
            return self._from_library("np.trapezoid", [given["y"], places], before)
        area = self._from_library("np.trapezoid", [given["y"]], before)
        return ast.BinOp(given.get("dx", ast.Constant(1.0)), ast.Mult(), area)

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
        numbers = [each for each in arguments if not self.rank(each)]
        held = {id(each): each if isinstance(each, (ast.Name, ast.Constant)) else self._held(each, before)
                for each in numbers}
        given = [held.get(id(each)) or name(self._named(each, before)) for each in arguments]
        arrays = [text(each) for each in given if self.rank(each)]
        body, _, (result,) = self.inliner.function(loops, [*given], {})
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
        dtype_arguments = [*arguments[1:], *[each.value for each in node.keywords if each.arg == "dtype"]]
        if function.endswith("_like"):
            array = self._named(arguments[0], before)
            arguments = [name(array), *arguments[1:]]
            dtype, rank = str(self.kinds[array].dtype), self.kinds[array].ndim
        elif function in ("np.eye", "np.identity"):
            rank = 2
        elif (parts := self.elements_of(arguments[0])) is not None:
            rank = len(parts)
        if function in {*INTEGERS, "np.arange"}:
            whole = function != "np.arange" or all(map(self._is_integer, arguments))
            dtype = "int64" if whole else self.dtype(ast.Tuple(arguments)).removeprefix("np.")
            arguments = [name(self._named(each, before)) if self.rank(each) else each for each in arguments]
            dtype_arguments = [each.value for each in node.keywords if each.arg == "dtype"]
        if dtype_arguments and function not in {*INTEGERS, "np.linspace"}:
            named = text(dtype_arguments[-1])
            dtype = str(self.kinds[named.removesuffix(".dtype")].dtype) if named.endswith(".dtype") else (
                _numpy_name(named).removeprefix("np."))
        new = self._new("array", rank, "np." + dtype)
        before.append(assign(new, ast.Call(expression(function), arguments, node.keywords), node))
        return name(new)

    def _is_integer(self, node: ast.expr) -> bool:
        """Return True for a number that is clearly an integer."""
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, ast.Div) and self._is_integer(node.left) and self._is_integer(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._is_integer(node.operand)
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Attribute)  # of a shape
        if isinstance(node, ast.Call):
            return base_of(text(node.func)) in ("len", "int")
        if isinstance(node, ast.Name):
            return isinstance(self.kinds.get(node.id), types.Integer)
        return isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and isinstance(node.value, int))

    def _literal(self, values: ast.List, before: list[ast.stmt]) -> ast.expr:
        rows = [each.elts if isinstance(each, ast.List) else None for each in values.elts]
        numbers = [number for row, each in zip(rows, values.elts, strict=True) for number in row or [each]]
        same = {type(each.value) if isinstance(each, ast.Constant) else None for each in numbers}
        dtype = {int: "np.int64", bool: "np.bool_"}.get(*same) if len(same) == 1 else None  # type: ignore[arg-type]
        dtype = dtype or self.dtype(values)
        if dtype.startswith("np.int") and same != {int}:
            dtype = "np.float64"
        if rows and rows[0] is not None:
            new = self._new("array", 2, dtype)
            before += statements(f"{new} = np.empty(({len(rows)}, {len(rows[0])}), {dtype})")
            places = [(f"{i}, {j}", each) for i, row in enumerate(rows) for j, each in enumerate(row or [])]
        else:
            new = self._new("array", 1, dtype)
            before += statements(f"{new} = np.empty({len(rows)}, {dtype})")
            places = [(str(i), each) for i, each in enumerate(values.elts)]
        for index, each in places:
            if self.rank(each):
                raise Refused("an array of arrays is not supported")
            before.append(ast.Assign([stored(expression(f"{new}[{index}]"))], each))
        return name(new)

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
        new = self._new("copied", rank, kind)
        shape = ", ".join(f"{array}.shape[{axis}]" for axis in range(rank))
        before += statements(f"{new} = np.empty(({shape},), {dtype})")
        self._loops(new, name(array), before)
        return new

    def _reshaped(self, function: str, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        array = self._named(arguments[0], before)
        if function == "np.transpose" and len(arguments) == 1:
            return self._viewed(f"{array}.T", array, self.kinds[array].ndim, before)
        if self.kinds[array].layout != "C" or function == "np.transpose":
            raise Refused(f"{function} of an array that may not be contiguous is not supported")
        if function == "np.ravel":
            return self._viewed(f"{array}.reshape({array}.size)", array, 1, before, "C")
        shape = self.elements_of(arguments[1]) or arguments[1:]
        return self._viewed(f"{array}.reshape(({', '.join(map(text, shape))},))", array, len(shape), before, "C")

    def _filled(self, function: str, arguments: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        if function == "np.full_like":
            array = self._named(arguments[0], before)
            new = self._new("array", self.kinds[array].ndim, str(self.kinds[array].dtype))
            creation = f"np.empty_like({array})"
            if len(arguments) > 2:
                raise Refused("np.full_like with a dtype is not supported: use np.full")
        else:
            shape = arguments[0]
            dtype = _numpy_name(text(arguments[2])) if len(arguments) > 2 else self.dtype(arguments[1])
            new = self._new("array", len(self.elements_of(shape) or [1]), dtype)
            creation = f"np.empty({text(shape)}, {dtype})"
        before += statements(f"{new} = {creation}")
        held = self.names.fresh("held")
        before.append(ast.Assign([name(held, store=True)], arguments[1]))
        self._loops(new, name(held), before)
        return name(new)

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
        if self.broadcasts and len(self._arrays(value)) > 1:
            value = name(self._named(value, before))
        arrays = self._arrays(value)
        self._check_lengths(arrays, before)
        shaped = next(each for each, its in arrays if its == rank)
        places = [self.names.fresh("ijklmn"[each]) for each in range(rank)]
        new = self.names.fresh({"mean": "sum"}.get(kind, kind) + "_of")
        element = self._at(value, places)
        integer = not self.dtype(value).startswith("np.float")
        first = text(self._at(value, ["0"] * rank))
        start = {"sum": "0" if integer else "0.0", "mean": "0.0", "prod": "1" if integer else "1.0", "any": "False",
                 "all": "True"}.get(kind, first)
        each = f"({text(element)})"
        update = {
            "sum": f"{new} = {new} + {each}", "mean": f"{new} = {new} + {each}", "prod": f"{new} = {new} * {each}",
            "max": f"if {each} > {new}:\n    {new} = {each}", "min": f"if {each} < {new}:\n    {new} = {each}",
            "any": f"if {each}:\n    {new} = True", "all": f"if not {each}:\n    {new} = False",
        }[kind]
        before += statements(f"{new} = {start}")
        before += self._nest(places, [f"{shaped}.shape[{each}]" for each in range(rank)], statements(update))
        return expression(f"{new} / {shaped}.size") if kind == "mean" else name(new)

    def _along_axis(self, kind: str, value: ast.expr, axis: ast.expr, before: list[ast.stmt]) -> ast.expr:
        rank = self.rank(value)
        number = self.axis_of(axis, rank)
        if rank == 1:
            return self._reduction(kind, value, None, before)
        if kind not in ("sum", "mean"):
            raise Refused(f"'{kind}' along an axis is not supported: use a loop")
        array = self._named(value, before)
        new, total = self._new("along", rank - 1, self.dtype(value)), self.names.fresh("total")
        places = [self.names.fresh("ijklmn"[each]) for each in range(rank)]
        lengths = [f"{array}.shape[{each}]" for each in range(rank)]
        kept, lengths_kept = [[*each[:number], *each[number + 1 :]] for each in (places, lengths)]
        divided = f" / {lengths[number]}" if kind == "mean" else ""
        before += statements(f"{new} = np.empty(({', '.join(lengths_kept)},), {self.dtype(value)})")
        before += self._nest(kept, lengths_kept, statements(
            f"{total} = 0.0\nfor {places[number]} in range({lengths[number]}):\n"
            f"    {total} = {total} + {array}[{', '.join(places)}]\n"
            f"{new}[{', '.join(kept)}] = {total}{divided}"
        ))
        return name(new)


def _numpy_name(dtype: str) -> str:
    """Return NumPy's name of a dtype that may be one of Python's types."""
    return {"float": "np.float64", "int": "np.int64", "bool": "np.bool_"}.get(dtype, dtype)
