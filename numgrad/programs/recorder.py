"""The recorder of programs, which records work on memory as steps over blocks; see Note [Recording] in ``devices``."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..autograd.locations import Location, calling_location
from ..autograd.watching import NODE, Stop, Watcher
from ..devices.buffers import FIXED, DeviceBuffer
from ..devices.cpu.blas import is_on_one_thread
from ..devices.cpu.threads import threads_take_turns
from ..devices.recording import Effect, Element, WatchedNumber
from ..tensors.tensor import Tensor
from .node import GraphInput
from .recorded_steps import (
    CONSTANT,
    FRESH,
    OUTSIDE,
    Block,
    DeviceCall,
    HostCall,
    KernelCall,
    Load,
    Placed,
    RecordedStep,
    Span,
    has_known_owner,
    root_of,
    start_address,
    whole,
)
from .trees import leaves

_address_of = attrgetter("address")

_TWO_DEVICES = "a program on two devices"


class CaptureError(RuntimeError):
    """A program cannot be recorded as a whole; the message states the reason and the location in the user's program."""


class Recorder(Watcher):
    """The recorder for the thread that creates it.

    Args:
        outside: arrays that existed before, each with the offset of the first byte that the program uses.
        full: True if a program that cannot be replayed is an error.

    Attributes:
        steps: the steps so far.
        blocks: all blocks, in the order of their first use.
        broken: the reason why the program cannot be replayed, with the location; None if it can.
        effects: actions of Python that each run repeats.
        conditions: functions of memory that existed before, on whose values the program depends, each with its value
            and a description.
        tensors: by identity, weak references to the tensors that operations took or returned, with the locations of the
            calls.
        one_thread: True if BLAS must use a single thread.
        walks: True if backward runs within the program.
        begin_of_graph: the first sequence number of the program's own nodes.
        recorded: by sequence number, the locations where nodes were recorded.
        device: the number of the GPU of the program; -1 for the CPU.
    """

    sees_gradients = False

    def __init__(self, outside: Iterable[tuple[Any, int]], full: bool = False):
        self.thread = threading.get_ident()
        self.full = full
        self.steps: list[RecordedStep] = []
        self.blocks: list[Block] = []
        self.broken: tuple[str, Location] | None = None
        self.effects: list[Effect] = []
        self.conditions: list[tuple[Callable[[], bool], bool, str]] = []
        self.tensors: dict[int, tuple[weakref.ref[Any], Location]] = {}
        self.recorded: dict[int, Location] = {}
        self.one_thread = self.walks = False
        self.begin_of_graph = 0
        self._device: int | None = None  # not known yet
        self._blocks: dict[int, Block] = {}  # by the identity of the owner
        self._in_order: list[Block] | None = None  # by address, created at the first search
        self._is_within_step = False
        self._calls: list[tuple[str, Location]] = []  # the operations in progress
        self._nodes: list[tuple[int, str, Location | None]] = []  # the nodes in progress, each with len(_calls)
        for number, (array, offset) in enumerate(outside):
            root = root_of(array)
            if id(root) not in self._blocks:
                self._add(root, OUTSIDE, start_address(array) + offset).number = number

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _add(self, root: Any, origin: str, address: int = 0) -> Block:
        key, blocks = id(root), self._blocks

        def forget(_: Any) -> None:
            blocks.pop(key, None)
            self._in_order = None

        held = None if origin == FRESH else whole(root)
        begin = address or start_address(root)
        size = root.nbytes - (begin - start_address(root))
        block = Block(origin, begin, size, weakref.ref(root, forget), held, first=len(self.steps))
        blocks[key] = block
        self._in_order = None
        self.blocks.append(block)
        return block

    def block_of(self, array: Any) -> Block | None:
        """Return the block of an array; None if the program has not used it."""
        return self._blocks.get(id(root_of(array)))

    def _block_at(self, address: int) -> Block | None:
        """Return the block that has this address."""
        if self._in_order is None:
            self._in_order = sorted([block for block in self._blocks.values() if block.size], key=_address_of)
        position = bisect(self._in_order, address, key=_address_of)
        block = self._in_order[position - 1] if position else None
        return block if block is not None and address < block.address + block.size else None

    def span(self, array: Any, written: bool) -> Span:
        """Return an array as a span of its block, and record that the next step uses it."""
        root = root_of(array)
        block = self._blocks.get(id(root))
        offset = start_address(array) - (start_address(root) if block is None else block.address)
        if block is None:
            block = self._add(root, CONSTANT)
        if written and block.origin == CONSTANT and block.initial is None:
            self.keep_initial(block, root)
        self._use(block, written)
        if array.__class__ is DeviceBuffer:
            return Span(block, offset, array.dtype, (array.size,), (array.itemsize,))
        return Span(block, offset, array.dtype, array.shape, array.strides)

    def _span_at(self, address: int, block: Block) -> Span:
        """Return an address in a block as a span that steps may read and write."""
        self._use(block, True)
        return Span(block, address - block.address, np.dtype(np.uint8), (1,), (1,))

    def _use(self, block: Block, written: bool) -> None:
        block.last = len(self.steps)
        block.written |= written
        if written and block.changed < 0:
            block.changed = len(self.steps)

    def keep_initial(self, block: Block, root: Any) -> None:
        """Keep a copy of a constant's contents, from which replays initialize it."""
        block.initial, block.held = self._within_step(whole(root).copy), None

    # -- notifications of devices ----------------------------------------------------------------------------------

    @property
    def muted(self) -> bool:
        """True if notifications do not concern the program."""
        return self._is_within_step or self.broken is not None or threading.get_ident() != self.thread

    @property
    def device(self) -> int:
        return -1 if self._device is None else self._device

    def _is_on(self, device: int) -> bool:
        """Return True if work on a device is to be recorded, which requires that the program is on the same device."""
        if self.muted:
            return False
        if self._device is None:
            self._device = device
        if self._device != device:
            self.break_off(_TWO_DEVICES)
        return self.broken is None

    def launch(self, kernel: Any, arguments: Sequence[Any], grid: Sequence[int] = ()) -> None:
        """Record a launch of a kernel."""
        facts = kernel.facts
        named = dict(zip(facts.parameters, arguments, strict=True))
        if grid:
            self._call(kernel, arguments, [buffer for name, buffer in named.items() if name in facts.written], grid)
            return
        if not self._is_on(-1):
            return
        if kernel.parallel and threads_take_turns():
            self.break_off(
                "Numba's threading layer 'workqueue' serves one thread at a time: install GNU's OpenMP (libgomp1 in "
                "Debian and Ubuntu, libgomp elsewhere) or 'pip install tbb'"
            )
            return
        watched: dict[int, WatchedNumber] = {}
        for number, (name, value) in enumerate(named.items()):
            if value.__class__ is np.ndarray:
                if name in facts.reports:
                    named[name] = np.full(value.size, False if value.dtype.kind == "b" else -1, value.dtype)
                else:
                    named[name] = self.span(value, name in facts.written)
            elif value.__class__ is Element:
                named[name] = self._operand(value)
            elif isinstance(value, WatchedNumber):
                watched[number], named[name] = value, value.plain()
        launch = KernelCall(tuple(named.values()), *self.current, kernel, watched=watched)
        if facts.hides:
            self._find_addresses(launch, arguments)
        self.steps.append(launch)
        self.one_thread |= is_on_one_thread()

    def _find_addresses(self, launch: KernelCall, arguments: Sequence[Any]) -> None:
        """Record which elements of a buffer of addresses point into blocks, whose addresses vary between calls."""
        parameter = launch.kernel.facts.parameters.index("addresses")
        for index, address in enumerate(arguments[parameter].tolist()):
            block = self._block_at(address) if address else None
            if block is not None:
                launch.addresses.append((parameter, index, self._span_at(address, block)))
        # each run writes into the buffer, so the program gets its own copy
        buffer = arguments[parameter].copy()
        block = self._add(buffer, CONSTANT)
        operands = list(launch.operands)
        operands[parameter] = Span(block, 0, buffer.dtype, buffer.shape, buffer.strides)
        launch.operands = tuple(operands)
        block.last = len(self.steps)

    def call(self, function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """Record and call a function that adds work to a GPU's stream."""
        self._call(function, arguments, written)
        self._within_step(function, *arguments)

    def _call(
        self, function: Any, arguments: Sequence[Any], written: Sequence[Any], grid: Sequence[int] = ()
    ) -> None:
        devices = [leaf.device for leaf in leaves(arguments) if leaf.__class__ is DeviceBuffer and leaf.size]
        if devices and all(map(self._is_on, devices)):
            identities = {id(buffer) for buffer in written}
            spans: list[Span] = []
            operands = tuple([self._gpu_operand(value, identities, spans) for value in arguments])
            name = getattr(function, "__name__", None) or function.name
            self.steps.append(DeviceCall(operands, *self.current, function, name, tuple(grid), tuple(spans)))

    def _gpu_operand(self, value: Any, written: set[int], spans: list[Span]) -> Any:
        """Return an operand of a step on a GPU, and add its memory to the written spans."""
        if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            return [self._gpu_operand(each, written, spans) for each in value]
        if isinstance(value, np.ndarray) and self.block_of(value) is not None:
            self.break_off(_TWO_DEVICES)
        if value.__class__ is not DeviceBuffer or not value.size or value.block is FIXED:
            return value
        block = self._block_at(value.address) if value.block is None else None
        if block is None and not has_known_owner(value):
            self.break_off("memory on a GPU that belongs to another library")
            return value
        span = self.span(value, id(value) in written) if block is None else self._span_at(value.address, block)
        if id(value) in written:
            spans.append(span)
        return span

    def allocated(self, buffer: Any) -> None:
        """Record new memory."""
        if not self.muted if buffer.__class__ is not DeviceBuffer else self._is_on(buffer.device):
            self._add(root_of(buffer), FRESH)  # memory on the CPU may contain arguments of a GPU's program

    def host(
        self, function: Callable[..., Any], operands: Sequence[Any], arguments: Sequence[Any], written: Sequence[int]
    ) -> Any:
        """Record and call a host function, and return its results."""
        if not self._is_on(-1):
            return function(*arguments)
        recorded = tuple([self._operand(value, number in written) for number, value in enumerate(operands)])
        results = self._within_step(function, *arguments)
        for array in results or ():
            if self.block_of(array) is None:
                self._add(root_of(array), FRESH)
        spans = tuple([self.span(array, True) for array in results or ()])
        self.steps.append(HostCall(recorded, *self.current, function, spans))
        return results

    def _operand(self, value: Any, written: bool = False) -> Any:
        """Return an operand of a step on the CPU, with spans instead of arrays and tensors."""
        if isinstance(value, np.ndarray):
            return self.span(value, written)
        if isinstance(value, Element):
            return Load(self.span(value.array, False))
        if isinstance(value, Tensor):
            return Placed(self.span(value._storage[value._offset :], False), value._layout)
        return type(value)(map(self._operand, value)) if isinstance(value, tuple | list) else value

    def _within_step(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function without recording what it does, and return its result."""
        before, self._is_within_step = self._is_within_step, True
        try:
            return function(*arguments)
        finally:
            self._is_within_step = before

    def unrecorded(self, function: Callable[[], Any]) -> Any:
        """Call a function whose work does not concern the program, and return its result."""
        return function() if self.muted else self._within_step(function)

    def values_read(self, what: str) -> None:
        """Abandon the recording before Python reads elements."""
        if not self.muted:
            self.break_off(f"{what} needs values, which exist only when the recorded program runs")

    def place_read(self, memory: Any, what: str) -> None:
        """Abandon the recording before Python reads a property not determined by a layout, such as an offset."""
        block = self.block_of(memory)
        if not self.muted and (block is None or block.origin == OUTSIDE):
            self.break_off(f"{what} depends on more than the layout of a tensor that existed before")

    def condition(self, holds: Callable[[], bool], memory: Any, what: str) -> bool:
        """Return ``holds()``; a replay requires that it returns the same value before the run."""
        if self.muted:
            return holds()
        block = self.block_of(memory)
        if block is None or block.origin != OUTSIDE or block.written:
            self.values_read(what)
        value = self._within_step(holds)
        self.conditions.append((holds, value, what))
        return value

    def state_read(self, what: str) -> None:
        """Abandon the recording before Python reads state that no guard compares."""
        if not self.muted:
            self.break_off(f"it reads {what}, which may change between calls: read it outside")

    def repeat(self, effect: Effect) -> None:
        """Record an action of Python that each run repeats."""
        if not self.muted:
            for earlier in self.effects:
                earlier.precede(effect)
            self.effects.append(effect)

    def is_repeated(self, matches: Callable[[Effect], bool]) -> bool:
        """Return True if a recorded action that each run repeats matches."""
        return any(map(matches, self.effects))

    def break_off(self, reason: str) -> None:
        """Abandon the recording: the program cannot be replayed.

        Raises:
            CaptureError: that is an error.
        """
        location = self._calls[-1][1] if self._calls else calling_location(2)
        self.broken = reason, location
        if self.full:
            raise CaptureError(f"{reason}\n{location}")

    # -- notifications of operations -------------------------------------------------------------------------------

    @property
    def current(self) -> tuple[str, Location | None]:
        """The operation or node in progress, and the location of its call."""
        if self._nodes and self._nodes[-1][0] == len(self._calls):
            return self._nodes[-1][1:]
        return self._calls[-1] if self._calls else ("", calling_location(3))

    def before(self, call: Any) -> int:
        location, depth = calling_location(4), len(self._calls)
        self._calls.append((call.name, location))
        self._note_tensors(call.args, location)
        return depth

    def _note_tensors(self, values: Any, location: Location) -> None:
        """Record tensors, in order to check that nothing keeps them after the call."""
        for value in values:
            if isinstance(value, tuple | list):
                self._note_tensors(value, location)
            elif hasattr(value, "_layout") and id(value) not in self.tensors:
                forget = functools.partial(self.tensors.pop, id(value))  # in C: a callback in Python would lose Ctrl-C
                self.tensors[id(value)] = weakref.ref(value, forget), location
                block = self.block_of(value._storage) if has_known_owner(value._storage) else None
                if block is not None and block.layout is None:
                    block.layout = value._layout

    def after(self, call: Any, token: Any, result: Any) -> None:
        _, location = self._calls[token]
        self._note_tensors((result,), location)
        for tensor in result if isinstance(result, tuple | list) else (result,):
            edge = getattr(tensor, "_edge", None)
            if edge is not None:
                self.recorded.setdefault(edge[0].sequence, location)
        del self._calls[token:]

    def failed(self, call: Any, token: Any) -> None:
        if not self.muted and not isinstance(sys.exception(), Stop):
            location = self._calls[token][1] if len(self._calls) > token else calling_location(4)
            self.broken = f"{call.name}() raised an error", location  # the program may catch the error
        del self._calls[token:]  # also calls left over after Ctrl-C

    def begin(self, category: str, subject: Any, value: Any) -> bool:
        if category == NODE:
            self.walks = True
            is_older = subject.sequence < self.begin_of_graph and subject.edges and subject.__class__ is not GraphInput
            if is_older and not self.muted:
                self.break_off("backward continues into a graph that existed before")
            self._nodes.append((len(self._calls), subject.name(), self.recorded.get(subject.sequence)))
        return category == NODE

    def end(self, token: bool, result: Any) -> None:
        if token:
            self._nodes.pop()
