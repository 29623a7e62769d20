"""Launch listeners: who is told of every run of a kernel, with its times and the bytes it moves.

Note [Listening]
Running a kernel is calling its ``entry``, the bare machine code.  While somebody listens, ``entry`` is a function
around it that takes the times; before and after that it is the bare code again, so that nobody pays for listeners who
are not there.  Launchers that keep an ``entry``, because reading it anew would cost time, take it with ``bind``, and
again when it changes; all others read it for every run.  So nothing that was recorded, compiled or remembered before
somebody listens escapes, and a kernel's results are the same.

What NumPy does in a kernel's place (sorting, joining, products of vectors) is told of, too, as a run without a kernel.
Not told of is what NumPy does beside it: it fills memory, copies a few elements, draws random bits.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, TypeVar
from weakref import WeakSet

from numgrad_kernels.store import Kernel, compiled_kernels

from .traffic import Traffic, array_traffic, kernel_traffic

__all__ = ["Launch", "bind", "by_numpy", "listen", "listening", "made", "unlisten"]


class Launch:
    """One run of a kernel, or of a function of NumPy's in the place of one.

    Attributes:
        kernel: from the store; None for NumPy.
        name: the kernel's; for NumPy the function's, such as "numpy.sort".
        begun, ended: in nanoseconds of ``time.perf_counter_ns``.
        read, written: bytes of the elements that it must read and write, each counted once.
        elements: of the largest of its arrays.
        parallel: whether it runs on several threads.
        thread: the identifier of the thread that ran it.
    """

    __slots__ = ("begun", "elements", "ended", "kernel", "name", "parallel", "read", "thread", "written")

    def __init__(self, kernel: Kernel | None, name: str, begun: int, ended: int, traffic: Traffic):
        self.kernel = kernel
        self.name = name
        self.begun = begun
        self.ended = ended
        self.read, self.written, self.elements = traffic
        self.parallel = kernel is not None and kernel.parallel
        self.thread = threading.get_ident()

    @property
    def time(self) -> float:
        """How long it took, in seconds."""
        return (self.ended - self.begun) / 1e9

    @property
    def bytes(self) -> int:
        """What it must read and write."""
        return self.read + self.written

    @property
    def bandwidth(self) -> float:
        """Bytes per nanosecond, that is GB/s."""
        return self.bytes / max(self.ended - self.begun, 1)

    def __repr__(self) -> str:
        return f"<Launch {self.name}: {self.elements} elements, {self.bytes} bytes in {self.time * 1e6:.1f} us>"


Listener = Callable[[Launch], None]

#: Who is told.
listeners: tuple[Listener, ...] = ()

#: The machine code of each kernel whose ``entry`` is a function around it.
_bare: dict[Kernel, Callable[..., None]] = {}

#: Functions that copy a kernel's ``entry`` somewhere.
_bound: WeakSet[Callable[[], None]] = WeakSet()

_changing = threading.RLock()


class _Telling(threading.local):
    """Whether what this thread runs is not to be told: it is inside a listener, or in what will be told as a whole."""

    busy = False


_telling = _Telling()


def listen(listener: Listener) -> None:
    """Tell the listener of every run of a kernel from now on, in the thread that ran it, whichever that is.

    What the listener runs itself it is not told of.  An error that it raises comes out of the operation.
    """
    global listeners
    with _changing:
        listeners = (*listeners, listener)
        for kernel in compiled_kernels():
            _surround(kernel)
        _bind_all()


def unlisten(listener: Listener) -> None:
    """No longer tell it, or once less if it listens several times; nothing happens if it is not told."""
    global listeners
    with _changing:
        left = list(listeners)
        if listener in left:
            left.remove(listener)
        listeners = tuple(left)
        if not listeners:
            for kernel, entry in _bare.items():
                kernel.entry = entry
            _bare.clear()
            _bind_all()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """``with listening(listener):`` tell it of what is run in the block."""
    listen(listener)
    try:
        yield
    finally:
        unlisten(listener)


def made(kernel: Kernel) -> None:
    """Say that the process has a new kernel."""
    if listeners:
        with _changing:
            if listeners:
                _surround(kernel)


def bind(function: Callable[[], None]) -> None:
    """Call a function that copies a kernel's ``entry`` somewhere, now and whenever that changes while it is alive."""
    with _changing:
        function()
        _bound.add(function)


def _bind_all() -> None:
    for function in list(_bound):
        function()


def _surround(kernel: Kernel) -> None:
    if kernel in _bare:
        return
    entry = _bare[kernel] = kernel.entry

    def run(*arguments: Any) -> None:
        begun = perf_counter_ns()
        entry(*arguments)
        ended = perf_counter_ns()
        if not _telling.busy:
            _tell(Launch(kernel, kernel.name, begun, ended, kernel_traffic(kernel, arguments)))

    kernel.entry = run


def _tell(launch: Launch) -> None:
    _telling.busy = True
    try:
        for listener in listeners:
            listener(launch)
    finally:
        _telling.busy = False


Function = TypeVar("Function", bound=Callable[..., Any])


def by_numpy(name: str) -> Callable[[Function], Function]:
    """Decorate a function that has NumPy do what it does with arrays: listeners are told of it under this name."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if not listeners or _telling.busy:
                return function(*arguments, **keywords)
            _telling.busy = True
            try:
                begun = perf_counter_ns()
                result = function(*arguments, **keywords)
                ended = perf_counter_ns()
            finally:
                _telling.busy = False
            _tell(Launch(None, name, begun, ended, array_traffic(arguments, result)))
            return result

        return call  # type: ignore[return-value]

    return decorate
