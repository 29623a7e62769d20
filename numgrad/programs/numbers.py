"""Numbers among arguments: by value at first, and an argument of the program from the third value on.

Note [Numbers as arguments]
A program is recorded with the numbers that its function was given.  When a second call has other ones, the two records
are laid side by side.  Where they differ in nothing but numbers that kernels are given, and each of these is, in both,
a number that the call was given, one program may serve all.  The third call decides.  The function is given an object
in place of each number, which is no float and notes what is done with it: a comparison, a sum, a conversion, by Python
or in C.  The number may choose a branch in one of the next calls: two or three records cannot tell.  If there was
nothing but operations that took it, and the record is that of the second call but for numbers, the program reads them
from memory.  Otherwise the call is undone and the function called with the numbers themselves: some C code takes only
floats, and Python may have taken another way for an object that is none.

Numbers that were the same in both records stay what they are.  Those for which operations have ways of their own, such
as 0, 1 and 2, keep their programs, and so do those that a dtype may be too small for.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..devices.recording import Watched
from ..ops.table.promotion import LARGEST_FLOAT32
from .capture import Capture
from .node import freed_by
from .recorder import Recorder
from .steps import CONSTANT, Block, HostCall, Launch, Load, Placed, Span, Step, root_of
from .trees import leaves, mapped

#: Numbers that operations may treat in ways of their own.
_SPECIAL = frozenset({0, 1, -1, 2, -2, 3, 0.5, -0.5})


class GivenFloat(Watched):
    """A real number that a function is given, and what Python has done with it."""

    __slots__ = ()
    __class__: Any = property(lambda self: float)  # to isinstance() it is one


class GivenInt(Watched):
    """The same for an integer."""

    __slots__ = ()
    __class__: Any = property(lambda self: int)


def _noted(name: str, base: type) -> Callable[..., Any]:
    """A method of numbers of a class that notes that it was called."""

    def call(self: Any, *others: Any) -> Any:
        plain = [one.value if isinstance(one, Watched) else one for one in others]
        result = getattr(base, name)(self.value, *plain)
        for wider in (float, complex):  # to these the number gives way, as numbers do to Python's own
            if result is NotImplemented and isinstance(plain[0], wider):
                result = getattr(wider, name)(wider(self.value), *plain)
        if result is not NotImplemented:  # then the other operand, a tensor, has its turn
            self.uses.append(name)
        return result

    return call


def _array(self: Any, *arguments: Any, **keywords: Any) -> np.ndarray:
    self.uses.append("__array__")
    return np.asarray(self.value, *arguments, **keywords)


def _attribute(self: Any, name: str) -> Any:
    found = getattr(self.value, name)
    self.uses.append(name)
    return found


#: What all objects can do, and numbers in a way of their own.
_OF_ALL = ("__eq__", "__format__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__", "__repr__", "__str__")

for _own, _base in ((GivenFloat, float), (GivenInt, int)):
    setattr(_own, "__getattr__", _attribute)  # noqa: B010
    setattr(_own, "__array__", _array)  # noqa: B010
    for _name in [name for name in dir(_base) if name.startswith("__") and callable(getattr(_base, name))]:
        if _name not in dir(object) or _name in _OF_ALL:
            setattr(_own, _name, _noted(_name, _base))


def given(value: Any) -> Any:
    """A number as a function is given it that is to be watched."""
    return GivenFloat(value) if value.__class__ is float else GivenInt(value)


def numbers_in(arguments: Any) -> list[Any]:
    """The numbers among arguments that may become a program's: neither truth values nor special ones."""
    return [value for value in leaves(arguments) if isinstance(value, Watched) or is_number(value)]


def is_number(value: Any) -> bool:
    """Whether a program may take a number like this from memory."""
    if value.__class__ is float:
        return math.isfinite(value) and abs(value) <= LARGEST_FLOAT32 and value not in _SPECIAL
    return value.__class__ is int and value not in _SPECIAL and -(2**31) <= value < 2**31


#: What stands for numbers of either class: nothing that a user would give.
_STANDS_FOR = {float: GivenFloat, int: GivenInt}


def without_numbers(arguments: Any) -> Any:
    """The arguments with what stands for a number of its class instead of each of these."""
    return mapped(arguments, lambda value: _STANDS_FOR[value.__class__] if is_number(value) else value)


class Numbers:
    """The memory from which a program takes the numbers that it is given.

    Attributes:
        fixed: by their positions: numbers that are written into the program.
    """

    def __init__(self, count: int, fixed: dict[int, Any]):
        self.fixed = fixed
        self._rows = {float: np.zeros(count), int: np.zeros(count, np.int64)}

    def set(self, numbers: Sequence[Any]) -> None:
        """Write those of a call."""
        for index, number in enumerate(numbers):
            self._rows[number.__class__][index] = number

    def serve(self, numbers: Sequence[Any]) -> bool:
        """Whether the program is one for these."""
        return all(numbers[index] == value for index, value in self.fixed.items())

    def span(self, recorder: Recorder, number: Any, index: int) -> Span:
        """Where one of them stands."""
        return recorder.span(self._rows[number.value.__class__][index : index + 1], False)


class Record(NamedTuple):
    """What is kept of the first of two calls: its steps and blocks, the shape of all that it made, its numbers."""

    recorder: Recorder
    shape: Any
    numbers: Sequence[Any]

    @classmethod
    def of(cls, made: Capture, numbers: Sequence[Any]) -> Record:
        return cls(made.recorder, _shape(made), numbers)


#: Operands of a record that are numbers which the call was given: the launch, which operand, and which number.
Places = list[tuple[Launch, int, int]]


def differences(first: Record, second: Capture, now: Sequence[Any]) -> Places | None:
    """Return where the second record has other numbers than the first; None if they differ in anything else.

    The calls have one signature, numbers apart; ``now`` are those of the second, which may be watched.
    """
    if any(isinstance(one, Watched) for one in leaves(second.result)):
        return None
    one, other, before = first.recorder, second.recorder, first.numbers
    if len(one.steps) != len(other.steps) or len(one.blocks) != len(other.blocks) or first.shape != _shape(second):
        return None
    if len(one.effects) != len(other.effects):
        return None
    if not all(later.repeats(earlier) for later, earlier in zip(other.effects, one.effects, strict=True)):
        return None
    filled = {id(root_of(array)) for effect in (*one.effects, *other.effects) for array in effect.fills()}
    filled |= {id(root_of(row)) for step in (*one.steps, *other.steps) for row in _rows_of_addresses(step)}
    if not all(_same_block(*both, filled) for both in zip(one.blocks, other.blocks, strict=True)):
        return None
    pairs = dict(zip(one.blocks, other.blocks, strict=True))
    found: Places = []
    for step, like in zip(one.steps, other.steps, strict=True):
        places = _differences(step, like, pairs, before, now)
        if places is None or (places and not isinstance(like, Launch)):
            return None
        if isinstance(like, Launch):
            found += [(like, position, index) for position, index in places]
    return found


def generalized(first: Record, second: Capture, now: Sequence[Any]) -> Numbers | None:
    """Make the second record, in which numbers are watched, one for all numbers; None if that cannot be."""
    found = None if any(one.uses for one in now) else differences(first, second, now)
    if found is None:
        return None
    same = {index: one.value for index, one in enumerate(now) if one.value == first.numbers[index]}
    numbers = Numbers(len(now), same)
    for launch, position, index in found:
        operands = list(launch.operands)
        operands[position] = Load(numbers.span(second.recorder, now[index], index))
        launch.operands = tuple(operands)
    return numbers


def _shape(made: Capture) -> Any:
    """What a call returned and changed, without elements."""
    results = mapped(made.result, lambda value: (value._layout, value._offset) if isinstance(value, Tensor) else value)
    return results, [id(tensor) for tensor, _ in made.grads], [change for _, change in made.versions]


def _rows_of_addresses(step: Step) -> list[np.ndarray]:
    """The rows of a launch in which each run writes addresses."""
    if not isinstance(step, Launch):
        return []
    return [step.operands[number].block.held for number in {number for number, _, _ in step.addresses}]


def _same_addresses(one: Launch, other: Launch, pairs: dict[Block, Block]) -> bool:
    """Whether these are the addresses of the same blocks, and of nothing else."""
    if len(one.addresses) != len(other.addresses):
        return False
    for (number, index, span), (number_, index_, span_) in zip(one.addresses, other.addresses, strict=True):
        if (number, index) != (number_, index_) or not _same_operand(span, span_, pairs):
            return False
    rows = [[row.copy() for row in _rows_of_addresses(step)] for step in (one, other)]
    for row in rows[0] + rows[1]:
        row.view(np.int64)[[index for _, index, _ in one.addresses]] = 0
    return all(map(_same_bytes, *rows))


def _same_block(one: Block, other: Block, filled: Container[int]) -> bool:
    if (one.origin, one.size, one.number, one.written) != (other.origin, other.size, other.number, other.written):
        return False
    if one.origin == CONSTANT and all(id(root_of(block.held)) in filled for block in (one, other)):
        return True  # before each run
    return _same_bytes(one.initial, other.initial) and (one.origin != CONSTANT or _same_bytes(one.held, other.held))


def _same_bytes(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None or one is other:
        return one is other
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _differences(
    step: Step, like: Step, pairs: dict[Block, Block], before: Sequence[Any], now: Sequence[Any]
) -> list[tuple[int, int]] | None:
    """Which operands are the numbers given, and which of them; None if the steps differ in anything else."""
    if type(step) is not type(like) or len(step.operands) != len(like.operands):
        return None
    if isinstance(step, Launch) and isinstance(like, Launch):
        if step.kernel is not like.kernel or not _same_addresses(step, like, pairs):
            return None
    elif isinstance(step, HostCall) and isinstance(like, HostCall) and step.function is not like.function:
        return None
    found = []
    for position, (one, other) in enumerate(zip(step.operands, like.operands, strict=True)):
        if _same_operand(one, other, pairs):
            continue
        watched = like.watched.get(position) if isinstance(like, Launch) else None
        fits = [
            index for index, (first, number) in enumerate(zip(before, now, strict=True))
            if (watched is None or watched is number) and _are((one, other), (first, _plain(number)))
        ]
        if not fits or (len(fits) > 1 and isinstance(now[0], Watched)) or not _holds_all(like):
            return None
        found.append((position, fits[0]))
    return found


def _plain(number: Any) -> Any:
    return number.value if isinstance(number, Watched) else number


def _are(operands: tuple[Any, Any], numbers: tuple[Any, Any]) -> bool:
    """Whether the operands of two steps are the numbers of two calls."""
    return all(type(one) is type(number) and one == number for one, number in zip(operands, numbers, strict=True))


def _holds_all(step: Any) -> bool:
    """Whether what a kernel writes can hold each number that a program is given: others are looked at by operations."""
    written = [one.dtype for one in step.operands if isinstance(one, Span) and one.block.written]
    return all(dtype.kind in "fc" or (dtype.kind == "i" and dtype.itemsize >= 4) for dtype in written)


def _same_operand(one: Any, other: Any, pairs: dict[Block, Block]) -> bool:
    if isinstance(one, Placed) and isinstance(other, Placed) and one.layout is not other.layout:
        return False
    if one.__class__ is other.__class__ and isinstance(one, Load | Placed):
        one, other = one.span, other.span
    if isinstance(one, Span) and isinstance(other, Span):
        own, others = ((span.offset, span.dtype, span.shape, span.strides) for span in (one, other))
        return own == others and pairs[one.block] is other.block
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):  # reports
        return one.shape == other.shape and one.dtype == other.dtype
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(_same_operand(a, b, pairs) for a, b in zip(one, other, strict=True))
    if one.__class__ is not other.__class__ or isinstance(one, Span | Load | np.ndarray):
        return False
    return one is other or repr(one) == repr(other)


class Family:
    """The calls that differ in nothing but numbers.

    Attributes:
        latest: what was recorded of the latest of the first two of them that can be replayed.
        programs: those that serve many of them, each with the memory for its numbers.
        count: how many of them there were with numbers of their own.
        unchecked: how many replays are still to be compared with the function itself.
        is_likely: whether the first two differ in nothing but numbers, so that the next call is to be watched.
        refused: whether there cannot be one program for all.
    """

    def __init__(self, unchecked: int = 0) -> None:
        self.latest: Record | None = None
        self.programs: list[tuple[Any, Numbers]] = []
        self.count = 0
        self.unchecked = unchecked
        self.is_likely = self.refused = False
        self.lock = threading.Lock()

    def find(self, inputs: Sequence[Tensor], numbers: Sequence[Any]) -> tuple[Any, Numbers] | None:
        """The program that serves a call, and the memory for its numbers; None if there is none."""
        for guarded, own in self.programs:
            if own.serve(numbers) and guarded.guard.holds(inputs):
                return guarded, own
        return None

    def confirms(self, made: Capture, numbers: Sequence[Any]) -> bool:
        """Return whether a call in which numbers were watched was as those before."""
        whole = made.recorder.broken is None and not made.postponed and _is_alone(made)
        return whole and self.latest is not None and differences(self.latest, made, numbers) is not None

    def note(self, made: Capture, numbers: Sequence[Any]) -> Numbers | None:
        """See whether what was recorded of a call serves others: then this is the memory for their numbers."""
        with self.lock:
            if self.refused:
                return None
            found = None
            if self.latest is None:
                looks = "type" in made.surroundings.mentioned  # at the class, which is not a number's for a watched one
                self.refused = made.recorder.device >= 0 or looks or not _is_alone(made)
            elif self.is_likely:
                found = generalized(self.latest, made, numbers)
                self.refused = found is None
            else:
                self.is_likely = _is_alone(made) and differences(self.latest, made, numbers) is not None
                self.refused = not self.is_likely
            if found is None:
                self.latest = None if self.refused else Record.of(made, numbers)
            return found


def _is_alone(made: Capture) -> bool:
    """Whether no backward comes to what the call returned."""
    live = made.live()
    return not live or freed_by(live) is not None
