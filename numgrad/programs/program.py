"""What is called when a signature is seen again: a program as a function of the tensors of a call.

The function is written for the program: it asks for memory for results, fills in addresses, runs, and makes tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.locations import Location
from ..core.layout import span
from ..core.tensor import Tensor, tensor_of
from ..devices.cpu import address_of
from ..devices.memory import LARGE, empty_row
from ..devices.rows import DeviceRow
from .capture import Capture
from .device_program import DeviceProgram, memory_on
from .linked import BRIEF, LinkedProgram
from .names import block_names
from .node import CompiledBackward
from .plan import Plan
from .steps import OUTSIDE, Block, HostCall, place_of
from .trees import DICTIONARIES, is_record, parts_of, record

#: What a replay returns in which a kernel has reported that something is wrong.
REPORTED = object()

_BYTES = np.dtype(np.uint8)


def alone(tensor: Tensor) -> Tensor:
    """The same elements, and versions, in no graph."""
    alias = tensor_of(tensor._layout, tensor._storage, tensor._offset)
    alias._counter = tensor._counter
    return alias


class Program:
    """A program for calls with one signature, in one state of what the function finds around it.

    Args:
        made: what was recorded.
        saved: the blocks that its backward program is to find.
        attach: gives results their node: ``attach(results, inputs, saved, rows)``; None where they have none.
        attached: the results that it gives one.
        reuse: whether results lie in the same memory each time.
        freed: the call of backward within the program that has used up the graph of these results; None if none has.

    Attributes:
        run: ``run(inputs)`` is the result of the call, or REPORTED.
        executable: what is run: linked machine code, or the launches of a GPU.
        recorder: the steps and blocks.
        names: of the blocks that callers see.
    """

    stale = False

    def __init__(
        self, made: Capture, saved: Sequence[Block] | dict[Block, int] = (), attach: Callable[..., Any] | None = None,
        attached: Sequence[Tensor] = (), reuse: bool = False, freed: Location | None = None,
    ):
        self._reuse = reuse
        self.made = made
        self._saved: dict[Block, int] = saved if isinstance(saved, dict) else {}
        self._results: dict[Block, str] = {}
        self._names: dict[str, Any] = {
            "tensor_of": tensor_of, "address_of": address_of, "REPORTED": REPORTED, "record": record,
        }
        self._dtypes: dict[Block, np.dtype] = {}
        self._made: dict[int, str] = {}
        numbered = [*enumerate(made.inputs)][::-1]  # the first of several counts
        self._numbers = {id(one): number for number, one in numbered}
        self._positions = {id(one._storage): number for number, one in numbered}
        self._counters = {id(one._counter): f"inputs[{number}]._counter" for number, one in numbered}
        self._known_counters = {id(before.tensor._counter) for before in made.known.values()}
        self._kept_tensors: list[Tensor] = []
        self._tensors: list[str] = []  # statements that make tensors
        result = self._expression(made.result)
        for one in attached:  # results are its views, with elements in common
            self._tensor(one)
        grads = [(self._owner(tensor), self._expression(grad)) for tensor, grad in made.grads]
        recorder = made.recorder
        self.plan = Plan(recorder, list(self._results), saved)
        arena = made.arena if recorder.device < 0 and self.plan.arena >= BRIEF else None
        rows = self._rows() if arena is None else {0: "arena.row", **self._rows()}
        self.executable: Any = (
            LinkedProgram(self.plan, recorder.one_thread, list(rows), arena) if recorder.device < 0
            else DeviceProgram(self.plan, recorder.device, list(rows))
        )
        views = self._view_statements()
        live = ", ".join([self._made[id(one)] for one in attached])
        nodes = []
        if freed is not None:
            nodes.append(f"CompiledBackward(({live},), (), None, None, None, freed)")
        elif attached:
            nodes.append(f"attach(({live},), inputs, saved, ({', '.join([*self._made.values(), ''])}))")
        self._names.update(
            attach=attach, freed=freed, CompiledBackward=CompiledBackward, lock=self.executable.lock, arena=arena
        )
        moving = [f"{self._owner(one)}._grad" for one in made.holders]
        self.text = "\n".join(["def run(inputs, saved=None):", *["    " + line for line in [
            *([f"inputs = [*inputs, {', '.join(moving)}]"] if moving else []),
            *[f"{self._owner(tensor)}.requires_grad_()" for tensor in made.required],
            *[f"grad{number} = {name}._grad" for number, (name, _) in enumerate(grads) if self.plan.may_fail],
            *[f"{name}._grad = None" for name, _ in grads],
            *self._memory(), *self._run(rows, grads),
            *self._tensors, *self._versions(), *nodes, *views,
            *[f"{name}._grad = {expression}" for name, expression in grads],
            f"return {result}",
        ]]])
        exec(self.text, self._names)
        self.run: Callable[..., Any] = self._names["run"]
        self.recorder = recorder
        for block in recorder.blocks:  # what comes with each call is not kept from the recorded one
            comes = block.last < 0 or block in self._saved or self._comes(block)
            if comes and block.origin == OUTSIDE and block.size >= LARGE:
                block.held = None
        #: Tensors around the function whose gradients are inputs of the program.
        self.holders = [one for one in made.holders if not any(one is other for other in made.inputs)]
        #: Tensors around the function whose gradients and version counters the program changes.
        self.owners = [tensor for tensor, _ in made.grads if not any(tensor is one for one in made.inputs)]
        given = [id(one._counter) for one in made.inputs]
        self.counters = [counter for counter, _ in made.versions if id(counter) not in given]
        self.names = block_names(made)
        #: The tensors of the recorded call that a replay makes anew, in no graph: for who links backward.
        self.tensors = [*map(alone, self._kept_tensors)] if attach is not None else []
        del self.made, self._kept_tensors  # and with them the graph

    def _name(self, letter: str, value: Any) -> str:
        name = f"{letter}{len(self._names)}"
        self._names[name] = value
        return name

    def _owner(self, tensor: Tensor) -> str:
        """A tensor whose ``grad`` the program reads or sets."""
        number = self._numbers.get(id(tensor))
        return self._name("p", tensor) if number is None else f"inputs[{number}]"

    # -- what is returned ---------------------------------------------------------------------------------

    def _expression(self, tree: Any) -> str:
        """What makes a result like this one."""
        if isinstance(tree, Tensor):
            return self._tensor(tree)
        if isinstance(tree, tuple) or tree.__class__ is list:
            parts = [self._expression(one) for one in tree]
            if isinstance(tree, list):
                return f"[{', '.join(parts)}]"
            if type(tree) is tuple:
                return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
            if hasattr(tree, "_fields"):
                return f"{self._name('t', type(tree))}({', '.join(parts)})"
            return f"{self._name('t', type(tree))}([{', '.join(parts)}])"
        if tree.__class__ in DICTIONARIES:
            items = [f"{self._name('k', key)}: {self._expression(one)}" for key, one in tree.items()]
            return f"{self._name('t', type(tree))}({{{', '.join(items)}}})"
        if is_record(tree):
            items = [f"{name!r}: {self._expression(one)}" for name, one in parts_of(tree).items()]
            return f"record({self._name('t', type(tree))}, {{{', '.join(items)}}})"
        return self._name("v", tree)

    def _tensor(self, tensor: Tensor) -> str:
        """A tensor: one of those given, one that was known before, or a new one."""
        made = self._made.get(id(tensor))
        if made is not None:
            return made
        if id(tensor) in self._numbers:
            return f"inputs[{self._numbers[id(tensor)]}]"
        if id(tensor) in self.made.known:
            return self._name("o", tensor)
        name = self._made[id(tensor)] = f"made{len(self._made)}"
        self._kept_tensors.append(tensor)
        row, offset = self._row_of(tensor)
        layout = self._name("l", tensor._layout)
        self._tensors.append(f"{name} = tensor_of({layout}, {row}, {offset})")
        counter = self._counter_of(tensor)
        if counter:
            self._tensors.append(f"{name}._counter = {counter}")
        return name

    def _view_statements(self) -> list[str]:
        """Statements that tell results of what they are views, of what callers have, too, and which are leaves."""
        lines = []
        for tensor in self._kept_tensors:
            own, is_view = self._made[id(tensor)], False
            if tensor._view is not None:
                root = tensor._root
                is_view = id(root) in self._made or id(root) in self._numbers or id(root) in self.made.known
            if is_view:
                lines.append(f"{self._name('w', tensor._view)}.connect_like({own}, {self._tensor(root)})")
            if tensor._edge is None and (tensor._requires_grad == 1 or is_view):  # otherwise it is in no graph
                lines.append(f"{own}._requires_grad = {tensor._requires_grad}")
        return lines

    def _counter_of(self, tensor: Tensor) -> str:
        """The version counter, where it is that of another tensor, or none."""
        counter = tensor._counter
        name = self._counters.get(id(counter), "")
        if counter.__class__ is not list or (not name and id(counter) in self._known_counters):
            return self._name("c", counter)
        if not name:
            self._counters[id(counter)] = f"{self._made[id(tensor)]}._counter"
        return name

    def _row_of(self, tensor: Tensor) -> tuple[str, str]:
        """The row that a tensor lies in, and where it begins there."""
        recorder, storage = self.made.recorder, tensor._storage
        if storage.__class__ is DeviceRow and not storage.size:
            return self._name("s", storage), str(tensor._offset)
        block = recorder.block_of(storage)
        assert block is not None
        begin = place_of(storage) - block.address
        if block in self._saved:
            return self._part("saved", _BYTES, self._saved[block] + begin, storage), str(tensor._offset)
        if block.origin == OUTSIDE:
            return self._place_outside(tensor, block)
        if block not in self._results:
            self._results[block] = f"row{len(self._results)}"
            self._names[f"new{len(self._results) - 1}"] = self._new(block, storage.dtype)
        row = self._results[block]
        if begin or storage.nbytes != block.size or self._dtypes[block] != storage.dtype:
            row = self._part(row, self._dtypes[block], begin, storage)
        return row, str(tensor._offset)

    def _part(self, row: str, dtype: np.dtype, begin: Any, storage: Any) -> str:
        """The part of a row of this dtype that is a storage, from byte ``begin`` on."""
        if dtype == storage.dtype and not begin % dtype.itemsize:
            start = begin // dtype.itemsize
            return f"{row}[{start}:{start + storage.size}]"
        self._names["bytes_"] = _BYTES
        whole = row if dtype == _BYTES else f"{row}.view(bytes_)"
        return f"{whole}[{begin}:{begin + storage.nbytes}].view({self._name('d', storage.dtype)})"

    def _place_outside(self, tensor: Tensor, block: Block) -> tuple[str, str]:
        """The same of memory that was there before."""
        storage, item = tensor._storage, tensor._storage.dtype.itemsize
        position = self._position(block.number)
        if position is None:
            return self._name("s", storage), str(tensor._offset)
        one = self.made.inputs[position]
        own = f"inputs[{position}]"
        own_item = one._storage.dtype.itemsize
        delta = place_of(storage) + tensor._offset * item - block.address
        if not one._layout.size:  # which is seen from where its memory begins
            delta -= one._offset * own_item
        if one._storage.dtype == storage.dtype:
            return f"{own}._storage", f"{own}._offset + {delta // item}"
        self._names["bytes_"] = _BYTES  # the storage need not be a whole number of the other elements
        from_there = f"{own}._storage.view(bytes_)[{own}._offset * {own_item} + {delta}:]"
        part = f"{from_there}[:{span(tensor._layout.shape, tensor._layout.strides) * item}]"
        return f"{part}.view({self._name('d', storage.dtype)})", "0"

    def _new(self, block: Block, dtype: np.dtype) -> Callable[[], np.ndarray]:
        if block.size % dtype.itemsize:  # a part of it is seen as wider elements
            dtype = _BYTES
        self._dtypes[block] = dtype
        new = self._memory_of(block.size, dtype)
        if not self._reuse:
            return new
        row = new()
        return lambda: row

    def _memory_of(self, size: int, dtype: np.dtype) -> Callable[[], Any]:
        """What gives a new row of so many bytes."""
        device, count = self.made.recorder.device, size // dtype.itemsize
        if device >= 0:
            return memory_on(device, count, dtype)
        return functools.partial(empty_row if size >= LARGE else np.empty, count, dtype)

    def _position(self, number: int) -> int | None:
        """Which argument has the memory of this number that was there before; None if it is no argument's."""
        return self._positions.get(id(self.made.outside[number][0]))

    def _comes(self, block: Block) -> bool:
        """Whether a block is an argument's."""
        return block.origin == OUTSIDE and self._position(block.number) is not None

    # -- what is done before and after --------------------------------------------------------------------

    def _memory(self) -> list[str]:
        lines = [f"{row} = {row.replace('row', 'new')}()" for row in self._results.values()]
        if self.plan.offsets and not self._saved:  # the backward program is given this memory, of however few bytes
            self._names["new_saved"] = self._memory_of(self.plan.saved_size, np.dtype(np.uint8))
            lines.append("saved = new_saved()")
        return lines

    def _rows(self) -> dict[int, str]:
        """By the lines of the table: the rows of this call that stand there."""
        rows = {1: "saved"} if self.plan.offsets else {}
        for line, what in enumerate(self.plan.lines, 2):
            if isinstance(what, Block) and what.size:
                if what in self._results:
                    rows[line] = self._results[what]
                elif what.origin == OUTSIDE and (position := self._position(what.number)) is not None:
                    rows[line] = f"begin{position}"
        return rows

    def _undone(self, rows: dict[int, str]) -> list[str]:
        """The memory that is given back what it held if a kernel reports that something is wrong, or the host does."""
        lines = [(line, what) for line, what in enumerate(self.plan.lines, 2) if isinstance(what, Block)]
        own = {block: rows[line] for line, block in lines if line in rows}
        return [own.get(block) or self._name("u", block.array()) for block in self.plan.undone]

    def _run(self, rows: dict[int, str], grads: Sequence[tuple[str, str]]) -> list[str]:
        """Statements that run the program."""
        executable, effects = self.executable, [self._name("e", effect) for effect in self.made.recorder.effects]
        for line, what in enumerate(self.plan.lines, 2):
            if isinstance(what, Block) and what.origin == OUTSIDE and line not in rows and executable.addresses:
                executable.addresses[line] = what.address
        if not self.plan.steps:
            return [f"{effect}.advance()" for effect in effects]
        self._names.update(
            run_program=executable.run, clear_reports=executable.clear_reports, addresses=executable.addresses
        )
        undone = self._undone(rows)
        undo = [
            *[f"    {name}[...] = kept_{name}" for name in undone],
            *[f"    {effect}.undo()" for effect in effects],
            *[f"    {name}._grad = grad{number}" for number, (name, _) in enumerate(grads) if self.plan.may_fail],
        ]
        run = [f"wrong = run_program({executable.takes})"]
        if any(isinstance(stretch, HostCall) for stretch in self.plan.steps):  # the function will raise it again
            run = ["try:", f"    {run[0]}", "except Exception:", "    wrong = 1"]
        lines = [
            *[f"addresses[{line}] = address_of({row})" for line, row in rows.items() if not executable.passed],
            *([f"rows = {', '.join(rows.values())},"] if executable.passed else []),
            *[f"kept_{name} = {name}.copy()" for name in undone],
            *[f"{effect}.advance()" for effect in effects],
            *run, "if wrong:", "    clear_reports()", *undo, "    return REPORTED",
        ]
        begins = []
        for row in dict.fromkeys(rows.values()):
            if row.startswith("begin"):
                one = f"inputs[{row.removeprefix('begin')}]"
                begins.append(f"{row} = {one}._storage")
                if self.made.inputs[int(row.removeprefix("begin"))]._layout.size:
                    begins += [f"if {one}._offset:", f"    {row} = {row}[{one}._offset:]"]
        return [*begins, *(lines if executable.brief else ["with lock:", *["    " + line for line in lines]])]

    def _versions(self) -> list[str]:
        """Statements that count the changes of tensors that were there before."""
        lines = []
        for counter, change in self.made.versions:
            numbers = [number for number, one in enumerate(self.made.inputs) if one._counter is counter]
            name = f"inputs[{numbers[0]}]._counter" if numbers else self._name("c", counter)
            lines.append(f"{name}[0] += {change}")
        return lines
