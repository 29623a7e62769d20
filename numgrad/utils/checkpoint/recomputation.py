"""Non-reentrant checkpoints: the function is recorded in the ordinary way, but its saved tensors are not kept.

Note [Recomputation]
While the function runs in forward, hooks save a handle instead of every tensor saved for backward, and count the
tensors.  The first handle that backward unpacks runs the function again, with hooks that keep the saved tensors: the
tensor with the same count corresponds to the handle.  The graph recorded during this run is dropped.

The recomputed tensors belong to the backward pass that needed them.  They are kept as long as the pass runs and the
handle exists, and each is handed out once.  A later pass through the same nodes computes them again, and so does
reading a saved tensor outside backward.

Nested checkpoints need no further code.  Running the outer function again makes new inner checkpoints, which are
dropped when it ends.  The arguments of the old inner checkpoints were saved for backward under the outer hooks, so the
outer checkpoint recomputes them too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

from ...amp.autocast_mode import autocast_again
from ...autograd.checks import is_tensor
from ...autograd.grad_mode import enable_grad, state
from ...autograd.graph import saved_tensors_hooks
from ...autograd.levels import Level, Tangents, outside, outwards, set_tangent, tangent_of, tangents_of
from ...autograd.nesting import NESTING, in_thread
from ...autograd.node import NO_LAYOUT
from ...autograd.saved import SavingNode, keep
from ...autograd.watching import Stop
from ...core.layout import Layout
from ...core.types import size_of
from ...devices import recording
from ...ops.batching.batches import requires_below
from ...random import States, fork_rng
from .operation_log import OperationLog, text_with_logs

_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint-debug mode globally."
)


class CheckpointError(RuntimeError):
    """Raised if the tensors that a checkpoint recomputed in backward do not match those of forward."""


class _CheckpointState(threading.local):
    group: GraphExecGroup | None = None
    depth = 0  # of checkpoints waiting for the arguments of one nested in them


_thread = _CheckpointState()


class GraphExecGroup:
    """Context manager in which all backward passes share the recomputed tensors of checkpoints.

    Several passes through parts of one checkpoint then compute it once.  No two of them may need the same saved tensor,
    even with ``retain_graph=True``.  The group applies to non-reentrant checkpoints, in this thread.

    Raises:
        RuntimeError: such a block is already active.
    """

    def __enter__(self) -> GraphExecGroup:
        if _thread.group is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_thread.group}")
        _thread.group = self
        return self

    def __exit__(self, *exception: Any) -> None:
        _thread.group = None


@contextmanager
def random_numbers_again(states: States | None) -> Iterator[None]:
    """Draw the random numbers that followed these states in the block; afterwards, continue as before it."""
    with fork_rng(enabled=states is not None):
        if states is not None:
            states.restore()
        yield


def states_of_draws(before: States | None) -> States | None:
    """Return the states before forward, to draw from again; None for a recorded program that draws nothing."""
    if before is None or recording.recorder is None:
        return before
    if before.stand():
        return None
    recording.values_read("a checkpoint of what draws random numbers")
    return before


class _Stop(Stop):
    """Ends a recomputation once everything needed has been computed."""


class _RecomputedHandle:
    """Placeholder in a node for a tensor to be recomputed, with its shape and TensorType."""

    __slots__ = ("__weakref__", "shape", "type")

    def __init__(self, tensor: Any):
        self.shape, self.type = tensor._layout.shape, tensor._layout.type


#: Recomputed tensors of handles, each with its version at saving.
_Tensors = WeakKeyDictionary[_RecomputedHandle, tuple[Any, int]]


class SavedArguments(SavingNode):
    """Arguments of a checkpoint, whose tensors are saved for backward like those of any operation.

    The node is in no graph, because no gradient passes through it.  It keeps the tangents of the arguments directly,
    because tensors lose them when their level of forward mode ends.
    """

    __slots__ = ("tangents",)

    def __init__(self, arguments: tuple[Any, ...]):
        super().__init__((), NO_LAYOUT)
        self.tangents = [list(tangents_of(value)) if is_tensor(value) else [] for value in arguments]
        pairs = [keep(value) if is_tensor(value) else (value, None) for value in arguments]
        self.saved = tuple([value for value, _ in pairs])
        self.versions = [version for _, version in pairs]

    def saved_output(self, index: int) -> int | None:
        return None

    def restored(self) -> list[Any]:
        """Return the arguments, restored.

        Raises:
            RuntimeError: a tensor has since been modified in place.
        """
        values = [self.unpack_one(index) for index in range(len(self.versions))]
        for value, tangents in zip(values, self.tangents, strict=True):
            for level, tangent in tangents:
                if tangent_of(value, level) is None:
                    set_tangent(value, level, tangent)
        return values


@dataclass(eq=False)
class Frame:
    """One call of a checkpoint: the data to run its function again, and the recomputed tensors of running passes."""

    function: Callable[..., Any]
    args: InitVar[tuple[Any, ...]]
    kwargs: dict[str, Any]
    again: AbstractContextManager[Any]
    _: KW_ONLY
    preserve_rng_state: InitVar[bool]
    checks_metadata: bool
    stops_early: bool
    debug: InitVar[bool]

    def __post_init__(self, args: tuple[Any, ...], preserve_rng_state: bool, debug: bool) -> None:
        #: True once forward has ended: a backward inside the function itself sees only a part of it.
        self.complete = False
        self.handles: list[ref[_RecomputedHandle]] = []
        self._arguments = SavedArguments(args)
        self._level = state.level  # the function runs at this level again, even if it has ended
        self._autocast = state.autocast
        self._random_states = recording.unrecorded(States) if preserve_rng_state else None
        #: The operations of forward and those of the latest recomputation.
        self._logs = (OperationLog(), OperationLog()) if debug else None
        #: Recomputed tensors, keyed by the backward pass or group of passes that they belong to.
        self._recomputed: WeakKeyDictionary[Any, _Tensors] = WeakKeyDictionary()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within the block, which is forward, save handles instead of tensors."""
        with saved_tensors_hooks(self._pack, self._unpack), self._logs[0].watching() if self._logs else nullcontext():
            yield
        self.complete = True
        self._random_states = states_of_draws(self._random_states)

    @property
    def kept_tensors(self) -> list[Any]:
        """The tensors among the arguments."""
        return [value for value in (*self._arguments.kept(), *self.kwargs.values()) if is_tensor(value)]

    def _pack(self, tensor: Any) -> _RecomputedHandle:
        if self._level is not None and requires_below(tensor):
            raise RuntimeError(
                "checkpoint cannot be used under vmap here: derivatives inside of vmap need a tensor that it saves (of "
                f"shape {list(tensor.shape)}), and derivatives outside of vmap need the graph of that tensor, which a "
                "checkpoint does not keep. Put the checkpoint around vmap."
            )
        handle = _RecomputedHandle(tensor)
        self.handles.append(ref(handle))
        return handle

    def _unpack(self, handle: _RecomputedHandle) -> Any:
        """Return the tensor that a handle represents."""
        try:
            return self._tensor(handle)
        except CheckpointError as error:
            if self._logs is None:
                raise
            raise CheckpointError(text_with_logs(error, *self._logs)) from error

    def _tensor(self, handle: _RecomputedHandle) -> Any:
        """Return the tensor that a handle represents, which is then no longer kept.

        Raises:
            CheckpointError: it was taken before, or the function modified it in place after saving it.
        """
        owner = _thread.group or state.current_pass
        tensors = None if owner is None else self._recomputed.get(owner)
        if tensors is None:
            tensors = self._recompute()
            if owner is not None:
                self._recomputed[owner] = tensors
        entry = tensors.pop(handle, None)
        if entry is None:
            text = "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
            if _thread.group is not None:
                text += (
                    "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                    "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                )
            raise CheckpointError(
                f"{text}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise "
                "please open an issue with details on your use case."
            )
        tensor, version = entry
        if tensor._counter[0] != version:
            raise CheckpointError(
                "torch.utils.checkpoint: one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: the checkpointed function saves a tensor of shape {list(tensor.shape)} and dtype "
                f"{tensor.dtype} for backward, and changes it in place after that. (It is at version "
                f"{tensor._counter[0]}; expected version {version} instead.)"
            )
        if tensor._layout.type is not handle.type:  # possible if the metadata are not checked
            tensor = tensor.to(handle.type.dtype)
        return tensor if tensor._layout.shape == handle.shape else tensor.expand(handle.shape)

    def _recompute(self) -> _Tensors:
        """Run the function again, for the tensors that it saves."""
        args = self._restored_arguments()
        recomputation = _Recomputation(self)
        try:
            with (
                saved_tensors_hooks(recomputation.pack, lambda tensor: tensor),
                _within(self._level),
                enable_grad(),
                autocast_again(self._autocast),
                random_numbers_again(self._random_states),
                self._logs[1].watching() if self._logs else nullcontext(),
                self.again,
            ):
                self.function(*args, **self.kwargs)
        except _Stop:
            pass
        recomputation.check()
        return recomputation.tensors

    def _restored_arguments(self) -> list[Any]:
        """Return the restored arguments; enclosing checkpoints may have to run first."""
        if _thread.depth >= NESTING:
            return in_thread(self._arguments.restored)  # with its own stack
        _thread.depth += 1
        try:
            return self._arguments.restored()
        finally:
            _thread.depth -= 1


class _within(outside):  # noqa: N801 - a context manager
    """Context manager in which this level and the enclosing ones process operations, as in forward.

    On exit, tensors lose the tangents that they were given in the block at levels that have ended.
    """

    def __init__(self, level: Level | None):
        self.level = level

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        for level in outwards(self.level):
            if isinstance(level, Tangents) and not level.active:
                level.forget()


class _Recomputation:
    """One run of a checkpoint's function in backward."""

    def __init__(self, frame: Frame):
        self.tensors: _Tensors = WeakKeyDictionary()
        self._frame = frame
        self._count = 0

    def pack(self, tensor: Any) -> Any:
        """Keep a saved tensor; raise _Stop at the last one needed."""
        frame = self._frame
        handles, position = frame.handles, self._count
        self._count += 1
        if position < len(handles):
            handle = handles[position]()
            if handle is not None:
                detached = tensor.detach() if tensor.requires_grad else tensor
                self.tensors[handle] = detached, detached._counter[0]
            if frame.stops_early and self._count == len(handles):
                raise _Stop
        elif frame.complete:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass.{_TIP}"
            )
        return tensor.detach()  # for the graph recorded now, if the function runs backward through it

    def check(self) -> None:
        """Raise unless the tensors match those of forward.

        Raises:
            CheckpointError: their number, a shape, a dtype or a device differs.
        """
        frame = self._frame
        count = len(frame.handles)
        if self._count < count:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {count}\n"
                f"Number of tensors saved during recomputation: {self._count}.{_TIP}"
            )
        if not frame.checks_metadata:
            return
        differences = ""
        for position, reference in enumerate(frame.handles):
            handle = reference()
            if handle is not None:
                layout = self.tensors[handle][0]._layout
                if (layout.shape, layout.type) != (handle.shape, handle.type):
                    differences += (
                        f"tensor at position {position}:\nsaved metadata: {_metadata(handle)}\n"
                        f"recomputed metadata: {_metadata(layout)}\n"
                    )
        if differences:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{differences}{_TIP}"
            )


def _metadata(of: _RecomputedHandle | Layout) -> dict[str, Any]:
    """Return the metadata of a tensor to compare, by name."""
    return {"shape": size_of(of.shape), "dtype": of.type.dtype, "device": of.type.device}
