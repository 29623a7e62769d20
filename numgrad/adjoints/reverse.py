"""Reverse mode: the adjoint of a function in normal form.

The adjoint runs the function again, storing the overwritten values that the derivatives need, and then runs the adjoint
of each statement in reverse order.  Every active array has a shadow, an array with its derivative; a view of the array
has the same view of the shadow.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from numba.core import types

from ..ops.table.op import parameters
from .analysis import Analysis, bound_array, flag_of, shadow_of, target_of
from .buffers import Shapes
from .cotangents import Cotangents, indented
from .inference import empty, is_floating, zero
from .normal import NormalForm, bounds_of
from .procedures import PREFIX, RULES, call_of, clear, pop, push
from .source import index_text, names_in, placing, text
from .storing import Storing


@dataclass
class Adjoint:
    """Source of an adjoint, and its calling convention.

    Its arguments are those of the function, a shadow for each of ``shadows``, a cotangent for each of ``seeds``, and
    the tapes of floating-point numbers, integers and branches.  It returns the results of the function, the derivatives
    by ``scalars``, the sizes that the tapes need, and the bytes of the arrays that it keeps.  If a tape is too small,
    the derivatives are not valid.
    """

    name: str
    source: str
    shadows: list[str]
    seeds: list[str]
    scalars: list[str]
    written: list[str]
    facts: Analysis = field(repr=False)


class Reverse:
    """Generator of the adjoint of one function by the parameters ``by``."""

    def __init__(self, normal: NormalForm, by: list[str], same: list[tuple[str, str]]):
        self.normal, self.names, self.kinds = normal, normal.names, normal.kinds
        self.facts = facts = Analysis(normal.body, normal.kinds)
        for first, second in same:
            facts.aliases.share(first, second)
        self.written = facts.written(normal.parameters, same)
        inputs = {self._value_key(each) for each in by}
        outputs = {self._value_key(each) for each in [*normal.results, *self.written]}
        facts.activate(inputs, outputs)
        self._shadows: dict[str, str] = {}
        self._recording = True  # False where the function runs without storing what it overwrites
        #: Loops that the reverse pass runs again.
        self.repeated: list[ast.For | ast.While] = self._repeated_loops(normal.body)
        self._prepare()

    def _value_key(self, variable: str) -> str:
        return self.facts.contents(variable) if self.facts.is_array(variable) else variable

    def _repeated_loops(self, block: list[ast.stmt]) -> list[ast.For | ast.While]:
        return []

    def shadow(self, variable: str) -> str:
        """Return the name of the derivative by a name."""
        if variable not in self._shadows:
            self._shadows[variable] = self.names.fresh(f"{variable}_b")
        return self._shadows[variable]

    # -- single statements

    def _prepare(self) -> None:
        self._adjoints: dict[int, list[str]] = {}
        uses: dict[int, set[str]] = {}
        self._stable = self.facts.stable(self.normal.parameters) | self.facts.counters
        for statement in self.facts.statements:
            with placing(statement):
                if isinstance(statement, ast.If):
                    again = self._evaluated_again(statement)
                    uses[id(statement)] = self.facts.reads(statement.test) if again else set()
                elif isinstance(statement, ast.For):
                    uses[id(statement)] = names_in(statement.iter)
                elif target_of(statement) is not None:
                    lines, read = self._adjoint(statement)  # type: ignore[arg-type]
                    self._adjoints[id(statement)] = lines
                    uses[id(statement)] = read
        normal = self.normal
        shapes = Shapes(self.facts, normal.parameters, dict.fromkeys(self.kinds.keys() & normal.namespace.keys()))
        self.storing = Storing(self.facts, uses, normal.results, shapes, self.repeated)

    def _evaluated_again(self, statement: ast.If) -> bool:
        elements = [
            each for each in ast.walk(statement.test)
            if isinstance(each, ast.Subscript) and not isinstance(each.value, ast.Attribute)
        ]
        return not elements and {each for each in names_in(statement.test) if each in self.kinds} <= self._stable

    def _adjoint(self, statement: ast.Assign | ast.AugAssign) -> tuple[list[str], set[str]]:
        """Return the adjoint of an assignment to a number, and the keys that the adjoint reads."""
        facts = self.facts
        if (call := call_of(statement)) is not None:
            return self._adjoint_of_call(call)
        passing = Cotangents(facts, self.names, self.shadow, self.normal.derivatives)
        target = target_of(statement)
        assert isinstance(target, (ast.Name, ast.Subscript))
        if facts.is_binding(statement) or facts.key(target) not in facts.active:
            return [], set()
        if isinstance(target, ast.Subscript):
            assert isinstance(target.value, ast.Name)
            passing.use(target.slice)
            passing.uses.add(target.value.id)
            shadow = f"{self.shadow(target.value.id)}[{index_text(target)}]"
        else:
            shadow = self.shadow(target.id)
        value: ast.expr = statement.value
        if isinstance(statement, ast.AugAssign):
            if facts.is_active(value):
                sign = "" if isinstance(statement.op, ast.Add) else "-"
                cotangent = sign + shadow
                passing.pass_on(value, passing.held(cotangent) if isinstance(target, ast.Subscript) else cotangent)
            return passing.lines, passing.uses
        if (added := _added_to(target, value)) is not None:
            sign, term = added
            if facts.is_active(term):
                cotangent = sign + shadow
                passing.pass_on(term, passing.held(cotangent) if isinstance(target, ast.Subscript) else cotangent)
            return passing.lines, passing.uses
        if facts.is_active(value):
            held = self.names.fresh("t")
            passing.lines += [f"{held} = {shadow}", f"{shadow} = 0.0"]
            passing.pass_on(value, held)
        else:
            passing.lines.append(f"{shadow} = 0.0")
        return passing.lines, passing.uses

    def _adjoint_of_call(self, call: ast.Call) -> tuple[list[str], set[str]]:
        """Return the adjoint of the call of a procedure, and the keys that the adjoint reads."""
        facts = self.facts
        function, out = self.normal.namespace[text(call.func)].py_func, text(call.args[0])
        if not facts.is_active_array(out):
            return [], set()
        operands = dict(zip(parameters(function), map(text, call.args), strict=True))
        active = {parameter: each for parameter, each in operands.items() if facts.is_active_array(each)}
        shadows = {f"{parameter}_b": self.shadow(each) for parameter, each in active.items()}
        lines: list[str] = []
        uses = {*operands.values()}
        for operand, rule in RULES[function].items():
            if operand in active:
                passed = parameters(rule.py_func)
                lines.append(self._call(rule, *[(operands | shadows)[each] for each in passed]))
                uses |= {facts.contents(operands[each]) for each in passed if each in operands}
        return [*lines, self._call(clear, shadows["out_b"])], uses

    def _call(self, function: Any, *arguments: str) -> str:
        """Return the call of a procedure or rule."""
        self.normal.namespace[name := PREFIX + function.__name__] = function
        return f"{name}({', '.join(arguments)})"

    # -- the forward sweep

    def _forward(self, block: list[ast.stmt]) -> list[str]:
        lines: list[str] = []
        for statement in block:
            if isinstance(statement, ast.If):
                lines += self._forward_if(statement)
            elif isinstance(statement, (ast.For, ast.While)):
                lines += self._forward_loop(statement)
            else:
                if self._recording and id(statement) in self.storing.stored:
                    lines += self._stored(statement)
                lines += self._executed(statement)
        return lines

    def _executed(self, statement: ast.stmt) -> list[str]:
        """Return the source of a statement; for a binding, followed by the binding of the shadow."""
        lines = [text(statement)]
        if self._recording and self.facts.is_binding(statement):
            variable, value = statement.targets[0].id, statement.value  # type: ignore[attr-defined]
            if self.facts.is_active_array(variable):
                source = bound_array(value)
                zeros = f"np.zeros_like({variable})"
                created = zeros if source is None else shadow_of(value, source, self.shadow(source))
                lines.append(f"{self.shadow(variable)} = {created}")
        return lines

    def _stored(self, statement: ast.stmt) -> list[str]:
        target = target_of(statement)
        assert target is not None
        if isinstance(target, ast.Name) and self.facts.is_array(target.id):
            lines = []
            for variable in self._with_shadow(target.id):
                lines.append(f"{self._stack(variable, target.id)}.append({variable})")
                if bound_array(statement.value) is None:  # type: ignore[attr-defined]
                    lines.append(f"{self.kept} += {variable}.nbytes")  # only the list keeps the array
            return lines
        if isinstance(target, ast.Subscript) and call_of(statement):
            array = text(target.value)
            return [self._call(push, self.tape, self.tape_at, array), f"{self.tape_at} += {array}.size"]
        return self._push(text(target), self._kind(target))

    def _stack(self, variable: str, array: str) -> str:
        """Return the name of the list of arrays to which ``variable``, the array or its shadow, was bound."""
        if variable not in self._stacks:
            self._stacks[variable] = self.names.fresh(f"{variable}_stack"), self.kinds[array]
        return self._stacks[variable][0]

    def _with_shadow(self, variable: str) -> list[str]:
        return [variable, self.shadow(variable)] if self.facts.is_active_array(variable) else [variable]

    def _kind(self, target: ast.expr) -> types.Type:
        if isinstance(target, ast.Name):
            return self.kinds[target.id]
        return self.kinds[target.value.id].dtype  # type: ignore[attr-defined]

    def _tape(self, kind: types.Type) -> tuple[str, str]:
        if isinstance(kind, types.Boolean):
            return self.branches, self.branches_at
        return (self.tape, self.tape_at) if is_floating(kind) else (self.integers, self.integers_at)

    def _push(self, value: str, kind: types.Type) -> list[str]:
        """Return lines that store a value on a tape if there is room, and increment its position in any case.

        A call of a function would take ten times as long, since it counts references to the tape.
        """
        tape, at = self._tape(kind)
        return [f"if {at} < {tape}.size:", f"    {tape}[{at}] = {value}", f"{at} += 1"]

    def _pop(self, target: str, kind: types.Type) -> list[str]:
        tape, at = self._tape(kind)
        value = f"{tape}[{at}]"
        return [f"{at} -= 1", f"{target} = {value} != 0" if isinstance(kind, types.Boolean) else f"{target} = {value}"]

    def _forward_if(self, statement: ast.If) -> list[str]:
        lines: list[str] = []
        after: list[str] = []
        test = text(statement.test)
        if self._recording and id(statement) in self._reversed and not self._evaluated_again(statement):
            branch = self._branch(statement)
            lines.append(f"{branch} = bool({test})")
            after = self._push(branch, types.boolean)  # after the block, since the reverse pass needs it first
            test = branch
        lines += [f"if {test}:", *indented(self._forward(statement.body) or ["pass"])]
        if statement.orelse:
            lines += ["else:", *indented(self._forward(statement.orelse))]
        return lines + after

    def _branch(self, statement: ast.If) -> str:
        if id(statement) not in self._branches:
            self._branches[id(statement)] = self.names.fresh("branch")
        return self._branches[id(statement)]

    def _counted(self, loop: ast.For | ast.While) -> bool:
        return isinstance(loop, ast.While) or flag_of(loop) is not None

    def _forward_loop(self, loop: ast.For | ast.While) -> list[str]:
        body = self._forward(self._block_of_loop(loop))
        if not self._recording or id(loop) not in self._reversed or not self._counted(loop):
            return self._whole_loop(loop, body)
        times = self._times.setdefault(id(loop), self.names.fresh("times"))
        return [f"{times} = 0", *self._whole_loop(loop, [*body, f"{times} += 1"]), *self._push(times, types.int64)]

    @staticmethod
    def _whole_loop(loop: ast.For | ast.While, body: list[str]) -> list[str]:
        """Return a loop with its head, its body and its ``break``."""
        over = f"for {text(loop.target)} in {text(loop.iter)}:" if isinstance(loop, ast.For) else ""
        leaving = text(loop.body[-1]).splitlines() if flag_of(loop) else []
        return [over or f"while {text(loop.test)}:", *indented([*body, *leaving] or ["pass"])]  # type: ignore[union-attr]

    @staticmethod
    def _block_of_loop(loop: ast.For | ast.While) -> list[ast.stmt]:
        return loop.body[:-1] if flag_of(loop) else loop.body

    # -- the reverse sweep

    def _backward(self, block: list[ast.stmt]) -> list[str]:
        late: dict[int, list[str]] = {}
        for statement in block:
            if self.storing.computes_again(statement):
                target = min(self.storing.again[id(statement)], len(block))
                late.setdefault(target, []).extend(self._executed(statement))
        lines: list[str] = []
        for position in range(len(block) - 1, -1, -1):
            statement = block[position]
            again = late.get(position, [])
            if isinstance(statement, ast.If):
                lines += [*self._backward_if(statement), *again]
            elif isinstance(statement, (ast.For, ast.While)):
                lines += [*self._backward_loop(statement), *again]
            else:
                restored = self._restored(statement) if id(statement) in self.storing.stored else []
                adjoint = self._adjoints.get(id(statement), [])
                first, last = (adjoint, []) if call_of(statement) else ([], adjoint)  # rules read ``out`` as it is now
                lines += [*first, *restored, *again, *last]
        return [*late.get(len(block), []), *lines] if lines else []

    def _restored(self, statement: ast.stmt) -> list[str]:
        target = target_of(statement)
        assert target is not None
        if isinstance(target, ast.Name) and self.facts.is_array(target.id):
            arrays = self._with_shadow(target.id)
            return [f"{array} = {self._stack(array, target.id)}.pop()" for array in arrays]
        if isinstance(target, ast.Subscript) and call_of(statement):
            array = text(target.value)
            return [f"{self.tape_at} -= {array}.size", self._call(pop, array, self.tape, self.tape_at)]
        return self._pop(text(target), self._kind(target))

    def _backward_if(self, statement: ast.If) -> list[str]:
        body, orelse = self._backward(statement.body), self._backward(statement.orelse)
        if not body and not orelse:
            return []
        self._reversed.add(id(statement))
        lines, test = [], text(statement.test)
        if not self._evaluated_again(statement):
            test = self._branch(statement)
            lines = self._pop(test, types.boolean)
        lines += [f"if {test}:", *indented(body or ["pass"])]
        return lines + (["else:", *indented(orelse)] if orelse else [])

    def _backward_loop(self, loop: ast.For | ast.While) -> list[str]:
        body = self._backward(self._block_of_loop(loop))
        if not body:
            return []
        self._reversed.add(id(loop))
        lines = []
        if self._counted(loop):
            times = self._times.setdefault(id(loop), self.names.fresh("times"))
            lines = self._pop(times, types.int64)
        else:
            times = f"len({text(loop.iter)})"  # type: ignore[union-attr]
        if isinstance(loop, ast.While):
            return [*lines, f"for {self.names.fresh('back')} in range({times}):", *indented(body)]
        counter = text(loop.target)
        start, stop, step = bounds_of(loop)
        if step == "1" and not self._counted(loop):
            if start == "0":
                return [f"for {counter} in range({stop} - 1, -1, -1):", *indented(body)]
            return [f"for {counter} in range({stop} - 1, {start} - 1, -1):", *indented(body)]
        back = self.names.fresh("back")
        head = f"for {back} in range({times} - 1, -1, -1):"
        return [*lines, head, *indented([f"{counter} = {start} + {back} * ({step})", *body])]

    def _seeded(self, result: str, seed: str) -> list[str]:
        """Return lines that set the cotangent of a result, as loops, which compile faster than array expressions."""
        shadow = self.shadow(result)
        if not self.facts.is_array(result):
            return [f"{shadow} = {seed}"]
        places = [self.names.fresh("ijklmn"[axis]) for axis in range(self.kinds[result].ndim)]
        element = f"[{', '.join(places)}]"
        lines = [f"{shadow}{element} += {seed}{element}"]
        for axis in range(len(places) - 1, -1, -1):
            lines = [f"for {places[axis]} in range({seed}.shape[{axis}]):", *indented(lines)]
        return lines

    # -- the whole adjoint

    def adjoint(self) -> Adjoint:
        """Return the adjoint of the function."""
        normal, facts, names = self.normal, self.facts, self.names
        self._stacks: dict[str, tuple[str, types.Array]] = {}
        self._branches: dict[int, str] = {}
        self._times: dict[int, str] = {}
        self._counts: list[str] = []  # integers that are initialized to zero
        self._bound_first: set[str] = set()  # arrays that are read where they may not be bound
        self._reversed: set[int] = set()
        self.tape, self.integers, self.branches = map(names.fresh, ("tape", "integers", "branches"))
        self.tape_at, self.integers_at, self.branches_at = map(names.fresh, ("tape_at", "integers_at", "branches_at"))
        self.kept = names.fresh("kept")
        counts = [self.tape_at, self.integers_at, self.branches_at, self.kept]
        scalars = [each for each in normal.parameters if each in facts.active]
        used = [names.fresh(each) for each in ("used", "integers_used", "branches_used")]
        self._used = dict(zip(used, counts, strict=False))
        outputs = [names.fresh(f"{each}_out") if not facts.is_array(each) else each for each in normal.results]
        returned = [*outputs, *[self.shadow(each) for each in scalars], *used, self.kept]
        self._return = f"return ({', '.join(returned)},)"
        self._fits = " and ".join(
            f"{use} <= {tape}.size" for use, tape in zip(used, (self.tape, self.integers, self.branches), strict=True)
        )
        backward = self._backward(normal.body)
        forward = self._forward(normal.body)
        shadows = [each for each in normal.parameters if facts.is_array(each) and facts.is_active_array(each)]
        seeds = {each: names.fresh(f"{each}_seed") for each in normal.results if self._value_key(each) in facts.active}
        lines = [f"{each} = 0" for each in [*counts, *self._counts]]
        lines += [f"{stack} = [{empty(kind)}]" for stack, kind in self._stacks.values()]
        assigned = names_in(normal.body, ast.Store) - set(normal.parameters) - facts.counters
        for each in sorted(assigned):
            if not facts.is_array(each):
                lines.append(f"{each} = {zero(self.kinds[each])}")
            elif each in self._stacks or each in self._bound_first:
                lines += [f"{variable} = {empty(self.kinds[each])}" for variable in self._with_shadow(each)]
        lines += ["# forward sweep", *forward]
        lines += [f"{out} = {each}" for out, each in zip(outputs, normal.results, strict=True) if out != each]
        lines += [f"{use} = {count}" for use, count in self._used.items()]
        lines += [
            f"{self.shadow(each)} = {zero(self.kinds[each])}"
            for each in sorted(facts.active) if not each.startswith("#") and each not in seeds
        ]
        reverse = []
        for result, seed in seeds.items():
            reverse += self._seeded(result, seed)
        reverse += backward
        lines += ["# reverse sweep", f"if {self._fits}:", *indented(reverse or ["pass"]), self._return]
        variable = names.fresh(f"{normal.name}_adjoint")
        parameters = [
            *normal.parameters, *[self.shadow(each) for each in shadows], *seeds.values(),
            self.tape, self.integers, self.branches,
        ]
        source = f"def {variable}({', '.join(parameters)}):\n" + "\n".join(indented(lines)) + "\n"
        return Adjoint(variable, source, shadows, list(seeds), scalars, self.written, facts)


def _added_to(target: ast.expr, value: ast.expr) -> tuple[str, ast.expr] | None:
    """Return the sign and the term of ``x = x + term`` or ``x = x - term``, whose derivative by x is 1."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return None
    if text(value.left) != text(target) or (isinstance(target, ast.Name) and target.id in names_in(value.right)):
        return None
    return ("" if isinstance(value.op, ast.Add) else "-"), value.right
