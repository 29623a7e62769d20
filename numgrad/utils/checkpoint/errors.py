"""What errors of checkpoints say: what was computed again is not what was computed first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd.checks import is_tensor
from ...autograd.locations import calling_location
from ...autograd.watching import Watcher, unwatch, watch
from ...core.types import size_of

_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint-debug mode globally."
)


class CheckpointError(RuntimeError):
    """What a checkpoint computed again in backward does not fit what it computed in forward."""


def metadata(shape: tuple[int, ...], type: Any) -> dict[str, Any]:
    """What is compared of a tensor, by name."""
    return {"shape": size_of(shape), "dtype": type.dtype, "device": type.device}


def different_number(before: int, now: int) -> CheckpointError:
    """The error for a function that had ``before`` tensors saved in forward, and ``now`` in backward."""
    return CheckpointError(
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
        f"recomputation.\nNumber of tensors saved during forward: {before}\n"
        f"Number of tensors saved during recomputation: {now}.{_TIP}"
    )


def too_many_tensors() -> CheckpointError:
    """The error for a function that has more tensors saved than in forward."""
    return CheckpointError(
        "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
        f"pass.{_TIP}"
    )


def different_metadata(differences: list[tuple[int, dict[str, Any], dict[str, Any]]]) -> CheckpointError:
    """The error for tensors, given by their position, that had the first metadata and now have the second."""
    lines = [
        f"tensor at position {position}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
        for position, before, now in differences
    ]
    return CheckpointError(
        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
        f"forward pass.\n{''.join(lines)}{_TIP}"
    )


def changed_in_place(tensor: Any, version: int) -> CheckpointError:
    """The error for a tensor that was saved at this version while it was computed again, and has changed since."""
    return CheckpointError(
        "torch.utils.checkpoint: one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: the checkpointed function saves a tensor of shape {list(tensor.shape)} and dtype {tensor.dtype} "
        f"for backward, and changes it in place after that. (It is at version {tensor._counter[0]}; expected version "
        f"{version} instead.)"
    )


def not_under_vmap(tensor: Any) -> RuntimeError:
    """The error for a tensor saved under vmap that has a place in a graph inside of vmap and in one outside."""
    return RuntimeError(
        "checkpoint cannot be used under vmap here: derivatives inside of vmap need a tensor that it saves (of shape "
        f"{list(tensor.shape)}), and derivatives outside of vmap need the graph of that tensor, which a checkpoint "
        "does not keep. Put the checkpoint around vmap."
    )


def unpacked_twice(in_group: bool) -> CheckpointError:
    """The error for a saved tensor that is asked for again in the same backward pass, or group of them."""
    group = (
        "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
        "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
    )
    return CheckpointError(
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
        f"{group if in_group else ''}If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
        "Otherwise please open an issue with details on your use case."
    )


class OperationLog(Watcher):
    """Notes the operations that are called.  One that was stopped, or raised an error, has no result."""

    def __init__(self) -> None:
        #: For each operation the call, its result (empty if there was none) and where it was called.
        self.entries: list[tuple[str, str, str]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within the block, this thread's operations are noted; what was noted before is dropped."""
        self.entries = []
        watch(self)
        try:
            yield
        finally:
            unwatch(self)

    def before(self, call: Any) -> int:
        """An operation is about to be done: note it."""
        text = f"{call.title.removeprefix('aten::')}({', '.join(map(_shown, call.args))})"
        self.entries.append((text, "", calling_location().brief))
        return len(self.entries) - 1

    def after(self, call: Any, number: int, result: Any) -> None:
        """It was done: note the result."""
        text, _, location = self.entries[number]
        self.entries[number] = text, _shown(result), location

    def lines(self, marked: int | None) -> str:
        """The log as text, one operation marked if told so."""
        width = len(str(len(self.entries)))
        lines = [
            f"{'>' if number == marked else ' '} {number + 1:{width}}. {text}{' -> ' if result else ''}{result}"
            f"   ({location})"
            for number, (text, result, location) in enumerate(self.entries)
        ]
        return "\n".join(lines) or "  (none)"


def _shown(value: Any) -> str:
    """An argument or a result in short: of tensors the dtype and the shape."""
    if is_tensor(value):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_shown, value))})"
    return repr(value)


def with_logs(error: CheckpointError, forward: OperationLog, backward: OperationLog) -> CheckpointError:
    """The error again, with the operations that ran."""
    first = _first_difference(forward, backward)
    if first is None:
        summary = "The operations do not differ in what they are, nor in shapes and dtypes."
    else:
        summary = f"The operations differ first at number {first + 1}, which is marked."
    reason = str(error).split("\n\nTip:")[0].removeprefix("torch.utils.checkpoint: ")
    return CheckpointError(
        "An error happened while unpacking tensors; dumping logs of latest computation\n"
        "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
        f"Operations executed during the original forward:\n\n{forward.lines(first)}\n\n"
        f"Operations executed during recomputation:\n\n{backward.lines(first)}\n\n"
        "ERROR: Detected non-determinism while running activation checkpointing\n\n"
        f"{reason}\n\n{summary}"
    )


def _first_difference(forward: OperationLog, backward: OperationLog) -> int | None:
    """The number of the first operation that is not in both logs, None if there is none that should be."""
    before, now = forward.entries, backward.entries
    for number, ((text, result, _), (again, other, _)) in enumerate(zip(before, now, strict=False)):
        if text != again or (other and result != other):
            return number
    stopped = bool(now) and not now[-1][1]  # in the middle of an operation, when all was there
    return None if len(before) == len(now) or (stopped and len(now) < len(before)) else min(len(before), len(now))
