"""Launch listeners: functions that are called after every run of a kernel, with its times and the bytes it moves.

Note [Listening]
Kernels are run by ``run_kernel`` here and by ``run_kernel`` of ``cuda.launching``, which call the listeners.  Bound
plans call a kernel's machine code directly.  While there are listeners, plans are interpreted instead (``observed`` in
``recording``), with the same results.  So calls without listeners cost nothing extra.

Work that NumPy does instead of a kernel (sorting, joining, products of vectors) is reported as a run without a kernel.
NumPy's auxiliary work is not reported: filling memory, copying a few elements, drawing random bits.

On a GPU, each kernel ends before the next is launched.  Its time is measured by events on the GPU, and contains the few
microseconds that a launch takes.  Functions of cuBLAS are reported as runs without a kernel.  Copies and the filling of
memory are not reported.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, TypeVar

from numba.core.types import Type

from numgrad_kernels import cache, progress, store
from numgrad_kernels.facts import Facts
from numgrad_kernels.store import Kernel

from . import recording
from .traffic import Traffic, array_traffic, kernel_traffic

#: Types of devices on which kernels run.
CPU, GPU = "cpu", "cuda"


class Launch:
    """One run of a kernel, or of a library's function that replaces a kernel.

    Attributes:
        kernel: the kernel, for the CPU or GPUs; None for NumPy and cuBLAS.
        name: the name of the kernel, or of a library's function, such as "numpy.sort".
        device: the device: "cpu", or a GPU's name, such as "cuda:0".
        begun, ended: its times, in nanoseconds of ``time.perf_counter_ns``.
        read, written: bytes of the elements that it must read and write, each counted once.
        elements: the number of elements of its largest array.
        parallel: True if it ran on several threads.
        thread: the identifier of the thread that ran it.
    """

    __slots__ = ("begun", "device", "elements", "ended", "kernel", "name", "parallel", "read", "thread", "written")

    def __init__(self, kernel: Any, name: str, begun: int, ended: int, traffic: Traffic, device: str = CPU):
        self.kernel = kernel
        self.name = name
        self.device = device
        self.begun = begun
        self.ended = ended
        self.read, self.written, self.elements = traffic
        self.parallel = isinstance(kernel, Kernel) and kernel.parallel
        self.thread = threading.get_ident()

    @property
    def time(self) -> float:
        """Duration in seconds."""
        return (self.ended - self.begun) / 1e9

    @property
    def bytes(self) -> int:
        """Number of bytes that it must read and write."""
        return self.read + self.written

    @property
    def bandwidth(self) -> float:
        """Bandwidth in bytes per nanosecond, which is GB/s."""
        return self.bytes / max(self.ended - self.begun, 1)

    def __repr__(self) -> str:
        return f"<Launch {self.name}: {self.elements} elements, {self.bytes} bytes in {self.time * 1e6:.1f} us>"


Listener = Callable[[Launch], None]

#: Listeners to the CPU, and to GPUs.
listeners: tuple[Listener, ...] = ()
gpu_listeners: tuple[Listener, ...] = ()

#: All listeners, each with the types of devices it listens to.
_asked: list[tuple[Listener, Collection[str]]] = []


_changing = threading.RLock()


def _renew_lock() -> None:
    """Replace the lock in the child of a fork: a thread that the fork did not copy may have held it."""
    global _changing
    _changing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class _ThisThread(threading.local):
    #: True while the thread runs a listener, or a function that is reported as a whole: its kernels are not reported.
    busy = False


_this_thread = _ThisThread()


def listen(listener: Listener, devices: Collection[str] = (CPU, GPU)) -> None:
    """Call a listener after every run of a kernel on these types of devices, in the thread that ran the kernel.

    Kernels that the listener itself runs are not reported.  An error that it raises is raised by the operation.
    Kernels on other devices run as fast as without listeners.
    """
    with _changing:
        _asked.append((listener, devices))
        _change()


def unlisten(listener: Listener) -> None:
    """Undo one call of ``listen`` with this listener; do nothing if there is none."""
    with _changing:
        for index, (other, _) in enumerate(_asked):
            if other == listener:
                del _asked[index]
                break
        _change()


def _change() -> None:
    """Update the tuples of listeners, one for each type of device."""
    global listeners, gpu_listeners
    listeners = tuple([listener for listener, devices in _asked if CPU in devices])
    gpu_listeners = tuple([listener for listener, devices in _asked if GPU in devices])
    recording.observe_launches(bool(_asked))


def _listeners_to(device_type: str) -> tuple[Listener, ...]:
    return listeners if device_type == CPU else gpu_listeners


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Return a context manager that calls a listener after every run of a kernel in the block."""
    try:
        listen(listener)
        yield
    finally:
        try:
            unlisten(listener)
        except BaseException:  # Ctrl-C, as it began
            unlisten(listener)
            raise


def run_kernel(kernel: Kernel, arguments: Sequence[Any], noted: Sequence[Any] | None = None) -> None:
    """Run a kernel of the CPU, and notify the recorder and the listeners.

    ``noted`` are the arguments for the recorder, if these differ.
    """
    if not recording.observed:
        kernel.entry(*arguments)
        return
    if recording.recorder is not None:
        recording.recorder.launch(kernel, arguments if noted is None else noted)
    begun = perf_counter_ns()
    kernel.entry(*arguments)
    ended = perf_counter_ns()
    notify(lambda: Launch(kernel, kernel.name, begun, ended, kernel_traffic(kernel.facts, arguments)), CPU)


def kernels_compiled() -> int:
    """Return the number of kernels that this process compiled, or waited for while another process compiled them."""
    return progress.compiled()


def keeps_kernels() -> bool:
    """Return True if kernels are kept on disk."""
    return os.access(cache.cache_directory(), os.W_OK)


def notify(launch: Callable[[], Launch], device_type: str) -> None:
    """Call the listeners to this type of device with the launch, unless this thread is busy."""
    if not _this_thread.busy and _listeners_to(device_type):
        record = launch()
        _this_thread.busy = True
        try:
            for listener in _listeners_to(device_type):
                listener(record)
        finally:
            _this_thread.busy = False


Function = TypeVar("Function", bound=Callable[..., Any])


def by_numpy(name: str) -> Callable[[Function], Function]:
    """Decorate a function that computes with NumPy: each call is reported to listeners under this name."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if not listeners or _this_thread.busy:
                return function(*arguments, **keywords)
            _this_thread.busy = True
            try:
                begun = perf_counter_ns()
                result = function(*arguments, **keywords)
                ended = perf_counter_ns()
            finally:
                _this_thread.busy = False
            notify(lambda: Launch(None, name, begun, ended, array_traffic(arguments, result)), CPU)
            return result

        call.library = name  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


#: Functions that are called when a kernel is ready, with its name, and the times at which compiling or loading it began
#: and ended, in nanoseconds of ``perf_counter_ns``.  They run in the thread that needs the kernel.
kernel_listeners: list[Callable[[str, int, int], None]] = []


def compile_kernel(
    name: str, write: Callable[[], str], arguments: Sequence[Type], facts: Facts, *, parallel: bool = False
) -> store.Kernel:
    """Return the kernel with the text that ``write`` returns, for these arguments; see ``numgrad_kernels.store``."""
    begun = perf_counter_ns()
    kernel = store.compile_kernel(name, write(), arguments, facts, parallel=parallel)
    notify_made(name, begun)
    return kernel


def notify_made(name: str, begun: int) -> None:
    """Notify the listeners that a kernel is ready; ``begun`` is the time when compiling or loading it began."""
    if kernel_listeners:
        ended = perf_counter_ns()
        for listener in tuple(kernel_listeners):
            listener(name, begun, ended)
