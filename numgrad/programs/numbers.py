"""Numbers among arguments: constants at first, and arguments of the program from the second value on.

Note [Numbers as arguments]
A program is recorded with the numbers of its call.  In a second call with different numbers, the function gets a
stand-in for each number: an object that is no float, and notes what Python or C does with it, such as a comparison, a
sum or a conversion.  Records with plain numbers cannot show this, because a number may choose a branch in a later call
only.  The program then reads the numbers from memory and serves all calls, on two conditions: only operations took the
stand-ins, and the two records differ only in operands of kernels that are numbers of the call in both.  Otherwise the
call is undone and the function is called with the numbers themselves, because some C code takes only floats, and Python
may take another branch for an object that is no float.

Numbers that were equal in both records remain constants.  Numbers that operations treat specially, such as 0, 1 and 2,
and numbers that may be too large for a dtype, get programs of their own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..devices.recording import WatchedNumber, plain
from ..ops.table.promotion import LARGEST_FLOAT32
from ..tensors.tensor import Tensor
from .captured import Capture
from .node import freed_by
from .recorded_steps import CONSTANT, Block, KernelCall, Load, Placed, Span, root_of
from .recorder import Recorder
from .trees import leaves, mapped

#: Numbers that operations may treat specially.
_SPECIAL = frozenset({0, 1, -1, 2, -2, 3, 0.5, -0.5})


def _noting(name: str, base: type) -> Callable[..., Any]:
    """Return a method for numbers of a class that notes its calls."""

    def call(self: Any, *others: Any) -> Any:
        result = getattr(base, name)(self.value, *map(plain, others))
        if result is not NotImplemented or isinstance(others[0], float | complex):
            self.is_used = True  # otherwise Python calls the method of the other operand, a tensor
        return result

    return call


def _array(self: Any, *arguments: Any, **keywords: Any) -> np.ndarray:
    self.is_used = True
    return np.asarray(self.value, *arguments, **keywords)


def _attribute(self: Any, name: str) -> Any:
    attribute = getattr(self.value, name)
    self.is_used = True
    return attribute


#: Methods of all objects that numbers override.
_OVERRIDDEN = (
    "__eq__", "__format__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__", "__repr__", "__str__",
)


def _watched_class(base: type) -> Any:
    """Return a class of stand-ins that note how Python uses them, and that are instances of the class of numbers."""
    special = [name for name in dir(base) if name.startswith("__") and callable(getattr(base, name))]
    methods = {name: _noting(name, base) for name in special if name not in dir(object) or name in _OVERRIDDEN}
    facts = {"__slots__": (), "__class__": property(lambda self: base), "__module__": __name__}
    return type(f"Watched{base.__name__.title()}", (WatchedNumber,), {
        **methods, **facts, "__getattr__": _attribute, "__array__": _array,
    })


#: The classes of stand-ins for numbers.  The classes themselves serve as placeholders, since users do not pass them.
_WATCHED = {base: _watched_class(base) for base in (float, int)}


def watched(value: Any) -> Any:
    """Return the stand-in for a number, for a call that watches numbers."""
    return _WATCHED[value.__class__](value)


def numbers_in(arguments: Any) -> list[Any]:
    """Return the numbers among arguments that a program may take as its own arguments."""
    return [value for value in leaves(arguments) if isinstance(value, WatchedNumber) or is_number(value)]


def is_number(value: Any) -> bool:
    """Return True for a number that a program may read from memory: neither a bool nor a number treated specially."""
    if value.__class__ is float:
        return math.isfinite(value) and abs(value) <= LARGEST_FLOAT32 and value not in _SPECIAL
    return value.__class__ is int and value not in _SPECIAL and -(2**31) <= value < 2**31


def without_numbers(arguments: Any) -> Any:
    """Return the arguments with placeholders for numbers."""
    return mapped(arguments, lambda value: _WATCHED[value.__class__] if is_number(value) else value)


class Numbers:
    """The memory from which a program reads the numbers among its arguments.

    Attributes:
        fixed: by index, numbers that the program has as constants.
    """

    def __init__(self, count: int, fixed: dict[int, Any]):
        self.fixed = fixed
        self._buffers = {float: np.zeros(count), int: np.zeros(count, np.int64)}

    def set(self, numbers: Sequence[Any]) -> None:
        """Write the numbers of a call."""
        for index, number in enumerate(numbers):
            self._buffers[number.__class__][index] = number

    def accept(self, numbers: Sequence[Any]) -> bool:
        """Return True if the program is valid for these numbers."""
        return all(numbers[index] == value for index, value in self.fixed.items())

    def load(self, recorder: Recorder, number: Any, index: int) -> Load:
        """Return the operand that reads a number."""
        return Load(recorder.span(self._buffers[number.value.__class__][index : index + 1], False))


class _Contents:
    """The bytes of an array, or None, as a value that can be compared."""

    def __init__(self, array: np.ndarray | None):
        self.array = array

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, _Contents)
        first, second = self.array, other.array
        if first is None or second is None or first is second:
            return first is second
        return first.dtype == second.dtype and first.tobytes() == second.tobytes()

    __hash__ = None  # type: ignore[assignment]


class NumberRecord:
    """The record of a call in a form that can be compared with others.

    Attributes:
        recorder: the recorder, with the steps.
        numbers: the numbers among the arguments, or their stand-ins.
        summary: everything except the steps: results, gradients, versions and blocks.
        steps: for each step its kernel or function, and its operands.
    """

    def __init__(self, captured: Capture, numbers: Sequence[Any]):
        self.recorder = recorder = captured.recorder
        self.numbers = numbers
        self._index = {block: number for number, block in enumerate(recorder.blocks)}
        filled = {id(root_of(array)) for effect in recorder.effects for array in effect.fills()}
        filled |= {id(root_of(buffer)) for step in recorder.steps for buffer in _address_buffers(step)}
        results = mapped(
            captured.result, lambda leaf: (leaf._layout, leaf._offset) if isinstance(leaf, Tensor) else leaf
        )
        self.returns_watched = any(isinstance(leaf, WatchedNumber) for leaf in leaves(captured.result))
        self.summary = (
            results, [id(tensor) for tensor, _ in captured.grads], [change for _, change in captured.versions],
            [self._block(block, filled) for block in recorder.blocks],
        )
        self.steps = [self._step(step) for step in recorder.steps]

    def _block(self, block: Block, filled: Container[int]) -> Any:
        facts = block.origin, block.size, block.number, block.written
        if block.origin != CONSTANT:
            return *facts, _Contents(block.initial)
        if id(root_of(block.held)) in filled:  # addresses are written before each run
            return facts
        return *facts, _Contents(block.initial), _Contents(block.held)

    def _step(self, step: Any) -> tuple[Any, list[Any]]:
        addresses = [(*place, self._operand(span)) for *place, span in getattr(step, "addresses", ())]
        buffers = [buffer.copy() for buffer in _address_buffers(step)]
        for buffer in buffers:
            buffer.view(np.int64)[[index for _, index, _ in addresses]] = 0
        executed = step.kernel if isinstance(step, KernelCall) else step.function
        head = type(step), executed, addresses, [*map(_Contents, buffers)]
        return head, [*map(self._operand, step.operands)]

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Load | Placed):
            return type(value), self._operand(value.span), getattr(value, "layout", None)
        if isinstance(value, Span):
            return self._index[value.block], value.offset, value.dtype, value.shape, value.strides
        if isinstance(value, np.ndarray):  # a report
            return value.shape, value.dtype
        return [*map(self._operand, value)] if isinstance(value, tuple | list) else (type(value), repr(value))


def _address_buffers(step: Any) -> list[np.ndarray]:
    """Return the buffers of a launch into which each run writes addresses."""
    return [step.operands[number].block.held for number in {number for number, *_ in getattr(step, "addresses", ())}]


#: Operands that are numbers among the arguments: each the launch, the index of the operand and that of the number.
NumberUses = list[tuple[KernelCall, int, int]]


def differences(first: NumberRecord, second: NumberRecord) -> NumberUses | None:
    """Return the operands whose numbers differ between the two records; None if the records differ in anything else.

    The calls have one signature, apart from numbers, which are watched in the second.
    """
    effects = first.recorder.effects, second.recorder.effects
    if second.returns_watched or first.summary != second.summary or len(first.steps) != len(second.steps):
        return None
    if len(effects[0]) != len(effects[1]):
        return None
    if not all(later.repeats(earlier) for earlier, later in zip(*effects, strict=True)):
        return None
    uses: NumberUses = []
    steps = zip(first.recorder.steps, second.recorder.steps, first.steps, second.steps, strict=True)
    for before, step, (head, operands), (other_head, other_operands) in steps:
        if head != other_head or len(operands) != len(other_operands):
            return None
        for position, (operand, other) in enumerate(zip(operands, other_operands, strict=True)):
            if operand != other:
                index = _number_used(first, second, before, step, position)
                if index is None or not isinstance(step, KernelCall):
                    return None
                uses.append((step, position, index))
    return uses


def _number_used(first: NumberRecord, second: NumberRecord, before: Any, step: Any, position: int) -> int | None:
    """Return the index of the argument that is the operand in both records; None unless there is exactly one."""
    number = step.watched.get(position) if isinstance(step, KernelCall) else None
    pairs = zip(first.numbers, second.numbers, strict=True)
    fits = [
        index for index, (earlier, later) in enumerate(pairs) if (number is None or number is later)
        and _is_number(before.operands[position], earlier) and _is_number(step.operands[position], later.value)
    ]
    return fits[0] if len(fits) == 1 and _holds_all_numbers(step) else None


def _is_number(operand: Any, number: Any) -> bool:
    return type(operand) is type(number) and operand == number


def _holds_all_numbers(step: Any) -> bool:
    """Return True if the dtypes that a kernel writes can represent every number, so that operations need no check."""
    written = [operand.dtype for operand in step.operands if isinstance(operand, Span) and operand.block.written]
    return all(dtype.kind in "fc" or (dtype.kind == "i" and dtype.itemsize >= 4) for dtype in written)


class Family:
    """Calls that differ only in numbers.

    Attributes:
        first: the record of the first of them that can be replayed.
        programs: programs for many of them, each with the memory for its numbers.
        count: the number of calls recorded with numbers of their own.
        unchecked: the number of replays still to be compared with the function itself.
        refused: True if there cannot be one program for all.
    """

    def __init__(self, unchecked: int = 0) -> None:
        self.first: NumberRecord | None = None
        self.programs: list[tuple[Any, Numbers]] = []
        self.count = 0
        self.unchecked = unchecked
        self.refused = False
        self.lock = threading.Lock()

    def find(self, inputs: Sequence[Tensor], numbers: Sequence[Any]) -> tuple[Any, Numbers] | None:
        """Return the program for a call, and the memory for its numbers; None if there is none."""
        for guarded, memory in self.programs:
            if memory.accept(numbers) and guarded.guard.holds(inputs):
                return guarded, memory
        return None

    def add(self, captured: Capture, numbers: Sequence[Any]) -> None:
        """Add the record of the first call, which later ones are compared with."""
        reads_class = "type" in captured.environment.referenced  # that of a watched number is another
        if captured.recorder.device >= 0 or reads_class or not _needs_no_backward(captured):
            self.refuse()
        with self.lock:
            self.first = None if self.refused else self.first or NumberRecord(captured, numbers)

    def refuse(self) -> None:
        """Record each of the calls with its numbers from now on."""
        self.refused, self.first = True, None

    def generalized(self, captured: Capture, numbers: Sequence[Any]) -> Numbers | None:
        """Make the steps of a call that watched numbers read these from memory.

        Return that memory; None if the call differs from the first in more, or Python has used a number.
        """
        can_replay = captured.recorder.broken is None and not captured.postponed and _needs_no_backward(captured)
        first = self.first
        if first is None or not can_replay or any(number.is_used for number in numbers):
            return None
        with self.lock:
            uses = differences(first, NumberRecord(captured, numbers))
            if uses is None:
                return None
            pairs = enumerate(zip(first.numbers, numbers, strict=True))
            memory = Numbers(len(numbers), {index: now.value for index, (before, now) in pairs if now.value == before})
            for launch, position, index in uses:
                operands = list(launch.operands)
                operands[position] = memory.load(captured.recorder, numbers[index], index)
                launch.operands = tuple(operands)
            return memory


def _needs_no_backward(captured: Capture) -> bool:
    """Return True if no backward can start from the results of a call."""
    live = captured.live()
    return not live or freed_by(live) is not None
