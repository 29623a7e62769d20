"""Buffers: arrays that each iteration of a loop creates are instead created once, before the loop.

The derivatives then store only the overwritten elements, instead of keeping the arrays of all iterations.
"""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from .analysis import Analysis, bound_array, target_of
from .inference import is_array
from .source import Names, assign, blocks, expression, indices_of, is_none, names_in, statements, text, walk

#: Lengths of the axes of an array, as source; None for a length that may change.
Shape: TypeAlias = tuple[str | None, ...]

_MADE = {"np.empty": None, "np.zeros": "0", "np.ones": "1"}


class Shapes:
    """Shapes of the arrays of a program, where they can be determined from its parameters."""

    def __init__(self, facts: Analysis, parameters: list[str], constants: dict[str, Any]):
        self.facts, self.kinds = facts, facts.kinds
        self._stable = stable = facts.stable(parameters)
        fixed = {*parameters, *constants} & stable
        assigned: dict[str, list[ast.stmt]] = {each: [] for each in [*parameters, *facts.counters]}
        for statement in facts.statements:
            if isinstance(target := target_of(statement), ast.Name):
                assigned.setdefault(target.id, []).append(statement)
        self._values = {
            variable: assigning[0].value for variable, assigning in assigned.items()
            if len(assigning) == 1 and isinstance(assigning[0], ast.Assign)
            and variable not in {*parameters, *facts.counters}
        }
        self._shapes: dict[str, Shape] = {
            each: tuple(f"{each}.shape[{axis}]" if each in fixed else None for axis in range(kind.ndim))
            for each, kind in self.kinds.items() if is_array(kind) and each in {*parameters, *constants}
        }
        bindings = [each for each in facts.statements if facts.is_binding(each)]
        changed = True
        while changed:
            changed = False
            for statement in bindings:
                variable = statement.targets[0].id  # type: ignore[attr-defined]
                new = self._of_value(statement.value, self.kinds[variable].ndim)  # type: ignore[attr-defined]
                before = self._shapes.get(variable)
                if new is not None and before is not None:
                    new = tuple(old if old == now else None for old, now in zip(before, new, strict=True))
                if new is not None and new != before:
                    self._shapes[variable] = new
                    changed = True

    def of(self, variable: str) -> Shape:
        """Return the shape of an array."""
        return self._shapes.get(variable) or (None,) * self.kinds[variable].ndim

    def _of_value(self, value: ast.expr, rank: int) -> Shape | None:
        """Return the shape of the value to which a name is bound; None if it is not known yet."""
        unknown: Shape = (None,) * rank
        if isinstance(value, ast.Name):
            return self._shapes.get(value.id)
        if isinstance(value, ast.Attribute) and value.attr == "T" and isinstance(value.value, ast.Name):
            shape = self._shapes.get(value.value.id)
            return shape and shape[::-1]
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            return self._of_view(value, rank)
        if not isinstance(value, ast.Call):
            return unknown
        if not all(each in self._shapes for each in self._arrays(value)):
            return None
        function = text(value.func)
        if function in ("np.empty_like", "np.zeros_like", "np.ones_like") and isinstance(value.args[0], ast.Name):
            return self._shapes.get(value.args[0].id)
        if function in _MADE:
            lengths = value.args[0].elts if isinstance(value.args[0], ast.Tuple) else [value.args[0]]
            return tuple(map(self.length, lengths)) if len(lengths) == rank else unknown
        if function in ("np.eye", "np.identity") and len(value.args) == 1:
            return (self.length(value.args[0]),) * 2
        return unknown

    def _arrays(self, node: ast.expr) -> set[str]:
        """Return the arrays on which the lengths in an expression depend."""
        read = names_in(node)
        for variable in read & self._values.keys():
            read |= self._arrays(self._values[variable])
        return {each for each in read if is_array(self.kinds.get(each))}

    def _of_view(self, view: ast.Subscript, rank: int) -> Shape | None:
        shape = self._shapes.get(view.value.id)  # type: ignore[attr-defined]
        if shape is None:
            return None
        indices = indices_of(view)
        if any(text(each) == "..." for each in indices):
            return shape if len(indices) == 1 else (None,) * rank
        lengths: list[str | None] = []
        left = [*shape]
        for index in indices:
            if is_none(index):
                lengths.append("1")
                continue
            length = left.pop(0)
            if isinstance(index, ast.Slice):
                lengths.append(_sliced(length, index))
        return (*lengths, *left)

    def length(self, node: ast.expr) -> str | None:
        """Return an expression of parameters that a length is equal to."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return str(node.value)
        if isinstance(node, ast.Name):
            value = self._values.get(node.id)
            expression_of_value = None if value is None else self.length(value)
            return expression_of_value or (node.id if node.id in self._stable else None)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            axis = ast.literal_eval(node.slice) if isinstance(node.slice, ast.Constant) else None
            array = node.value.value
            return self.of(array.id)[axis] if isinstance(array, ast.Name) and axis is not None else None
        if isinstance(node, ast.Call) and text(node.func) == "len" and isinstance(node.args[0], ast.Name):
            return self.of(node.args[0].id)[0] if is_array(self.kinds.get(node.args[0].id)) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            parts = self.length(node.left), self.length(node.right)
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(node.op)]
            return None if None in parts else f"({parts[0]} {sign} {parts[1]})"
        return None


def _sliced(length: str | None, index: ast.Slice) -> str | None:
    """Return the length of a slice that omits constant numbers of elements at both ends."""
    lower = 0 if index.lower is None else _constant(index.lower)
    upper = 0 if index.upper is None else _constant(index.upper)
    if length is None or index.step is not None or lower is None or upper is None:
        return None
    if lower < 0 or upper > 0 or (index.upper is not None and upper == 0):
        return None
    return length if lower == upper == 0 else f"max(0, {length} - {lower - upper})"


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


class Buffers:
    """Translation of the loops of a program whose names have the types ``kinds``."""

    def __init__(
        self, body: list[ast.stmt], kinds: dict[str, Any], names: Names, parameters: list[str], results: list[str],
        constants: dict[str, Any],
    ):
        self.body, self.kinds, self.names = body, kinds, names
        self.parameters, self.results = parameters, results
        #: Names of arrays whose memory other names share.
        self._others = {*parameters, *constants}
        #: True if a new array may have another memory layout than the arrays that it replaces.
        self.changes_layouts = False
        self.shapes = Shapes(Analysis(body, kinds), parameters, constants)

    def translated(self) -> list[ast.stmt]:
        """Return the program with buffers."""
        self._simplify(self.body)
        for translate in (self._copied, self._hoisted):
            self._facts = Analysis(self.body, self.kinds)
            self._live = self._facts.live_after(self.results)
            self._bindings: dict[str, list[ast.stmt]] = {}
            for statement in self._facts.statements:
                if self._facts.is_binding(statement):
                    self._bindings.setdefault(statement.targets[0].id, []).append(statement)  # type: ignore[attr-defined]
            self._block(self.body, translate, set())
        return self.body

    def _simplify(self, block: list[ast.stmt]) -> None:
        """Remove checks of lengths that are known to be equal, and write known lengths as the bounds of loops."""
        for statement in block:
            for inner in blocks(statement):
                self._simplify(inner)
            if isinstance(statement, ast.For):
                bounds = statement.iter.args  # type: ignore[attr-defined]
                lengths = [None if isinstance(each, ast.Constant) else self.shapes.length(each) for each in bounds]
                bounds[:] = [expression(new) if new else old for new, old in zip(lengths, bounds, strict=True)]
        block[:] = [each for each in block if not self._always_holds(each)] or [ast.Pass()]

    def _always_holds(self, statement: ast.stmt) -> bool:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or text(call.func) != "same_length":
            return False
        first, second = map(self.shapes.length, call.args)
        return first is not None and first == second

    def _block(self, block: list[ast.stmt], translate: Any, bound: set[str]) -> None:
        """Translate the loops in a block; ``bound`` are the names that are bound before it."""
        done: list[ast.stmt] = []
        for statement in block:
            for inner in blocks(statement):
                self._block(inner, translate, {*bound})
            if isinstance(statement, (ast.For, ast.While)):
                done += translate(statement, bound)
            elif isinstance(target := target_of(statement), ast.Name):
                bound.add(target.id)
            done.append(statement)
        block[:] = done

    def _class(self, variable: str) -> set[str]:
        root = self._facts.aliases.root(variable)
        return {each for each in [*self._bindings, *self._others] if self._facts.aliases.root(each) == root}

    # -- arrays that are passed from an iteration to the next

    def _copied(self, loop: ast.For | ast.While, bound: set[str]) -> list[ast.stmt]:
        """Copy the elements of arrays that are passed from iteration to iteration, instead of binding names to them."""
        body: list[ast.stmt] = []
        for statement in loop.body:
            if self._is_handed_on(statement, loop, bound):
                body += self._set(statement.targets[0].id, f"{statement.value.id}[{{index}}]", statement)  # type: ignore[attr-defined]
            else:
                body.append(statement)
        loop.body[:] = body
        return []

    def _is_handed_on(self, statement: ast.stmt, loop: ast.For | ast.While, bound: set[str]) -> bool:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, ast.Name) or not self._facts.is_binding(statement):
            return False
        variable, is_new = statement.targets[0].id, self._made_in(value.id, loop)  # type: ignore[attr-defined]
        shape, both = self.shapes.of(variable), self._class(variable)
        same = self.kinds[variable].dtype == self.kinds[value.id].dtype and shape == self.shapes.of(value.id)
        return (
            is_new and same and None not in shape and variable in bound and variable in self._live[id(loop.body)]
            and not both & self._others and self._live[id(statement)] & both <= {variable}
        )

    def _made_in(self, variable: str, loop: ast.For | ast.While) -> bool:
        """Return True if each iteration of the loop creates the array, and no other statement does."""
        bindings = self._bindings.get(variable, [])
        if len(bindings) != 1 or not any(each is bindings[0] for each in loop.body):
            return False
        value = bindings[0].value  # type: ignore[attr-defined]
        return self._made_in(value.id, loop) if isinstance(value, ast.Name) else bound_array(value) is None

    def _set(self, variable: str, value: str, at: ast.stmt) -> list[ast.stmt]:
        """Return loops that set all elements of an array, whose index is ``index`` in ``value``."""
        places = [self.names.fresh("ijklmn"[axis]) for axis in range(self.kinds[variable].ndim)]
        index = ", ".join(places)
        lines = [f"{variable}[{index}] = {value.format(index=index)}"]
        for axis in range(len(places) - 1, -1, -1):
            lines = [f"for {places[axis]} in range({variable}.shape[{axis}]):", *[f"    {line}" for line in lines]]
        return statements("\n".join(lines), at)

    # -- arrays of one iteration

    def _hoisted(self, loop: ast.For | ast.While, _bound: set[str]) -> list[ast.stmt]:
        """Return statements that create the arrays of a loop before the loop."""
        before: list[ast.stmt] = []
        body: list[ast.stmt] = []
        for statement in loop.body:
            function = self._maker(statement)
            if function is None or not self._is_private(statement.targets[0].id, loop):  # type: ignore[attr-defined]
                body.append(statement)
                continue
            variable = statement.targets[0].id  # type: ignore[attr-defined]
            lengths = "".join(f"{each}, " for each in self.shapes.of(variable))
            dtype = str(self.kinds[variable].dtype).replace("bool", "bool_")
            before.append(assign(variable, expression(f"np.empty(({lengths}), np.{dtype})"), statement))
            self.changes_layouts |= self.kinds[variable].layout != "C"
            self._bindings[variable] = before[-1:]
            if (number := _MADE[function]) is not None:
                body += self._set(variable, number, statement)
        loop.body[:] = body or [ast.Pass()]
        return before

    def _maker(self, statement: ast.stmt) -> str | None:
        """Return the function of ``_MADE`` that creates the array of a binding."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(value, ast.Call) or not self._facts.is_binding(statement):
            return None
        function = text(value.func).removesuffix("_like")
        return function if function in _MADE else None

    def _is_private(self, variable: str, loop: ast.For | ast.While) -> bool:
        """Return True if an array and its views are used only within one iteration, and its shape is known."""
        shape, shared = self.shapes.of(variable), self._class(variable)
        if None in shape or shared & (self._others | self._live[id(loop.body)] | {*self.results}):
            return False
        within = {id(each) for each in walk(loop.body)}
        bindings = [each for other in shared for each in self._bindings[other]]
        makers = [each for each in bindings if bound_array(each.value) is None]  # type: ignore[attr-defined]
        return len(makers) == 1 and all(id(each) in within for each in bindings) and self._is_known(shape, loop)

    def _is_known(self, shape: Shape, loop: ast.For | ast.While) -> bool:
        """Return True if a shape can be computed before the loop."""
        assigned = {*self.parameters, *self._others, "np", "max"}
        for statement in self._facts.statements:
            if statement is loop:
                break
            assigned |= names_in(statement, ast.Store)
        return all(names_in(expression(str(each))) <= assigned for each in shape)
