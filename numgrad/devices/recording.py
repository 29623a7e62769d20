"""What devices tell of all that they do with memory while a program is recorded: see ``numgrad.programs``.

Note [Recording]
A program is recorded while it runs, in one thread: whatever is done is done as ever, and told besides.  A recorder is
told of

- every run of a kernel, before it runs (``launches``);
- what NumPy or LAPACK does instead of one, where the sizes of the result do not depend on values (``by_host``);
- numbers that a kernel is given and that were read from a tensor (``number_at``);
- every other look that Python takes at elements (``values_read``): what the program does from there on may depend on
  them, so that it cannot be replayed;
- what Python does for a run of the program besides its launches, such as an optimizer that counts steps (``repeat``);
- on a GPU memory that is new (``allocated``), and all else that is put on its stream (``on_gpu``): copies, zeros,
  cuBLAS's products, random numbers, updates of parameters.

What is told of none of these must neither read nor write the elements of tensors.  While nothing is recorded,
``recorder`` is None, and that is all that is asked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

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
        """A kernel is about to run; ``grid`` are its blocks and threads on a GPU."""

    def call(self, function: Callable[..., None], arguments: Sequence[Any], written: Sequence[Any]) -> None:
        """``function(*arguments)`` is to be called, which puts work on a GPU's stream: see ``on_gpu``."""

    def allocated(self, row: Any) -> None:
        """A row on a GPU is new: what it holds does not matter."""

    def host(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """``function(*arguments)`` is to be called: it reads arrays among the arguments, and returns new ones.

        Their sizes and dtypes depend on those of the arguments only, and on what is no array.
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


#: Who is told, while a program is recorded.
recorder: Recorder | None = None


def record_with(new: Recorder | None) -> None:
    """Tell this recorder from now on; None for nobody."""
    global recorder
    recorder = new


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


def by_host(function: Function) -> Function:
    """Decorate a function of arrays that NumPy computes, called by position: see ``Recorder.host``."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments) if recorder is None else recorder.host(function, arguments)

    return call  # type: ignore[return-value]


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


def plain_arguments(arguments: Sequence[Any]) -> Sequence[Any]:
    """The arguments of a kernel with numbers themselves in place of those that are watched."""
    return [one.plain() if isinstance(one, Watched) else one for one in arguments]


class _Number:
    """A number that was read from memory, and where."""

    array: np.ndarray
    index: int


class ReadInt(int, _Number):
    """An integer, or a truth value, that a kernel is given."""


class ReadFloat(float, _Number):
    """A real number that a kernel is given."""


class ReadComplex(complex, _Number):
    """A complex number that a kernel is given."""


_CLASSES: dict[type, Any] = {bool: ReadInt, int: ReadInt, float: ReadFloat, complex: ReadComplex}


def number_at(array: np.ndarray, index: int) -> Any:
    """An element as a number for a kernel, which knows where it was read; only while a program is recorded."""
    value = array.item(index)
    number = _CLASSES[value.__class__](value)
    number.array, number.index = array, index
    return number
