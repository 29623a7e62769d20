"""Log of the operations run by a checkpoint's function, for the errors of checkpoints with ``debug=True``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd.checks import is_tensor
from ...autograd.locations import calling_location
from ...autograd.watching import Watcher, unwatch, watch


class OperationLog(Watcher):
    """Watcher that logs operations.  One that was stopped, or raised an error, has no result."""

    is_mode = True

    def __init__(self) -> None:
        #: For each operation the call, its result (empty if there was none) and its location.
        self.entries: list[tuple[str, str, str]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Log this thread's operations within the block, after dropping earlier entries."""
        self.entries = []
        watch(self)
        try:
            yield
        finally:
            unwatch(self)

    def before(self, call: Any) -> int:
        """Log the start of an operation."""
        text = f"{call.title.removeprefix('aten::')}({', '.join(map(_shown, call.args))})"
        self.entries.append((text, "", calling_location().brief))
        return len(self.entries) - 1

    def after(self, call: Any, number: int, result: Any) -> None:
        """Log the result of the operation."""
        text, _, location = self.entries[number]
        self.entries[number] = text, _shown(result), location

    def lines(self, marked: int | None) -> str:
        """Return the log as text, with the operation of this number marked."""
        width = len(str(len(self.entries)))
        lines = [
            f"{'>' if number == marked else ' '} {number + 1:{width}}. {text}{' -> ' if result else ''}{result}"
            f"   ({location})"
            for number, (text, result, location) in enumerate(self.entries)
        ]
        return "\n".join(lines) or "  (none)"


def _shown(value: Any) -> str:
    """Return a short form of an argument or a result: dtype and shape of tensors."""
    if is_tensor(value):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_shown, value))})"
    return repr(value)


def text_with_logs(error: Exception, forward: OperationLog, backward: OperationLog) -> str:
    """Return the text of the error with the operations that ran."""
    first = _first_difference(forward, backward)
    if first is None:
        summary = "The operations do not differ in what they are, nor in shapes and dtypes."
    else:
        summary = f"The operations differ first at number {first + 1}, which is marked."
    reason = str(error).split("\n\nTip:")[0].removeprefix("torch.utils.checkpoint: ")
    return (
        "An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
        f"Operations executed during the original forward:\n\n{forward.lines(first)}\n\n"
        f"Operations executed during recomputation:\n\n{backward.lines(first)}\n\n"
        "ERROR: Detected non-determinism while running activation checkpointing\n\n"
        f"{reason}\n\n{summary}"
    )


def _first_difference(forward: OperationLog, backward: OperationLog) -> int | None:
    """Return the number of the first operation that differs between the logs; None if they agree up to a stop."""
    before, now = forward.entries, backward.entries
    for number, ((text, result, _), (again, other, _)) in enumerate(zip(before, now, strict=False)):
        if text != again or (other and result != other):
            return number
    stopped = bool(now) and not now[-1][1]  # stopped during an operation, when everything was computed
    return None if len(before) == len(now) or (stopped and len(now) < len(before)) else min(len(before), len(now))
