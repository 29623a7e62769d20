"""Tracing of operations as they run: ``NUMGRAD_DEBUG=1`` to ``4``, or ``with numgrad.viz.debug(level)``.

numgrad reads the variable once, at import, and it applies to all threads.  The block applies to the thread that entered
it.  If the variable is unset, this module is not imported and nothing is traced.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, TextIO

import numpy as np

from ..autograd.checks import is_tensor
from ..autograd.grad_mode import state
from ..autograd.watching import NODE, RULE, Watcher, unwatch, watch, watch_everywhere
from ..core.display import counted
from ..core.types import dtype
from ..devices import kernel_listeners, launches
from ..tensors import printing
from ..tensors.tensor import type_name

#: Results of up to this many elements are printed.
_FEW = 4


@dataclass(slots=True, eq=False)
class _Entry:
    """An operation, a node's rule or a block of the program that has begun."""

    text: str
    depth: int
    is_block: bool
    printed: bool = False  # True once its line was printed, which happens early if something inside it prints
    overhead: int = 0  # the thread's total overhead (see _DebugState) when the entry began
    begun: int = 0


class _DebugState(threading.local):
    """The open entries and the overhead of one thread."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.overhead = 0  # nanoseconds spent on making kernels and on printing


class debug(Watcher):  # noqa: N801 - used like a function
    """Context manager that prints each operation of this thread in the block as it runs, one line per event.

    The variable ``NUMGRAD_DEBUG`` prints the same for a whole program and all its threads.  Events inside an operation
    are indented below it, followed by its results.

    Args:
        level: the amount of detail.  Each level includes the ones before it.

            1. Each operation and each node of backward, with the shapes of its inputs and outputs.
            2. Their dtypes, the elements of small results, the bytes of results that are not views, and the time in
               microseconds, excluding the time to make kernels and to print.
            3. Each kernel run, with the elements and bytes that it reads and writes, its time and its bandwidth in
               GB/s; also the time to make each kernel, that is, to compile it or load it from disk.  GPU kernels then
               run one at a time, because each is waited for.
            4. The text of each kernel, before its first run.
        file: the stream to print to; ``sys.stderr`` by default.

    Raises:
        TypeError: ``file`` has no method ``write``.
        ValueError: ``level`` is not one of these.
        RuntimeError: the object is already entered; each block needs an object of its own.

    Example:
        >>> import sys
        >>> import numgrad
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> with numgrad.viz.debug(1, file=sys.stdout):
        ...     (x * x).sum().backward()
        numgrad: aten::mul [2] [2] -> [2]
        numgrad: aten::sum [2] -> []
        numgrad: SumBackward0 []
        numgrad:   aten::expand [] (2) -> [2]
        numgrad:   -> [2]
        numgrad: MulBackward0 [2] -> [2] [2]
        numgrad: aten::add_ [2] [2] 1 -> [2]
        numgrad: torch::autograd::AccumulateGrad [2]
    """

    def __init__(self, level: int = 1, *, file: TextIO | None = None):
        if level not in (1, 2, 3, 4):
            raise ValueError(f"debug(): level must be 1, 2, 3 or 4, not {level!r}")
        if file is not None and not hasattr(file, "write"):
            raise TypeError(f"debug(): file must have a method 'write', as sys.stderr has, not {type_name(file)}")
        self.level = level
        self.file = file
        self._entered = threading.Lock()
        self._thread_state = _DebugState()
        self._shown: set[Any] = set()  # kernels whose text was printed

    def __enter__(self) -> debug:
        if not self._entered.acquire(blocking=False):
            raise RuntimeError("this debug() is entered already: a block within, or in another thread, needs its own")
        self._listen()
        watch(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        unwatch(self)
        if self.level >= 2:
            kernel_listeners.remove(self._kernel_made)
        if self.level >= 3:
            launches.unlisten(self._launched)
        self._entered.release()

    def _listen(self) -> None:
        if self.level >= 2:
            kernel_listeners.append(self._kernel_made)
        if self.level >= 3:
            launches.listen(self._launched)

    # -- watcher interface ----------------------------------------------------------------------------------

    def before(self, call: Any) -> _Entry:
        return self._begin(call.title, (*call.args, *getattr(call, "attributes", {}).values()))

    def after(self, call: Any, token: _Entry, result: Any) -> None:
        self._end(token, perf_counter_ns(), result if isinstance(result, tuple | list) else (result,))

    def failed(self, call: Any, token: _Entry) -> None:
        self._end(token, perf_counter_ns(), None)

    def begin(self, kind: str, subject: Any, value: Any) -> _Entry | None:
        if kind == NODE:  # the node's rule is printed instead
            return None
        if kind == RULE:
            return self._begin(subject.name(), value if isinstance(value, list) else (value,))
        return self._begin(f'"{subject}"', (), is_block=True)

    def end(self, token: _Entry | None, result: Any) -> None:
        if token is not None:
            self._end(token, perf_counter_ns(), () if token.is_block else result)

    def _launched(self, launch: Any) -> None:
        if self not in state.watchers:
            return
        begun = perf_counter_ns()
        kernel = launch.kernel
        if self.level >= 4 and kernel is not None and kernel not in self._shown:
            self._shown.add(kernel)
            self._print_within(f"{kernel!r}", *[f"| {line}".rstrip() for line in kernel.text.strip().splitlines()])
        name = launch.name if kernel is None else f"kernel {launch.name}"
        figures = f"{launch.time * 1e6:.1f} us, {launch.bandwidth:.2f} GB/s"
        where = ", on several threads" if launch.parallel else f", on {launch.device}" * (launch.device != "cpu")
        self._print_within(f"{name}: {counted(launch.elements, 'element')}, {launch.bytes} bytes, {figures}{where}")
        self._thread_state.overhead += perf_counter_ns() - begun

    def _kernel_made(self, name: str, begun: int, ended: int) -> None:
        if self in state.watchers:
            if self.level >= 3:
                self._print_within(f"kernel {name} made in {(ended - begun) / 1e6:.1f} ms")
            self._thread_state.overhead += perf_counter_ns() - begun

    # -- printing -------------------------------------------------------------------------------------------

    def _begin(self, name: str, arguments: Any, *, is_block: bool = False) -> _Entry:
        begun = perf_counter_ns()
        thread_state = self._thread_state
        self._print_open(thread_state)
        text = " ".join([name, *filter(None, map(self._described, arguments))])
        entry = _Entry(text, len(thread_state.entries), is_block)
        thread_state.entries.append(entry)
        entry.begun = perf_counter_ns()
        thread_state.overhead += entry.begun - begun
        entry.overhead = thread_state.overhead
        return entry

    def _end(self, entry: _Entry, ended: int, results: Any) -> None:
        """Close an entry and print its results; ``results`` is None after an error."""
        thread_state = self._thread_state
        if entry not in thread_state.entries:  # it ended, and then another watcher raised an error
            return
        del thread_state.entries[thread_state.entries.index(entry) :]
        elapsed = ended - entry.begun - (thread_state.overhead - entry.overhead)
        outcome = "failed" if results is None else self._outcome(results)
        if self.level >= 2:
            outcome = f"{outcome} {elapsed / 1e3:.1f} us".lstrip()
        if not entry.printed:
            self._print(entry.depth, f"{entry.text} {outcome}".rstrip())
        elif outcome:
            self._print(entry.depth + 1, outcome)
        thread_state.overhead += perf_counter_ns() - ended

    def _outcome(self, results: Any) -> str:
        texts = [text for text in map(self._result, results) if text]
        if not texts:
            return ""
        outcome = f"-> {' '.join(texts)}"
        if self.level < 2:
            return outcome
        new = [value for value in results if is_tensor(value) and not _is_view(value)]
        size = sum([value._layout.size * value._layout.type.numpy.itemsize for value in new])
        return f"{outcome}, {size} bytes," if new else f"{outcome},"

    def _result(self, value: Any) -> str:
        text = self._described(value)
        if self.level < 2 or not is_tensor(value) or hasattr(value, "_mapped"):
            return text
        return f"{text}{' (view)' if _is_view(value) else ''}{_elements(value)}"

    def _described(self, value: Any) -> str:
        if is_tensor(value):
            return f"{value._layout.type.dtype.name if self.level >= 2 else ''}{list(value.shape)}"
        if isinstance(value, list | tuple):
            return f"({', '.join(filter(None, map(self._described, value)))})"
        return repr(value) if isinstance(value, bool | int | float | complex | str | dtype) else ""

    def _print_open(self, thread_state: _DebugState) -> None:
        """Print the lines of the open entries, because a line inside them is about to be printed."""
        for entry in thread_state.entries:
            if not entry.printed:
                entry.printed = True
                self._print(entry.depth, entry.text)

    def _print_within(self, *lines: str) -> None:
        thread_state = self._thread_state
        self._print_open(thread_state)
        for line in lines:
            self._print(len(thread_state.entries), line)

    def _print(self, depth: int, text: str) -> None:
        thread = threading.current_thread()
        name = "" if thread is threading.main_thread() else f" {thread.name}"
        file = sys.stderr if self.file is None else self.file
        file.write(f"numgrad{name}: {'  ' * depth}{text}\n")


def _is_view(tensor: Any) -> bool:
    return not hasattr(tensor, "_mapped") and tensor._view is not None


def _elements(tensor: Any) -> str:
    """Return the elements of a small tensor as text."""
    if not 0 < tensor._layout.size <= _FEW:
        return ""
    texts = [text.strip() for text in printing.element_texts(np.asarray(tensor._numbers()).reshape(-1))[0]]
    return f" = {texts[0]}" if not tensor._layout.shape else f" = [{', '.join(texts)}]"


def start() -> None:
    """Start the tracing that ``NUMGRAD_DEBUG`` selects, for all threads; warn if its value is invalid."""
    asked = os.environ.get("NUMGRAD_DEBUG", "").strip()
    if asked in ("", "0"):
        return
    if asked not in ("1", "2", "3", "4"):
        warnings.warn(
            f"NUMGRAD_DEBUG is {asked!r}, but must be 1, 2, 3 or 4 (or 0): nothing is printed", stacklevel=2
        )
        return
    printer = debug(int(asked))
    printer._listen()
    watch_everywhere(printer)
