"""Programs as functions of the tensors of a call.

A replay calls the function, which is generated for the program: it allocates results, fills in addresses, runs the
program, and creates tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.locations import Location
from ..core.layout import span
from ..devices.buffers import DeviceBuffer
from ..devices.cpu import address_of
from ..devices.memory import LARGE, empty_buffer
from ..tensors.tensor import Tensor, tensor_of
from .background import in_background
from .block_names import block_names
from .captured import Capture
from .device_program import DeviceProgram, memory_on, results_on
from .linked import BRIEF, LinkedProgram
from .memory_plan import MemoryPlan
from .merged_launches import merged_steps
from .node import CompiledBackward
from .recorded_steps import OUTSIDE, Block, HostCall, start_address
from .side_effects import advance_all
from .tiled import tiled_steps
from .trees import DICTIONARIES, fields_of, is_dataclass_value, new_instance

#: The number of runs after which the kernels of a program may be merged and tiled.
_RUNS = 3

#: The result of a replay in which a kernel has reported an error.
REPORTED = object()

_BYTES = np.dtype(np.uint8)


def alone(tensor: Tensor) -> Tensor:
    """Return a tensor with the same elements and version counter, in no graph."""
    alias = tensor_of(tensor._layout, tensor._storage, tensor._offset)
    alias._counter = tensor._counter
    return alias


class Program:
    """A program for calls with one signature and one state of the environment.

    Args:
        captured: the record of the call.
        saved: the blocks saved for its backward program; for the backward program itself, a dictionary of their
            offsets.
        attach: attaches the node to results, as ``attach(results, inputs, saved, new_tensors)``; None without a node.
        attached: the results with a node.
        reuse: True if results lie in the same memory each time.
        freed: the call of backward within the program that has freed the graph of these results; None if there is none.
        improve: called in the background after several runs, instead of the method.

    Attributes:
        run: ``run(inputs)`` returns the result of the call, or REPORTED.
        text: the text of that function.
        plan: the plan of its memory.
        executable: linked machine code, or the launches of a GPU.
        recorder: the recorder, with the steps and blocks.
        names: names of the blocks that are visible to callers.
        gradient_owners: tensors in the environment whose gradients are inputs.
        owners: tensors in the environment whose gradients the program sets.
        counters: version counters in the environment that it increments.
        tensors: the new tensors of the recorded call, in no graph, for the program of backward.
    """

    stale = False

    def __init__(
        self, captured: Capture, saved: Sequence[Block] | dict[Block, int] = (),
        attach: Callable[..., Any] | None = None, attached: Sequence[Tensor] = (), reuse: bool = False,
        freed: Location | None = None, improve: Callable[[], None] | None = None,
    ):
        self.recorder = recorder = captured.recorder
        self._reuse, self._captured = reuse, captured
        self._saved: dict[Block, int] = saved if isinstance(saved, dict) else {}
        self._results: dict[Block, str] = {}  # names of buffers
        self._dtypes: dict[Block, np.dtype] = {}
        self._names: dict[str, Any] = {
            "tensor_of": tensor_of, "address_of": address_of, "REPORTED": REPORTED, "new_instance": new_instance,
            "attach": attach, "freed": freed, "CompiledBackward": CompiledBackward, "bytes_": _BYTES,
        }
        numbered = [*enumerate(captured.inputs)][::-1]  # of equal inputs, the first one is used
        self._numbers = {id(tensor): number for number, tensor in numbered}
        self._positions = {id(tensor._storage): number for number, tensor in numbered}
        self._counters = {id(tensor._counter): f"inputs[{number}]._counter" for number, tensor in numbered}
        self._known_counters = {id(before.tensor._counter) for before in captured.states.values()}
        self._new: dict[int, str] = {}  # names of new tensors
        self._new_tensors: list[Tensor] = []
        self._statements: list[str] = []  # they create the new tensors
        result = self._expression(captured.result)
        for tensor in attached:  # results may be overlapping views of it
            self._tensor(tensor)
        grads = [(self._owner(tensor), self._expression(grad)) for tensor, grad in captured.grads]
        self.plan = MemoryPlan(recorder, list(self._results), saved)
        self._may_fail = self.plan.may_fail or any(effect.may_fail for effect in recorder.effects)
        arena = captured.arena if recorder.device < 0 and self.plan.arena >= BRIEF else None
        buffers = self._buffers() if arena is None else {0: "arena.buffer", **self._buffers()}
        self._link: Callable[[MemoryPlan], Any] = functools.partial(
            LinkedProgram, one_thread_only=recorder.one_thread, passed=list(buffers), arena=arena
        )
        if recorder.device >= 0:
            self._link = functools.partial(DeviceProgram, device=recorder.device, passed=list(buffers))
        self.executable: Any = self._link(self.plan)
        self._names["arena"] = arena
        views = self._views()
        live, nodes = ", ".join([self._new[id(tensor)] for tensor in attached]), []
        if freed is not None:
            nodes.append(f"CompiledBackward(({live},), (), None, None, None, freed)")
        elif attached:
            nodes.append(f"attach(({live},), inputs, saved, ({', '.join([*self._new.values(), ''])}))")
        moving = [f"{self._owner(tensor)}._grad" for tensor in captured.gradient_owners]
        self.text = "\n".join(["def run(inputs, saved=None):", *["    " + line for line in [
            *([f"inputs = [*inputs, {', '.join(moving)}]"] if moving else []),
            *[f"{self._owner(tensor)}.requires_grad_()" for tensor in captured.required],
            *[f"grad{number} = {name}._grad" for number, (name, _) in enumerate(grads) if self._may_fail],
            *[f"{name}._grad = None" for name, _ in grads],
            *self._allocations(), *self._run(buffers, grads),
            *self._statements, *self._increments(), *nodes, *views,
            *[f"{name}._grad = {expression}" for name, expression in grads],
            f"return {result}",
        ]]])
        self.run: Callable[..., Any] = self._function(self.executable)
        if self.plan.traffic >= BRIEF or recorder.device >= 0:
            self._runs, self._improve = 0, improve or self.improve
            self.run = functools.partial(self._first_runs, self.run)
        for block in recorder.blocks:  # release the memory of the recorded call that is new in each call
            is_new = block.last < 0 or block in self._saved or self._position(block) is not None
            if is_new and block.origin == OUTSIDE and block.size >= LARGE:
                block.held = None
        arguments = {id(tensor) for tensor in captured.inputs}
        self.gradient_owners = [tensor for tensor in captured.gradient_owners if id(tensor) not in arguments]
        self.owners = [tensor for tensor, _ in captured.grads if id(tensor) not in arguments]
        of_arguments = {id(tensor._counter) for tensor in captured.inputs}
        self.counters = [counter for counter, _ in captured.versions if id(counter) not in of_arguments]
        self.names = block_names(captured)
        self.tensors = [*map(alone, self._new_tensors)] if attach is not None else []
        del self._captured, self._new_tensors  # releases the graph, too

    def _function(self, executable: Any) -> Callable[..., Any]:
        """Return the function of the program's text that runs this executable."""
        if executable.addresses:
            for line, address in self._fixed.items():
                executable.addresses[line] = address
        names = self._names | {
            "run_program": executable.run, "clear_reports": executable.clear_reports, "lock": executable.lock,
            "addresses": executable.addresses,
            "executable": executable,  # as long as a call can use it, the arena must not become too small for it
        }
        exec(self.text, names)
        return names.pop("run")  # without a reference to itself, which would keep the executable's memory

    def _first_runs(self, run: Callable[..., Any], inputs: Sequence[Tensor], saved: Any = None) -> Any:
        """Run the program; after several runs, begin to improve it in the background."""
        self._runs += 1
        if self._runs == _RUNS:
            self.run = run
            in_background(self._improve)
        return run(inputs, saved)

    def improve(self) -> None:
        """Merge pointwise kernels, and on the CPU make groups of kernels run tile by tile; see Note [Groups]."""
        kept, recorded, device = {*self._results, *self.plan.offsets}, self.recorder.steps, self.recorder.device
        steps: Sequence[Any] = tiled_steps(recorded, kept) if device < 0 else merged_steps(recorded, kept, device)
        if len(steps) != len(recorded):
            self.run_steps(steps, self._saved or list(self.plan.offsets))

    def run_steps(self, steps: Sequence[Any], saved: Sequence[Block] | dict[Block, int], **names: Any) -> None:
        """Run these steps from now on, which have the same effect but may save other blocks.

        Args:
            names: other values of names in the program's text.
        """
        lines = [what for what in self.plan.lines if isinstance(what, Block)]  # the text states their numbers
        plan = MemoryPlan(self.recorder, list(self._results), saved, steps, lines)
        executable = self._link(plan)
        self._names = self._names | names
        if "allocate_saved" in self._names:
            self._names["allocate_saved"] = self._allocator(plan.saved_size, _BYTES)
        self.run, self.executable, self.plan = self._function(executable), executable, plan
        if (arena := self._names["arena"]) is not None:
            arena.serve(executable, plan.arena)  # the executable before may have needed more

    def _name(self, letter: str, value: Any) -> str:
        name = f"{letter}{len(self._names)}"
        self._names[name] = value
        return name

    def _owner(self, tensor: Tensor) -> str:
        """Return the expression for a tensor whose ``grad`` the program reads or sets."""
        number = self._numbers.get(id(tensor))
        return self._name("p", tensor) if number is None else f"inputs[{number}]"

    # -- results ---------------------------------------------------------------------------------------------------

    def _expression(self, tree: Any) -> str:
        """Return the expression that creates a result like this one."""
        if isinstance(tree, Tensor):
            return self._tensor(tree)
        if isinstance(tree, tuple) or tree.__class__ is list:
            parts = ", ".join([self._expression(part) for part in tree])
            if isinstance(tree, list):
                return f"[{parts}]"
            if type(tree) is tuple:
                return f"({parts}{',' * (len(tree) == 1)})"
            return f"{self._name('t', type(tree))}({parts if hasattr(tree, '_fields') else f'[{parts}]'})"
        if tree.__class__ in DICTIONARIES:
            items = [f"{self._name('k', key)}: {self._expression(value)}" for key, value in tree.items()]
            return f"{self._name('t', type(tree))}({{{', '.join(items)}}})"
        if is_dataclass_value(tree):
            items = [f"{name!r}: {self._expression(value)}" for name, value in fields_of(tree).items()]
            return f"new_instance({self._name('t', type(tree))}, {{{', '.join(items)}}})"
        return self._name("v", tree)

    def _tensor(self, tensor: Tensor) -> str:
        """Return the expression for a tensor: an argument, one that existed before, or a new one."""
        name = self._new.get(id(tensor))
        if name is not None:
            return name
        if id(tensor) in self._numbers:
            return f"inputs[{self._numbers[id(tensor)]}]"
        if id(tensor) in self._captured.states:
            return self._name("o", tensor)
        name = self._new[id(tensor)] = f"new{len(self._new)}"
        self._new_tensors.append(tensor)
        buffer, offset = self._buffer_of(tensor)
        self._statements.append(f"{name} = tensor_of({self._name('l', tensor._layout)}, {buffer}, {offset})")
        counter = self._counter_of(tensor)
        if counter:
            self._statements.append(f"{name}._counter = {counter}")
        return name

    def _views(self) -> list[str]:
        """Return statements that connect views to their bases, and mark leaves."""
        lines = []
        for tensor in self._new_tensors:
            name, is_view = self._new[id(tensor)], False
            if tensor._view is not None:
                root = tensor._root
                is_view = id(root) in self._new or id(root) in self._numbers or id(root) in self._captured.states
            if is_view:
                lines.append(f"{self._name('w', tensor._view)}.connect_like({name}, {self._tensor(root)})")
            if tensor._edge is None and (tensor._requires_grad == 1 or is_view):  # otherwise the tensor is in no graph
                lines.append(f"{name}._requires_grad = {tensor._requires_grad}")
        return lines

    def _counter_of(self, tensor: Tensor) -> str:
        """Return the expression for a version counter shared with another tensor; empty if the tensor has its own."""
        counter = tensor._counter
        name = self._counters.get(id(counter), "")
        if counter.__class__ is not list or (not name and id(counter) in self._known_counters):
            return self._name("c", counter)
        if not name:
            self._counters[id(counter)] = f"{self._new[id(tensor)]}._counter"
        return name

    def _buffer_of(self, tensor: Tensor) -> tuple[str, str]:
        """Return the expressions for the buffer of a tensor, and for its offset in the buffer."""
        storage, offset = tensor._storage, str(tensor._offset)
        if storage.__class__ is DeviceBuffer and not storage.size:
            return self._name("s", storage), offset
        block = self.recorder.block_of(storage)
        assert block is not None
        begin = start_address(storage) - block.address
        if block in self._saved:
            return self._part("saved", _BYTES, self._saved[block] + begin, storage), offset
        if block.origin == OUTSIDE:
            return self._buffer_outside(tensor, block)
        if block not in self._results:
            # if a part is used with wider elements, the buffer consists of bytes
            dtype = _BYTES if block.size % storage.dtype.itemsize else storage.dtype
            number, self._dtypes[block] = len(self._results), dtype
            self._results[block] = f"buffer{number}"
            allocate = self._allocator(block.size, dtype)
            if self._reuse:
                buffer = allocate()
                self._names[f"allocate{number}"] = lambda: buffer
            elif self.recorder.device < 0:
                self._names[f"allocate{number}"] = allocate
        name = self._results[block]
        if begin or storage.nbytes != block.size or self._dtypes[block] != storage.dtype:
            name = self._part(name, self._dtypes[block], begin, storage)
        return name, offset

    def _part(self, buffer: str, dtype: np.dtype, begin: Any, storage: Any) -> str:
        """Return the expression for the part of a buffer of this dtype that is a storage, from byte ``begin`` on."""
        if dtype == storage.dtype and not begin % dtype.itemsize:
            start = begin // dtype.itemsize
            return f"{buffer}[{start}:{start + storage.size}]"
        whole = buffer if dtype == _BYTES else f"{buffer}.view(bytes_)"
        return f"{whole}[{begin}:{begin + storage.nbytes}].view({self._name('d', storage.dtype)})"

    def _buffer_outside(self, tensor: Tensor, block: Block) -> tuple[str, str]:
        """Return the expressions for a buffer that existed before, and for the offset of a tensor in it."""
        storage, size = tensor._storage, tensor._storage.dtype.itemsize
        position = self._position(block)
        if position is None:
            return self._name("s", storage), str(tensor._offset)
        argument, expression = self._captured.inputs[position], f"inputs[{position}]"
        argument_size = argument._storage.dtype.itemsize
        delta = start_address(storage) + tensor._offset * size - block.address
        if not argument._layout.size:  # its block begins where its memory begins
            delta -= argument._offset * argument_size
        if argument._storage.dtype == storage.dtype:
            return f"{expression}._storage", f"{expression}._offset + {delta // size}"
        # the storage need not be a whole number of the argument's elements
        remaining = f"{expression}._storage.view(bytes_)[{expression}._offset * {argument_size} + {delta}:]"
        part = f"{remaining}[:{span(tensor._layout.shape, tensor._layout.strides) * size}]"
        return f"{part}.view({self._name('d', storage.dtype)})", "0"

    def _allocator(self, size: int, dtype: np.dtype) -> Callable[[], Any]:
        """Return a function that allocates a buffer of this many bytes."""
        device, count = self.recorder.device, size // dtype.itemsize
        if device >= 0:
            return memory_on(device, count, dtype)
        return functools.partial(empty_buffer if size >= LARGE else np.empty, count, dtype)

    def _position(self, block: Block) -> int | None:
        """Return the index of the argument whose memory a block is; None if it belongs to no argument."""
        if block.origin != OUTSIDE:
            return None
        return self._positions.get(id(self._captured.outside[block.number][0]))

    # -- the run ---------------------------------------------------------------------------------------------------

    def _allocations(self) -> list[str]:
        lines = [f"{name} = allocate{number}()" for number, name in enumerate(self._results.values())]
        if self.recorder.device >= 0 and self._results and not self._reuse:
            wanted = [(block.size, block.size // dtype.itemsize, dtype) for block, dtype in self._dtypes.items()]
            self._names["allocate_results"] = results_on(self.recorder.device, wanted)
            lines = [f"{', '.join(self._results.values())}, = allocate_results()"]
        if self.plan.offsets and not self._saved:  # the backward program needs this memory, even if it is empty
            self._names["allocate_saved"] = self._allocator(self.plan.saved_size, _BYTES)
            lines.append("saved = allocate_saved()")
        return lines

    def _buffers(self) -> dict[int, str]:
        """Return the expressions for the buffers of a call, by their lines of the table."""
        buffers = {1: "saved"} if self.plan.offsets else {}
        for line, what in enumerate(self.plan.lines, 2):
            if isinstance(what, Block) and what.size:
                if what in self._results:
                    buffers[line] = self._results[what]
                elif (position := self._position(what)) is not None:
                    buffers[line] = f"begin{position}"
        return buffers

    def _run(self, buffers: dict[int, str], grads: Sequence[tuple[str, str]]) -> list[str]:
        """Return statements that run the program, and that undo its changes if a step fails."""
        executable, plan = self.executable, self.plan
        restore = [f"    {name}._grad = grad{number}" for number, (name, _) in enumerate(grads) if self._may_fail]
        effects = self.recorder.effects
        names = [self._name("e", effect) for effect in effects]
        blocks = {what: line for line, what in enumerate(plan.lines, 2) if isinstance(what, Block)}
        self._fixed = {
            line: block.address for block, line in blocks.items() if block.origin == OUTSIDE and line not in buffers
        }
        advance = [f"{name}.advance()" for name in names]
        if any(effect.may_fail for effect in effects):
            self._names["advance_all"] = functools.partial(advance_all, effects)
            advance = ["try:", "    advance_all()", "except Exception:", *restore, "    return REPORTED"]
        if not plan.steps:
            return advance
        undone = [buffers.get(blocks.get(block, -1)) or self._name("u", block.array()) for block in plan.undone]
        undo = [
            *[f"    {name}[...] = kept_{name}" for name in undone],
            *[f"    {name}.undo()" for name in reversed(names)], *restore,
        ]
        run = [f"wrong = run_program({executable.takes})"]
        if any(isinstance(segment, HostCall) for segment in plan.steps):  # the function itself raises the error again
            run = ["try:", f"    {run[0]}", "except Exception:", "    wrong = 1"]
        passing = [f"addresses[{line}] = address_of({buffer})" for line, buffer in buffers.items()]
        if executable.passed:
            passing = [f"buffers = {', '.join(buffers.values())},"]
        lines = [
            *passing, *[f"kept_{name} = {name}.copy()" for name in undone], *advance, *run,
            "if wrong:", "    clear_reports()", *undo, "    return REPORTED",
        ]
        begins = []
        for buffer in dict.fromkeys(buffers.values()):
            if buffer.startswith("begin"):
                number = int(buffer.removeprefix("begin"))
                begins.append(f"{buffer} = inputs[{number}]._storage")
                if self._captured.inputs[number]._layout.size:
                    offset = f"inputs[{number}]._offset"
                    begins += [f"if {offset}:", f"    {buffer} = {buffer}[{offset}:]"]
        return [*begins, *(lines if executable.brief else ["with lock:", *["    " + line for line in lines]])]

    def _increments(self) -> list[str]:
        """Return statements that increment the version counters of tensors that existed before."""
        lines = []
        for counter, change in self._captured.versions:
            numbers = [number for number, tensor in enumerate(self._captured.inputs) if tensor._counter is counter]
            name = f"inputs[{numbers[0]}]._counter" if numbers else self._name("c", counter)
            lines.append(f"{name}[0] += {change}")
        return lines
