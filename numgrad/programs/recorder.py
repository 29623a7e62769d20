"""The recorder: what a program does with memory, as steps over blocks; see Note [Recording] in ``devices``."""

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
from ..core.tensor import Tensor
from ..devices.cpu.blas import is_on_one_thread
from ..devices.cpu.threads import threads_take_turns
from ..devices.recording import Effect, Element, Watched
from ..devices.rows import FIXED, DeviceRow
from .node import Entrance
from .steps import (
    CONSTANT,
    FRESH,
    OUTSIDE,
    Block,
    DeviceCall,
    HostCall,
    Launch,
    Load,
    Placed,
    Span,
    Step,
    is_known,
    place_of,
    root_of,
    whole,
)
from .trees import leaves

_address_of = attrgetter("address")


class CaptureError(RuntimeError):
    """A program cannot be recorded as a whole; the message says why, and where in it that shows."""


class Recorder(Watcher):
    """Records what the thread that makes it does.

    Args:
        outside: arrays that are there before, and from which byte on the program sees each: where an argument begins.
        full: whether a program that cannot be replayed is an error.

    Attributes:
        steps: what has been recorded.
        blocks: all blocks, in the order in which they were met.
        broken: why it cannot be replayed, and where in the user's program that shows; None if it can.
        effects: what Python does for each run besides.
        device: the number of the GPU that does all; -1 for the CPU.
    """

    sees_gradients = False

    def __init__(self, outside: Iterable[tuple[Any, int]], full: bool = False):
        self.thread = threading.get_ident()
        self.full = full  # a program that cannot be replayed is an error
        self.steps: list[Step] = []
        self.blocks: list[Block] = []
        self.broken: tuple[str, Location] | None = None
        self.effects: list[Effect] = []
        self.tensors: dict[int, tuple[weakref.ref[Any], Location]] = {}  # that operations were given, or have made
        self.one_thread = False  # whether BLAS is to use one
        self._device: int | None = None  # not known yet
        self._reports: list[np.ndarray] = []  # of the last kernel
        self._blocks: dict[int, Block] = {}
        self._in_order: list[Block] | None = None  # these by address, once it is asked for
        self._inside = False  # a host function
        self._calls: list[tuple[str, Location]] = []  # the operations that are being done
        self._nodes: list[tuple[int, str, Location | None]] = []  # and nodes, each with the number of calls around it
        self.walks = False  # whether backward runs within
        self.begin_of_graph = 0  # nodes with lower numbers are of no concern to the program
        self.recorded: dict[int, Location] = {}  # where nodes were recorded, by their numbers
        for number, (array, offset) in enumerate(outside):
            root = root_of(array)
            if id(root) not in self._blocks:
                self._add(root, OUTSIDE, place_of(array) + offset).number = number

    def _add(self, root: Any, origin: str, address: int = 0) -> Block:
        key, blocks = id(root), self._blocks

        def gone(_: Any) -> None:
            blocks.pop(key, None)
            self._in_order = None

        held = None if origin == FRESH else whole(root)
        begin = address or place_of(root)
        size = root.nbytes - (begin - place_of(root))
        block = Block(origin, begin, size, weakref.ref(root, gone), held, first=len(self.steps))
        blocks[key] = block
        self._in_order = None
        self.blocks.append(block)
        return block

    def block_of(self, array: Any) -> Block | None:
        """The block that an array lies in, if it was met."""
        return self._blocks.get(id(root_of(array)))

    def block_at(self, address: int) -> Block | None:
        """The block that has this address."""
        if self._in_order is None:
            self._in_order = sorted([block for block in self._blocks.values() if block.size], key=_address_of)
        place = bisect(self._in_order, address, key=_address_of)
        block = self._in_order[place - 1] if place else None
        return block if block is not None and address < block.address + block.size else None

    # -- what devices tell --------------------------------------------------------------------------------

    @property
    def deaf(self) -> bool:
        """Whether what is told is of no concern."""
        return self._inside or self.broken is not None or threading.get_ident() != self.thread

    @property
    def device(self) -> int:
        return -1 if self._device is None else self._device

    def _is_on(self, device: int) -> bool:
        """Whether what is told can be recorded, as it is done by a device: the whole program is by the same."""
        if self.deaf:
            return False
        if self._device is None:
            self._device = device
        if self._device != device:
            self.break_off("a program that works on two devices")
        return self.broken is None

    def launch(self, kernel: Any, arguments: Sequence[Any], grid: Sequence[int] = ()) -> None:
        """A kernel is about to run."""
        if grid:
            names = zip(kernel.facts.parameters, arguments, strict=True)
            self._call(kernel, arguments, [row for name, row in names if name in kernel.facts.written], grid)
            return
        if not self._is_on(-1):
            return
        if kernel.parallel and threads_take_turns():
            self.break_off(
                "Numba's threading layer 'workqueue' serves one thread at a time: install GNU's OpenMP (libgomp1 in "
                "Debian and Ubuntu, libgomp elsewhere) or 'pip install tbb'"
            )
            return
        facts = kernel.facts
        self.look_at_reports()
        named = dict(zip(facts.parameters, arguments, strict=True))
        self._reports = [value for name, value in named.items() if name in facts.reports]
        watched = {}
        for number, (name, value) in enumerate(named.items()):
            if isinstance(value, Watched):
                named[name], watched[number] = value.plain(), value
            elif name in facts.reports:
                named[name] = np.full(value.size, False if value.dtype.kind == "b" else -1, value.dtype)
            elif isinstance(value, np.ndarray):
                named[name] = self.span(value, name in facts.written)
            elif isinstance(value, Element):
                named[name] = Load(self.span(value.array, False))
        launch = Launch(tuple(named.values()), *self.current, kernel, watched=watched)
        if facts.hides:
            self._find_addresses(launch, arguments)
        self.steps.append(launch)
        self.one_thread |= is_on_one_thread()

    def look_at_reports(self) -> None:
        """Break off if the last kernel has reported that something is wrong: the program has caught the error."""
        wrong = [one for one in self._reports if (one if one.dtype.kind == "b" else one >= 0).any()]
        if wrong and not self.deaf:
            self.break_off("an error that it catches")
        self._reports = []

    def _find_addresses(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Note which elements of a row of addresses are those of blocks: arguments lie elsewhere in each call."""
        facts = launch.kernel.facts
        parameter = facts.parameters.index("addresses")
        for index, address in enumerate(arguments[parameter].tolist()):
            block = self.block_at(address) if address else None
            if block is not None:
                launch.addresses.append((parameter, index, self._address(address, block)))
        # the row is patched by each run: it is a copy that is the program's own
        row = arguments[parameter].copy()
        block = self._add(row, CONSTANT)
        operands = list(launch.operands)
        operands[parameter] = Span(block, 0, row.dtype, row.shape, row.strides)
        launch.operands = tuple(operands)
        block.last = len(self.steps)

    def call(self, function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """A function that puts work on a GPU's stream is to be called."""
        self._call(function, arguments, written)
        self._done_inside(function, arguments)

    def allocated(self, row: Any) -> None:
        """Memory is new."""
        if not self.deaf if row.__class__ is not DeviceRow else self._is_on(row.device):
            self._add(root_of(row), FRESH)  # on the CPU it may be for what a GPU's program is given

    def _call(
        self, function: Any, arguments: Sequence[Any], written: Sequence[Any], grid: Sequence[int] = ()
    ) -> None:
        devices = [one.device for one in leaves(arguments) if one.__class__ is DeviceRow and one.size]
        if devices and all(map(self._is_on, devices)):
            own = {id(row) for row in written}
            spans: list[Span] = []
            operands = tuple([self._operand(value, own, spans) for value in arguments])
            name = getattr(function, "__name__", None) or function.name
            self.steps.append(DeviceCall(operands, *self.current, function, name, tuple(grid), tuple(spans)))

    def _operand(self, value: Any, written: set[int], spans: list[Span]) -> Any:
        """An argument of what is done on a GPU; what is written is added to the spans."""
        if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
            return [self._operand(one, written, spans) for one in value]
        if isinstance(value, np.ndarray) and self.block_of(value) is not None:
            self.break_off("a program that works on two devices")
        if value.__class__ is not DeviceRow or not value.size or value.block is FIXED:
            return value
        block = self.block_at(value.address) if value.block is None else None
        if block is None and not is_known(value):
            self.break_off("memory on a GPU that another library has lent")
            return value
        span = self.span(value, id(value) in written) if block is None else self._address(value.address, block)
        if id(value) in written:
            spans.append(span)
        return span

    def _address(self, address: int, block: Block) -> Span:
        self._use(block, True)
        return Span(block, address - block.address, np.dtype(np.uint8), (1,), (1,))

    def host(
        self, function: Callable[..., Any], operands: Sequence[Any], arguments: Sequence[Any], written: Sequence[int]
    ) -> Any:
        """A host function is to be called."""
        if not self._is_on(-1):
            return function(*arguments)
        described = tuple([self._described(value, n in written) for n, value in enumerate(operands)])
        results = self._done_inside(function, arguments)
        made = results or ()
        for array in made:
            if self.block_of(array) is None:
                self._add(root_of(array), FRESH)
        spans = tuple([self.span(array, True) for array in made])
        self.steps.append(HostCall(described, *self.current, function, spans))
        return results

    def keep_initial(self, block: Block, root: Any) -> None:
        """Let replays begin with a copy of what a constant holds now."""
        block.initial, block.held = self._done_inside(whole(root).copy, ()), None

    def _done_inside(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """What a function returns; what it tells is not recorded."""
        inside, self._inside = self._inside, True
        try:
            return function(*arguments)
        finally:
            self._inside = inside

    def untold(self, function: Callable[[], Any]) -> Any:
        """What a function returns; what it tells is of no concern."""
        return function() if self.deaf else self._done_inside(function, ())

    def _described(self, value: Any, written: bool = False) -> Any:
        """An operand of a host function, with spans in place of arrays and tensors."""
        if isinstance(value, np.ndarray):
            return self.span(value, written)
        if isinstance(value, Element):
            return Load(self.span(value.array, False))
        if isinstance(value, Tensor):
            return Placed(self.span(value._storage[value._offset :], False), value._layout)
        if isinstance(value, tuple | list):
            return type(value)([self._described(one, written) for one in value])
        return value

    def span(self, array: Any, written: bool) -> Span:
        """Where an array lies."""
        root = root_of(array)
        block = self._blocks.get(id(root))
        offset = place_of(array) - (place_of(root) if block is None else block.address)
        if block is None:
            block = self._add(root, CONSTANT)
        if written and block.origin == CONSTANT and block.initial is None:
            self.keep_initial(block, root)
        self._use(block, written)
        if array.__class__ is DeviceRow:
            return Span(block, offset, array.dtype, (array.size,), (array.itemsize,))
        return Span(block, offset, array.dtype, array.shape, array.strides)

    def _use(self, block: Block, written: bool) -> None:
        block.last = len(self.steps)
        block.written |= written
        if written and block.changed < 0:
            block.changed = len(self.steps)

    def values_read(self, what: str) -> None:
        """Python is about to look at elements."""
        if not self.deaf:
            self.break_off(f"{what} needs values, which a recorded program has only when it runs")

    def place_read(self, memory: Any, what: str) -> None:
        """Python is about to read of a tensor what its layout does not determine: where in its memory it lies, say."""
        block = self.block_of(memory)
        if not self.deaf and (block is None or block.origin == OUTSIDE):
            self.break_off(f"{what} depends on more than the layout of a tensor that was there before")

    def state_read(self, what: str) -> None:
        """Python is about to read state that no guard compares."""
        if not self.deaf:
            self.break_off(f"it reads {what}, which may change between calls: read it outside")

    def repeat(self, effect: Effect) -> None:
        """Python does something for each run."""
        if not self.deaf:
            self.effects.append(effect)

    def is_repeated(self, found: Callable[[Effect], bool]) -> bool:
        """Whether Python does such a thing already."""
        return any(map(found, self.effects))

    def break_off(self, reason: str) -> None:
        """The program cannot be replayed.

        Raises:
            CaptureError: that was asked for.
        """
        location = self._calls[-1][1] if self._calls else calling_location(2)
        self.broken = reason, location
        if self.full:
            raise CaptureError(f"{reason}\n{location}")

    # -- what operations tell -----------------------------------------------------------------------------

    @property
    def current(self) -> tuple[str, Location | None]:
        """The operation that is being done, and where it was called."""
        if self._nodes and self._nodes[-1][0] == len(self._calls):
            return self._nodes[-1][1:]
        return self._calls[-1] if self._calls else ("", calling_location(3))

    def before(self, call: Any) -> int:
        location, depth = calling_location(4), len(self._calls)
        self._calls.append((call.name, location))
        self._note(call.args, location)
        return depth

    def _note(self, values: Any, location: Location) -> None:
        """Note the tensors among these: they must not be kept anywhere after the call."""
        for value in values:
            if isinstance(value, tuple | list):
                self._note(value, location)
            elif hasattr(value, "_layout") and id(value) not in self.tensors:
                self.tensors[id(value)] = weakref.ref(value, functools.partial(self._forget, id(value))), location
                block = self.block_of(value._storage) if is_known(value._storage) else None
                if block is not None and block.layout is None:
                    block.layout = value._layout

    def _forget(self, key: int, _: Any) -> None:
        self.tensors.pop(key, None)

    def after(self, call: Any, token: Any, result: Any) -> None:
        _, location = self._calls[token]
        self._note((result,), location)
        for tensor in result if isinstance(result, tuple | list) else (result,):
            edge = getattr(tensor, "_edge", None)
            if edge is not None:
                self.recorded.setdefault(edge[0].sequence, location)
        del self._calls[token:]

    def failed(self, call: Any, token: Any) -> None:
        if not self.deaf and not isinstance(sys.exception(), Stop):
            location = self._calls[token][1] if len(self._calls) > token else calling_location(4)
            self.broken = f"{call.name}() raised an error", location  # which the program may catch
        del self._calls[token:]  # which Ctrl-C may have come after

    def begin(self, category: str, subject: Any, given: Any) -> bool:
        if category == NODE:
            self.walks = True
            older = subject.sequence < self.begin_of_graph and subject.edges and subject.__class__ is not Entrance
            if older and not self.deaf:
                self.break_off("backward goes on to a graph that was there before")
            self._nodes.append((len(self._calls), subject.name(), self.recorded.get(subject.sequence)))
        return category == NODE

    def end(self, token: bool, result: Any) -> None:
        if token:
            self._nodes.pop()
