"""Recording of a call: the function is called, and its result and all of its changes are recorded for replays."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from .. import random
from ..autograd.grad_mode import ORDINARY, state
from ..autograd.hooks import note_module_change
from ..autograd.node import next_sequence
from ..autograd.watching import unwatch, watch
from ..core.types import device, dtype
from ..devices import recording
from ..nn.parameter import is_lazy
from ..optim.fused import makes_state
from ..tensors.tensor import Tensor
from .attached import check_graph, has_attributes, has_hooks
from .block_names import argument_names
from .captured import Capture, Snapshot, TensorState, states_with_gradients
from .environment import Environment
from .node import graph_inputs, saved_tensors, with_graphs
from .numbers import is_number, watched
from .object_kinds import change_unseen, drawn_anew
from .recorded_steps import CONSTANT, OUTSIDE, has_known_owner, root_of
from .recorder import CaptureError, Recorder
from .side_effects import Counter, is_counter, kept_memory, states_of
from .trees import DEEPEST, classes_in, contents, have_changed, is_deeper, leaves, mapped

#: Attributes of an argument with a graph that differ while a call is recorded.
_OF_GRAPHS = frozenset({"grad_fn", "output_nr", "retains_grad", "_base", "_is_view"})

#: Classes of results besides tensors.
_RESULTS = (int, float, complex, str, bytes, np.generic, dtype, device, type(None))


def capture(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor],
    full: bool, moving: bool = False, trial: bool = False, first: bool = False, listed: Sequence[Any] | None = None,
) -> Capture:
    """Call the function and record the call.

    Args:
        inputs: the tensors among the arguments.
        full: True if a program that cannot be recorded is an error.
        moving: True if gradients may be other tensors in each call; they are then inputs, too.
        trial: True for a call that watches numbers, and is undone if it fails.
        first: True for the first call of a signature; it is not recorded if it creates the state of an optimizer.
        listed: the state that the user has listed; everything else that the function reaches must stay unchanged.

    Raises:
        CaptureError: with ``full``, the program cannot be recorded; with ``trial``, this is known before the call.
    """
    others = [leaf for leaf in leaves((tuple(args), keywords)) if not isinstance(leaf, Tensor)]
    others += classes_in((tuple(args), keywords))

    def look() -> Environment:
        return Environment(function, others) if listed is None else Environment(None, listed, reached.referenced)

    reached = Environment(function, others)
    environment = reached if listed is None else look()
    change = _foreseen_change(environment, first and not full)
    if change is not None and not trial:
        result = function(*args, **keywords)
        captured = Capture(Recorder([]), (args, keywords), result, inputs, {}, [], environment, look, [])
        captured.postponed, captured.changed = True, [change]
        return captured
    states = states_with_gradients([*inputs, *[source.value for source in environment.tensors.values()]])
    names = argument_names(function, args, keywords, inputs)
    owners: list[tuple[str, Tensor]] = []
    if moving:
        outside_tensors = [(source.name(), source.value) for source in environment.tensors.values()]
        owners = _gradient_owners([*zip(names, inputs, strict=True), *outside_tensors])
    inputs = [*inputs, *[tensor._grad for _, tensor in owners]]
    memories = states_of([source.value for source in environment.generators.values()])
    outside = outside_of(states.values(), inputs, memories)
    recorder = Recorder(outside, full)
    names += [f"{name}.grad" for name, _ in owners]
    captured = Capture(
        recorder, (args, keywords), None, inputs, states, outside, environment, look, names,
        gradient_owners=[tensor for _, tensor in owners],
    )
    if listed is not None:
        others_reached = [source for key, source in reached.tensors.items() if key not in states]
        captured.unlisted = {id(root_of(source.value._storage)): source.name() for source in others_reached}
    for index in {before.layout.type.device.index for before in states.values()} - {None}:
        random.gpu_generator(index)  # created before recording, so that replays do not create it
    reason = _obstacle(captured, reached)
    if trial and (change or reason) is not None:
        raise CaptureError(change or reason)
    if reason is not None:
        recorder.break_off(reason)
        captured.result = function(*args, **keywords)
        return captured
    recorder.begin_of_graph = captured.begin = next_sequence()
    if trial:
        captured.before = Snapshot(map(copy, states.values()), [memory for memory, _ in outside])
        captured.arguments = mapped(captured.arguments, lambda leaf: watched(leaf) if is_number(leaf) else leaf)
    try:
        with graph_inputs(inputs):
            for tensor in inputs:
                states[id(tensor)] = TensorState.of(tensor)
            _call(function, captured)
    except Exception:
        if trial:
            captured.undo()
        raise
    is_returned = recorder.broken is not None and not is_deeper(captured.result)
    for tensor in captured.results() if is_returned else ():
        if tensor._view is not None and tensor._root._view is not None:  # a view of an argument that is a view
            tensor._view.connect_like(tensor, tensor._root)
    return captured


def _call(function: Callable[..., Any], captured: Capture) -> None:
    """Call the function, and record what it does."""
    recorder, (args, keywords), mode = captured.recorder, captured.arguments, state.mode & ORDINARY
    before = contents(captured.arguments)
    captured.result = recorded(recorder, lambda: function(*args, **keywords))
    if captured.environment.is_listed:
        note_module_change()  # the function may have changed what guards compare only after counted changes
    if state.mode & ORDINARY != mode:
        recorder.break_off("the grad mode differs after the call")
    if recorder.broken is None:
        _compare(captured)
    if have_changed(before):
        captured.postponed = True
        captured.changed.append("a list or dictionary among the arguments")


def _foreseen_change(environment: Environment, first: bool) -> str | None:
    """Return a change of the environment that the call will make, so that recording it is useless; None if unknown."""
    if any(is_lazy(source.value) for source in environment.tensors.values()):
        return "parameters whose shapes are not known yet"
    if first and "step" in environment.referenced and any(
        makes_state(source.value) for source in environment.optimizers.values()
    ):
        return "optimizers that create their state"
    return None


def _obstacle(captured: Capture, reached: Environment) -> str | None:
    """Return the reason why the call cannot be recorded, if one is known before the call; None otherwise.

    Args:
        reached: all that the function reaches, which for listed state is more than the environment.
    """
    environment, inputs = captured.environment, captured.inputs
    if _shares_array(captured.states.values(), inputs):
        return "an argument shares its array with a tensor that is not an argument"
    if any(map(has_attributes, inputs)):
        return "an argument is a tensor with additional attributes, which may differ in each call"
    if has_hooks(environment, inputs, walks=False):
        return "hooks call Python during the program"
    if environment.is_listed:
        roots = {id(root_of(tensor._storage)) for tensor in inputs}
        shared = [name for root, name in captured.unlisted.items() if root in roots]
        if shared:
            return f"{shared[0]} lies in the memory of an argument, and is not in state"
    elif not environment.complete:
        return "it reaches more objects than guards can cover"
    elif environment.referenced.unseen:
        return f"it uses {min(environment.referenced.unseen)}, which can reach any object"
    for source in reached.reached.values():
        reason = (drawn_anew if environment.is_listed else change_unseen)(source.value)
        if reason is not None:
            return f"{source.name()}{reason}"
    names = [name for name in _OF_GRAPHS if name in environment.referenced] if with_graphs(inputs) else []
    return f"it reads {min(names)} of a tensor, and an argument has a graph" if names else None


def recorded(recorder: Recorder, function: Callable[[], Any]) -> Any:
    """Call the function while the recorder records, and return its result."""

    def stop() -> None:
        unwatch(recorder)
        recording.record_with(None)

    try:
        watch(recorder)
        recording.record_with(recorder)
        return function()
    finally:
        try:
            stop()
        except BaseException:  # see Note [Ctrl-C]
            stop()
            raise


def outside_of(
    states: Iterable[TensorState], inputs: Iterable[Tensor], memories: Iterable[Any]
) -> list[tuple[Any, int]]:
    """Return the memory of tensors and other memory, each with the offset of the first byte that the program uses.

    The first byte of inputs that have elements is that of the first element.
    """
    blocks: dict[int, tuple[Any, int]] = {}
    for tensor in inputs:
        if has_known_owner(tensor._storage):
            begin = tensor._offset * tensor._layout.type.dtype.itemsize if tensor._layout.size else 0
            blocks.setdefault(id(root_of(tensor._storage)), (tensor._storage, begin))
    storages = [state.storage for state in states if has_known_owner(state.storage)]
    for memory in (*storages, *memories):
        blocks.setdefault(id(root_of(memory)), (root_of(memory), 0))
    return list(blocks.values())


def _shares_array(states: Iterable[TensorState], inputs: Sequence[Tensor]) -> bool:
    """Return True if another tensor uses the array of an argument, but through a different storage."""
    storages = [tensor._storage for tensor in inputs if has_known_owner(tensor._storage)]
    first = {id(root_of(storage)): storage for storage in reversed(storages)}
    arguments = {id(tensor) for tensor in inputs}
    others = [each.storage for each in states if id(each.tensor) not in arguments and has_known_owner(each.storage)]
    return any(first.get(id(root_of(storage)), storage) is not storage for storage in others)


def _gradient_owners(named: Sequence[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """Return the tensors whose gradient is in no graph and shares its memory with no other tensor."""
    distinct = {id(tensor): (name, tensor) for name, tensor in reversed(named)}
    memory = [tensor._storage for _, tensor in distinct.values()]
    memory += [tensor._grad._storage for _, tensor in distinct.values() if tensor._grad is not None]
    roots = Counts([id(root_of(storage)) for storage in memory])
    return [
        (name, tensor) for name, tensor in distinct.values() if (grad := tensor._grad) is not None and is_plain(grad)
        and not has_attributes(grad) and has_known_owner(grad._storage) and roots[id(root_of(grad._storage))] == 1
    ]


def is_plain(gradient: Tensor) -> bool:
    """Return True if a gradient is in no graph, and not a view."""
    return not gradient._requires_grad and gradient._view is None


def _compare(captured: Capture) -> None:
    """Find the changes that the call has made, and abandon the recording if a replay cannot make them."""
    recorder = captured.recorder
    if is_deeper(captured.result):
        recorder.break_off(f"its result is nested more than {DEEPEST} deep")
        return
    for leaf in leaves(captured.result):
        if not isinstance(leaf, (Tensor, *_RESULTS)):
            recorder.break_off(f"it returns an object of the class {type(leaf).__name__}")
            return
    for before in captured.states.values():
        tensor = before.tensor
        if before.has_moved():
            recorder.break_off(f"a tensor of shape {list(tensor.shape)} was moved to other memory")
        elif tensor._requires_grad and not before.requires_grad and tensor._view is tensor._edge is None:
            if any(tensor is argument for argument in captured.inputs):
                captured.required.append(tensor)
            else:  # the next call begins in this state
                captured.changed.append(f"requires_grad of a tensor of shape {list(tensor.shape)}")
        elif tensor._edge is not before.edge or tensor._requires_grad != before.requires_grad:
            recorder.break_off(f"the graph of a tensor of shape {list(tensor.shape)} that existed before has changed")
        if recorder.broken is not None:
            return
        if tensor._grad is not before.grad:
            captured.grads.append((tensor, tensor._grad))
    if not all(effect.stands() for effect in recorder.effects):
        recorder.break_off("options of an optimizer differ after the call from those in its step")
    check_memory(recorder, captured.returned())
    counters = {id(each.tensor._counter): (each.tensor._counter, each.version) for each in captured.states.values()}
    increments = [(now, now[0] - version) for now, version in counters.values() if now.__class__ is list]
    counted = {id(counter) for effect in recorder.effects for counter in effect.counters()}
    captured.versions = [(counter, by) for counter, by in increments if by and id(counter) not in counted]
    read = {id(tensor._counter) for effect in recorder.effects for tensor in effect.reads()}
    if any(id(counter) in read for counter, _ in captured.versions):
        recorder.break_off("it changes an option of an optimizer in place, and replays read the options first")
    check_graph(captured)
    if recorder.broken is None:
        _check_environment(captured, captured.look())
    if recorder.broken is None:
        keep_constants(captured)


def keep_constants(captured: Capture) -> None:
    """Copy the contents of results that no kernel has written, since callers may change them."""
    recorder = captured.recorder
    for tensor in captured.returned():
        block = recorder.block_of(tensor._storage)
        if block is None and not has_known_owner(tensor._storage):  # it has no memory
            continue
        if block is None:
            block = recorder.span(tensor._storage, False).block
        if block.origin == CONSTANT and block.held is not None and block.size:
            recorder.keep_initial(block, block.held)
            block.first = 0


def check_memory(recorder: Recorder, tensors: Iterable[Any]) -> None:
    """Abandon the recording if a returned tensor is on another device, or in memory of another library."""
    for tensor in tensors:
        block = recorder.block_of(tensor._storage)
        if tensor._layout.size and (block is None or block.origin != OUTSIDE):
            index = tensor._layout.type.device.index
            if (-1 if index is None else index) != recorder.device or not has_known_owner(tensor._storage):
                recorder.break_off("a result that lies on another device, or in memory of another library")
                return


def _check_environment(captured: Capture, now: Environment) -> None:
    """Postpone recording if the environment has changed, and abandon it if another object keeps a tensor."""
    changed, effects = [], captured.recorder.effects
    held = {id(holder) for effect in effects for holder in effect.holders() if "param_groups" not in now.referenced}
    read = {(id(source.holder), source.key) for each in (captured.environment, now) for source in each.read}
    for effect in effects:
        for function in effect.functions():
            if Environment(function).finds_tensors:
                name = getattr(function, "__name__", type(function).__name__)
                captured.recorder.break_off(f"a schedule calls {name}, which finds tensors or modules")
                return
    for source, before in captured.environment.changed(now):
        if any(id(each.holder) in held and (id(each.holder), each.key) not in read for each in source.outwards()):
            continue
        if is_counter(source, before) and now.referenced.only_counts(source.key):
            captured.recorder.effects.append(Counter(source.holder, source.key, source.value - before))
        else:
            changed.append(source.name())
    new = [source.name() for key, source in now.tensors.items() if key not in captured.states]
    captured.changed = [*dict.fromkeys([*captured.changed, *changed])] or new
    if captured.changed:
        captured.postponed = True
        return
    saved = [tensor for tensor in saved_tensors(captured.results()) if isinstance(tensor, Tensor)]
    arrays = [memory for memory, _ in captured.outside]
    arrays += [each._storage for each in (*captured.returned(), *saved)]
    if captured.environment.is_listed:  # others may be read, as constants
        blocks = captured.recorder.blocks
        written = [id(root_of(block.array())) for block in blocks if block.origin == CONSTANT and block.written]
        names = [captured.unlisted[root] for root in written if root in captured.unlisted]
        if names:
            captured.recorder.break_off(f"it changes {names[0]}: put it into state")
            return
        arrays += [block.array() for block in blocks if block.origin == CONSTANT and not block.written]
    kept = kept_memory(captured.recorder, arrays)
    if kept is not None:
        reason, location = kept
        remedy = "put it into state" if captured.environment.is_listed else "pass it as an argument"
        captured.recorder.broken = f"{reason} after the call: {remedy}, or return it", location
