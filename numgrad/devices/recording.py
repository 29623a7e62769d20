"""Notifications to the recorder of a program about everything that is done with memory.

Note [Recording]
A program is recorded while it runs as usual, in one thread; see ``numgrad.programs``.  The recorder is notified of

- every step of a plan, before it runs (``interpreter``): a kernel or a host function, with its operands;
- new memory that is not zeroed (``allocated``), on the CPU and on GPUs;
- every other access of Python to elements (``values_read``): the program may then depend on them, so that it cannot be
  replayed;
- Python code that each run of the program repeats besides its launches, such as an optimizer that counts steps
  (``repeat``);
- on a GPU, everything else that is put on its stream (``on_gpu``): copies, zeros, cuBLAS's products, random numbers,
  updates of parameters.

Code that does not notify the recorder must neither read nor write elements of tensors.  While there is a recorder or a
listener (see ``launches``), ``observed`` is True and plans are interpreted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


class Effect:
    """An action of Python that each run of a program repeats besides its launches.

    Attributes:
        may_fail: True if ``advance`` may raise an error; a replay that fails then calls the uncompiled function, which
            raises it.
    """

    may_fail = False

    def advance(self) -> None:
        """Do the action, in the recorded call and before each replay."""
        raise NotImplementedError

    def undo(self) -> None:
        """Undo the action after a run has failed."""
        raise NotImplementedError

    def stands(self) -> bool:
        """Return True if the action would be the same at the end of the call."""
        return True

    def counters(self) -> Sequence[list[int]]:
        """Return the version counters that it increments."""
        return ()

    def reads(self) -> Sequence[Any]:
        """Return the tensors whose elements it reads."""
        return ()

    def fills(self) -> Sequence[np.ndarray]:
        """Return the arrays that it writes for kernels."""
        return ()

    def changes(self) -> Sequence[tuple[dict[str, Any], str, Any, Any]]:
        """Return the values in Python that it has just changed: a dictionary, a key, and both values."""
        return ()

    def holders(self) -> Sequence[dict[str, Any]]:
        """Return the dictionaries in which it changes values."""
        return ()

    def functions(self) -> Sequence[Any]:
        """Return the user's functions that it calls."""
        return ()

    def precede(self, later: Effect) -> None:
        """Record an action that follows this one."""

    def repeats(self, other: Effect) -> bool:
        """Return True if this action and ``other``, of an earlier call of the same program, do the same."""
        return False


class DeviceRecorder(Protocol):
    """The receiver of notifications, which ignores threads other than the one that records."""

    def launch(self, kernel: Any, arguments: Sequence[Any], grid: Sequence[int] = ()) -> None:
        """Handle the launch of a kernel; ``grid`` has its blocks and threads on a GPU.

        An ``Element`` among the arguments stands for the number in it.
        """

    def call(self, function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """Call ``function(*arguments)``, which puts work on a GPU's stream: see ``on_gpu``."""

    def allocated(self, buffer: Any) -> None:
        """Handle new memory, whose contents do not matter."""

    def host(
        self, function: Callable[..., Any], operands: Sequence[Any], arguments: Sequence[Any], written: Sequence[int]
    ) -> Any:
        """Call ``function(*arguments)``, a host function, and return its new arrays in a tuple, or None.

        Their sizes and dtypes depend only on those of the arguments, and on arguments that are not arrays.
        ``operands`` are the arguments with an ``Element`` for each number that was read from memory.  The function
        writes to the arguments with the indices ``written``.
        """

    def values_read(self, what: str) -> None:
        """Handle a read of elements by Python; ``what`` names the access in messages, such as ``item()``."""

    def place_read(self, memory: Any, what: str) -> None:
        """Handle a read, by Python, of a tensor's position in its memory or of the memory's size."""

    def condition(self, holds: Callable[[], bool], memory: Any, what: str) -> bool:
        """Return ``holds()``, which reads elements in this memory: replays need the same value; see ``condition``."""

    def state_read(self, what: str) -> None:
        """Handle a read, by Python, of state that no guard compares; ``what`` names it in messages."""

    def break_off(self, reason: str) -> None:
        """Abandon the recording before Python does what no replay can do."""

    def repeat(self, effect: Effect) -> None:
        """Handle a call of ``effect.advance()``."""

    def unrecorded(self, function: Callable[[], Any]) -> Any:
        """Call ``function()`` without recording what it does, and return its result."""

    def is_repeated(self, matches: Callable[[Effect], bool]) -> bool:
        """Return True if such an effect is recorded already."""


#: The recorder, while a program is recorded.
recorder: DeviceRecorder | None = None

#: Functions that forget all programs, called when something changes that no guard compares.
outdated: list[Callable[[], None]] = []

#: True if there is a recorder or a listener (see ``launches``): plans are interpreted, and each step notifies these.
observed = False

_listened = False


def record_with(new: DeviceRecorder | None) -> None:
    """Notify this recorder from now on; None for no recorder."""
    global recorder, observed
    recorder = new
    observed = new is not None or _listened


def observe_launches(on: bool) -> None:
    """Begin or stop to notify the listeners of each launch."""
    global observed, _listened
    _listened = on
    observed = on or recorder is not None


def values_read(what: str) -> None:
    """Notify the recorder that Python reads elements."""
    if recorder is not None:
        recorder.values_read(what)


def place_read(memory: Any, what: str) -> None:
    """Notify the recorder that Python reads a tensor's position in this memory or the memory's size."""
    if recorder is not None:
        recorder.place_read(memory, what)


def condition(holds: Callable[[], bool], memory: Any, what: str) -> bool:
    """Return ``holds()``, which depends on nothing but elements in this memory.

    A program is replayed only if the result is that of the recording.  The memory belongs to a tensor that existed
    before, called ``what`` in messages.
    """
    return holds() if recorder is None else recorder.condition(holds, memory, what)


def state_read(what: str) -> None:
    """Notify the recorder that Python reads state that no guard compares."""
    if recorder is not None:
        recorder.state_read(what)


def unrecorded(function: Callable[[], Any]) -> Any:
    """Call ``function()`` without recording what it does, and return its result.

    It may read elements: nothing that is recorded may depend on its result.
    """
    return function() if recorder is None else recorder.unrecorded(function)


def reads_values(what: str) -> Callable[[Function], Function]:
    """Decorate a function that reads elements, such as one whose result has a size that depends on them."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if recorder is not None:
                recorder.values_read(what)
            return function(*arguments, **keywords)

        return call  # type: ignore[return-value]

    return decorate


#: Functions that put the same work on the current stream of a GPU in each call with the same operands.
_repeatable: set[Any] = set()


def repeatable(function: Function) -> Function:
    """Declare that a function puts the same work on the current stream of a GPU in each call with the same operands."""
    _repeatable.add(function)
    return function


def is_repeatable(function: Any) -> bool:
    """Return True if a function, other than a kernel, is declared to be ``repeatable``."""
    return function in _repeatable


def on_gpu(function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
    """Call ``function(*arguments)``, which puts work on the current stream of a GPU, and notify the recorder.

    The function writes the buffers ``written``, and reads the others among its arguments.  A replay calls it with
    buffers at other addresses.  A buffer without a block stands for an address.
    """
    if recorder is None:
        function(*arguments)
    else:
        recorder.call(function, arguments, written)


class WatchedNumber:
    """A stand-in for a number among the arguments of a program that notes what Python does with it; it is no ``float``.

    Operations accept it, and give kernels the number itself, which ``plain()`` returns.
    """

    __slots__ = ("is_used", "value")

    def __init__(self, value: Any):
        self.value = value
        #: True if Python has called a method.
        self.is_used = False

    def plain(self) -> Any:
        """Return the number itself."""
        return self.value


def plain(argument: Any) -> Any:
    """Return the number itself for a watched number, and any other argument unchanged."""
    return argument.plain() if isinstance(argument, WatchedNumber) else argument


class Element(NamedTuple):
    """A number that was read from memory: the one element of an array."""

    array: np.ndarray
