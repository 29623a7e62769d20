"""Notifications of a recorder, while a program is recorded, of everything that is done with memory.

Note [Recording]
A program is recorded while it runs as usual, in one thread; see ``numgrad.programs``.  The recorder is notified of

- every step of a plan, before it runs (``interpreter``): a kernel or a host function, with its operands;
- new memory that is not zeroed (``allocated``), on the CPU and on GPUs;
- every other access of Python to elements (``values_read``): what the program does after it may depend on them, so
  that it cannot be replayed;
- Python code that each run of the program repeats besides its launches, such as an optimizer that counts steps
  (``repeat``);
- on a GPU, everything else that is put on its stream (``on_gpu``): copies, zeros, cuBLAS's products, random numbers,
  updates of parameters.

Code that notifies the recorder of none of these must neither read nor write elements of tensors.  While a recorder or
a listener (see ``launches``) is there, ``observed`` is True and plans are interpreted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


class Effect:
    """What Python does for each run of a program besides its launches."""

    def advance(self) -> None:
        """Do it: in the call that is recorded, and before each replay."""
        raise NotImplementedError

    def undo(self) -> None:
        """Take it back: the run has failed."""
        raise NotImplementedError

    def stands(self) -> bool:
        """Whether at the end of the call it would do the same as it has done."""
        return True

    def counters(self) -> Sequence[list[int]]:
        """The version counters that it counts up."""
        return ()

    def reads(self) -> Sequence[Any]:
        """The tensors of which it looks at elements."""
        return ()

    def fills(self) -> Sequence[np.ndarray]:
        """The arrays that it writes, for kernels."""
        return ()

    def repeats(self, other: Effect) -> bool:
        """Whether it does in one call what another one, of the same program, has done in a call before."""
        return False


class Recorder(Protocol):
    """Who is told.  Threads other than that which records are not its business: it sees to that itself."""

    def launch(self, kernel: Any, arguments: Sequence[Any], grid: Sequence[int] = ()) -> None:
        """A kernel is about to run; ``grid`` are its blocks and threads on a GPU.

        An ``Element`` among the arguments stands for the number there.
        """

    def call(self, function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """``function(*arguments)`` is to be called, which puts work on a GPU's stream: see ``on_gpu``."""

    def allocated(self, row: Any) -> None:
        """Memory is new: what it holds does not matter."""

    def host(
        self, function: Callable[..., Any], operands: Sequence[Any], arguments: Sequence[Any], written: Sequence[int]
    ) -> Any:
        """Call ``function(*arguments)``, a host function, and return its new arrays in a tuple, or None.

        Their sizes and dtypes depend on those of the arguments only, and on what is no array.  ``operands`` are the
        arguments with an ``Element`` for each number that was read from memory.  The function writes to the arguments
        with the numbers ``written``.
        """

    def values_read(self, what: str) -> None:
        """Python is about to look at elements; ``what`` is how messages call that, such as ``item()``."""

    def place_read(self, memory: Any, what: str) -> None:
        """Python is about to look at where in its memory a tensor lies, or at how much there is of that."""

    def state_read(self, what: str) -> None:
        """Python is about to read state that no guard compares; ``what`` names it in messages."""

    def repeat(self, effect: Effect) -> None:
        """``effect.advance()`` has been called."""

    def untold(self, function: Callable[[], Any]) -> Any:
        """What ``function()`` returns, which is no concern of the program's."""

    def is_repeated(self, found: Callable[[Effect], bool]) -> bool:
        """Whether there is such an effect already."""


#: The recorder, while a program is recorded.
recorder: Recorder | None = None

#: Whether there is a recorder or a listener (see ``launches``): plans are interpreted, and each step notifies these.
observed = False

_listened = False


def record_with(new: Recorder | None) -> None:
    """Notify this recorder from now on; None for no recorder."""
    global recorder, observed
    recorder = new
    observed = new is not None or _listened


def observe_launches(on: bool) -> None:
    """Have each launch notify the listeners, or no longer."""
    global observed, _listened
    _listened = on
    observed = on or recorder is not None


def values_read(what: str) -> None:
    """Tell that Python is about to look at elements."""
    if recorder is not None:
        recorder.values_read(what)


def place_read(memory: Any, what: str) -> None:
    """Tell that Python is about to look at where in this memory a tensor lies, or at how much there is of it."""
    if recorder is not None:
        recorder.place_read(memory, what)


def state_read(what: str) -> None:
    """Tell the recorder that Python is about to read state that no guard compares."""
    if recorder is not None:
        recorder.state_read(what)


def untold(function: Callable[[], Any]) -> Any:
    """What ``function()`` returns.  It may look at elements: nothing that is recorded depends on what it finds."""
    return function() if recorder is None else recorder.untold(function)


def reads_values(what: str) -> Callable[[Function], Function]:
    """Decorate a function that looks at elements, such as one whose result has as many as there are nonzero ones."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if recorder is not None:
                recorder.values_read(what)
            return function(*arguments, **keywords)

        return call  # type: ignore[return-value]

    return decorate


def on_gpu(function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
    """Call ``function(*arguments)``, which puts work on the current stream of a GPU, and tell that.

    It writes the rows ``written``, and reads the others among its arguments.  A replay calls it with rows elsewhere.
    A row of no block stands for an address.
    """
    if recorder is None:
        function(*arguments)
    else:
        recorder.call(function, arguments, written)


class Watched:
    """A number that a program is given as an argument and that notes what Python does with it: it is no ``float``.

    Operations take it for one; what they give to kernels is the number itself, which ``plain()`` returns.
    """

    __slots__ = ("uses", "value")

    def __init__(self, value: Any):
        self.value = value
        #: What Python has done with it.
        self.uses: list[str] = []

    def plain(self) -> Any:
        """The number itself, for operations."""
        return self.value


def plain(argument: Any) -> Any:
    """Return the number itself if an argument is a watched one, and else the argument."""
    return argument.plain() if isinstance(argument, Watched) else argument


class Element(NamedTuple):
    """A number that was read from memory: the one element of an array."""

    array: np.ndarray
