"""Numbers among arguments: constants at first, and arguments of the program from the second value on.

Note [Numbers as arguments]
A program is recorded with the numbers of its call.  In a second call with different numbers, the function gets a
stand-in for each number: an object other than a float, and notes what Python or C does with it, such as a comparison, a
sum or a conversion.  Records with plain numbers cannot show this, because a number may choose a branch in a later call
only.  The program then reads the numbers from memory and serves all calls, on two conditions: only operations took the
stand-ins, and the two records differ only in operands of kernels that are numbers of the call in both.  Otherwise the
call is undone and the function is called with the numbers themselves, because some C code takes only floats, and Python
may take another branch for an object other than a float.

Numbers that were equal in both records remain constants.  Numbers that operations treat specially, such as 0, 1 and 2,
and numbers that may be too large for a dtype, get programs of their own.
"""

from __future__ import annotations

import hashlib
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
from .recorded_steps import CONSTANT, Block, KernelCall, Load, Placed, RecordedStep, Span, root_of
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


class CallRecord:
    """The record of a call in a form that can be compared with that of another call.

    Attributes:
        numbers: the numbers among the arguments, or their stand-ins.
        effects: the actions of Python that each run repeats.
        facts: everything else but numbers among the operands of kernels.
        scalars: those numbers, each with its launch and the index of the operand.
    """

    def __init__(self, captured: Capture, numbers: Sequence[Any]):
        recorder = captured.recorder
        self.numbers, self.effects = numbers, recorder.effects
        self.scalars: list[tuple[KernelCall, int, Any]] = []
        self._index = {block: number for number, block in enumerate(recorder.blocks)}
        filled = {id(root_of(array)) for effect in recorder.effects for array in effect.fills()}  # before each run
        for step in recorder.steps:
            filled |= {id(root_of(step.operands[place].block.held)) for place, *_ in getattr(step, "addresses", ())}
        results = mapped(
            captured.result, lambda leaf: (leaf._layout, leaf._offset) if isinstance(leaf, Tensor) else _exact(leaf)
        )
        self.facts = [
            results, [id(tensor) for tensor, _ in captured.grads], [change for _, change in captured.versions],
            [_facts_of(block, filled) for block in recorder.blocks], [*map(self._facts_of_step, recorder.steps)],
        ]

    def _facts_of_step(self, step: RecordedStep) -> Any:
        if not isinstance(step, KernelCall):
            return type(step), getattr(step, "function", None), [*map(self._facts_of_operand, step.operands)]
        operands: list[Any] = []
        for place, operand in enumerate(step.operands):
            if isinstance(operand, Span | Load | np.ndarray):
                operands.append(self._facts_of_operand(operand))
            else:
                self.scalars.append((step, place, operand))
        return step.kernel, operands, [(*place, self._facts_of_operand(span)) for *place, span in step.addresses]

    def _facts_of_operand(self, value: Any) -> Any:
        if isinstance(value, Load | Placed):
            return type(value), self._facts_of_operand(value.span), getattr(value, "layout", None)
        if isinstance(value, Span):
            return self._index[value.block], value.offset, value.dtype, value.shape, value.strides
        if isinstance(value, np.ndarray):  # a report
            return value.shape, value.dtype
        return [*map(self._facts_of_operand, value)] if isinstance(value, tuple | list) else _exact(value)


def _facts_of(block: Block, filled: Container[int]) -> Any:
    is_compared = block.origin == CONSTANT and id(root_of(block.held)) not in filled
    contents = [block.initial, block.held if is_compared else None]
    digests = [None if each is None else (each.dtype, hashlib.sha256(each.tobytes()).digest()) for each in contents]
    return block.origin, block.size, block.number, block.written, digests


def _exact(value: Any) -> Any:
    """Return a value in a form in which only equal values of one class are equal."""
    return type(value), repr(value)


#: Operands that are numbers among the arguments: each the launch, the index of the operand and that of the number.
NumberUses = list[tuple[KernelCall, int, int]]


def differences(first: CallRecord, second: CallRecord) -> NumberUses | None:
    """Return the operands whose numbers differ between the two records; None if the records differ in anything else.

    The calls have one signature, apart from numbers, which are watched in the second.
    """
    if first.facts != second.facts or len(first.effects) != len(second.effects):
        return None
    if not all(later.repeats(earlier) for earlier, later in zip(first.effects, second.effects, strict=True)):
        return None
    uses: NumberUses = []
    indices = {id(number): index for index, number in enumerate(second.numbers)}
    for (_, _, before), (step, place, now) in zip(first.scalars, second.scalars, strict=True):
        if _exact(before) != _exact(now):
            index = indices.get(id(step.watched.get(place)))
            if index is None or _exact(before) != _exact(first.numbers[index]) or not _holds_all_numbers(step):
                return None
            uses.append((step, place, index))
    return uses


def _holds_all_numbers(step: KernelCall) -> bool:
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
        self.first: CallRecord | None = None
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
            self.first = None if self.refused else self.first or CallRecord(captured, numbers)

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
            uses = differences(first, CallRecord(captured, numbers))
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
