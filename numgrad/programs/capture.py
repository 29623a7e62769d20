"""A call of a function, recorded: its result, and all that has changed by it that a replay is to change, too."""

from __future__ import annotations

import gc
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import random
from ..autograd.grad_mode import ORDINARY, state
from ..autograd.locations import Location, calling_location
from ..autograd.node import next_sequence
from ..autograd.watching import unwatch, watch
from ..core.tensor import Tensor
from ..core.types import device, dtype
from ..devices import recording
from ..devices.generators import MersenneTwister
from ..nn.parameter import is_lazy
from .attached import check_graph, has_attributes, has_hooks
from .counters import Counter, is_counter
from .known import changes_unseen
from .linked import Arena
from .names import argument_names
from .node import saved_tensors
from .recorder import Recorder
from .steps import CONSTANT, OUTSIDE, Block, is_known, root_of
from .surroundings import Surroundings
from .trees import leaves, records_in, tensors_in
from .undoing import Undo

#: Attributes that what stands for an argument does not have as the argument itself has them.
_OF_GRAPHS = frozenset({"grad_fn", "output_nr", "retains_grad", "_base", "_is_view"})


@dataclass(frozen=True, slots=True)
class Before:
    """What a tensor was before the call."""

    tensor: Tensor
    grad: Tensor | None
    version: int
    storage: Any
    layout: Any
    offset: int
    edge: Any
    requires_grad: int


@dataclass
class Capture:
    """What was recorded of a call.

    Attributes:
        recorder: the steps and blocks.
        result: what the call returned.
        inputs: the tensors among its arguments.
        known: by identity, all tensors that were known before, as they were.
        outside: the memory known before, and from which byte on it is seen; blocks outside have its numbers.
        surroundings: what the function found around it.
        given: what the inputs are called.
        grads: the tensors whose ``grad`` is another now.
        required: the arguments that require gradients from the call on.
        versions: by how much the version counters of known tensors went up.
        postponed: whether the call has made tensors that the function finds from now on, such as an optimizer's state:
            the next call is to be recorded instead.
        changed: numbers that the function finds and that the call has changed, by name.
        begin: nodes with lower numbers were there before.
        arena: memory that the program may have in common with others.
        holders: tensors whose gradients are the last of the inputs.
        undo: takes back what the call has changed, of a trial.
    """

    recorder: Recorder
    result: Any
    inputs: list[Tensor]
    known: dict[int, Before]
    outside: list[tuple[Any, int]]
    surroundings: Surroundings
    given: list[str]
    grads: list[tuple[Tensor, Tensor | None]] = field(default_factory=list)
    required: list[Tensor] = field(default_factory=list)
    versions: list[tuple[list[int], int]] = field(default_factory=list)
    postponed: bool = False
    changed: list[str] = field(default_factory=list)
    begin: int = 0
    arena: Arena | None = None
    holders: list[Tensor] = field(default_factory=list)
    undo: Undo | None = None

    def results(self) -> list[Tensor]:
        """The tensors that the call returned."""
        return tensors_in(self.result)

    def live(self) -> list[Tensor]:
        """Those that have a graph, and that were not there before."""
        results = {id(one): one for one in self.results() if id(one) not in self.known}
        return [one for one in results.values() if one.requires_grad and not one.is_leaf]


def capture(
    function: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any], inputs: list[Tensor],
    full: bool, moving: bool = False, trial: bool = False, originals: Sequence[Tensor] = (),
    as_it_is: Callable[[], Any] | None = None,
) -> Capture:
    """Call the function and record it; ``inputs`` are the tensors among the arguments.

    With ``moving``, gradients may be other tensors in each call: they are inputs, too.  A ``trial`` can be undone, and
    is if it fails.  Where arguments stand for ``originals``, ``as_it_is`` calls the function with these: it is called
    where that could make a difference.

    Raises:
        CaptureError: with ``full``, where the program needs values.
    """
    given = tuple(args), keywords
    others = [value for value in leaves(given) if not isinstance(value, Tensor)]
    others += map(type, records_in(given))  # for their methods
    surroundings = Surroundings(function, others)
    if any(is_lazy(found.value) for found in surroundings.tensors.values()):
        made = Capture(Recorder([]), function(*args, **keywords), inputs, {}, [], surroundings, [])
        made.postponed, made.changed = True, ["parameters that get their shapes"]
        return made
    known: dict[int, Before] = {}
    for tensor in (*inputs, *[found.value for found in surroundings.tensors.values()]):
        known.setdefault(id(tensor), before_call(tensor))
    for before in [*known.values()]:
        if before.grad is not None:
            known.setdefault(id(before.grad), before_call(before.grad))
    names = argument_names(function, args, keywords, inputs)
    found = [(one.name(), one.value) for one in surroundings.tensors.values()]
    holders = _holders([*zip(names, inputs, strict=True), *found]) if moving else []
    inputs = [*inputs, *[tensor._grad for _, tensor in holders]]
    outside = outside_of([one.tensor for one in known.values()], inputs, [
        *states_of([random.default_generator, *[found.value for found in surroundings.generators.values()]])
    ])
    recorder = Recorder(outside, full)
    made = Capture(
        recorder, None, inputs, known, outside, surroundings, [*names, *[f"{name}.grad" for name, _ in holders]],
        holders=[tensor for _, tensor in holders],
    )
    for index in {one.layout.type.device.index for one in known.values()} - {None}:
        random.gpu_generator(index)  # is there before: making it is nothing to be repeated
    if _shared_elsewhere(known.values(), inputs):
        recorder.break_off("an argument lies in an array in which another tensor lies that is found elsewhere")
    if any(has_attributes(one) for one in (*inputs, *originals)):
        recorder.break_off("an argument is a tensor with attributes of its own, which may be others in each call")
    if has_hooks(surroundings, inputs):
        recorder.break_off("hooks are Python that is called in between")
    unseen = _unseen(surroundings) or _unlike(originals, surroundings)
    if unseen is not None:
        recorder.break_off(unseen)
    if recorder.broken is not None and as_it_is is not None:
        made.result = as_it_is()
        return made
    recorder.begin_of_graph = made.begin = next_sequence()
    mode = state.mode & ORDINARY
    made.undo = Undo(made, lambda: Surroundings(function, others)) if trial else None
    try:
        made.result = recorded(recorder, lambda: function(*args, **keywords))
    except Exception:
        if made.undo is not None:
            made.undo()
        raise
    if state.mode & ORDINARY != mode:
        recorder.break_off("whether gradients are recorded is another matter after the call")
    if recorder.broken is None:
        _compare(made, lambda: Surroundings(function, others))
    return made


def _unseen(surroundings: Surroundings) -> str | None:
    """What the function finds of which a guard could not tell whether it is what it was."""
    if not surroundings.complete:
        return "it reaches more objects than are looked at"
    if surroundings.mentioned.unseen:
        return f"it uses {min(surroundings.mentioned.unseen)}, by which it may find anything"
    return next(filter(None, map(changes_unseen, surroundings.reached.values())), None)


def _unlike(originals: Sequence[Tensor], surroundings: Surroundings) -> str | None:
    """What the function would find another of what stands for an argument that has a graph."""
    found = [surroundings.tensors[id(one)].name() for one in originals if id(one) in surroundings.tensors]
    if found:
        return f"an argument that has a graph is a tensor that it finds, too ({found[0]})"
    names = [name for name in _OF_GRAPHS if name in surroundings.mentioned]
    return f"it reads {min(names)} of a tensor, and an argument has a graph" if originals and names else None


def recorded(recorder: Recorder, function: Callable[[], Any]) -> Any:
    """What the function returns, while the recorder records."""

    def stop() -> None:
        unwatch(recorder)
        recording.record_with(None)

    try:
        watch(recorder)
        recording.record_with(recorder)
        result = function()
    finally:
        try:
            stop()
        except BaseException:  # see Note [Ctrl-C]
            stop()
            raise
    recorder.look_at_reports()
    return result


def outside_of(
    tensors: Iterable[Tensor], inputs: Iterable[Tensor], memories: Iterable[Any]
) -> list[tuple[Any, int]]:
    """The memory of tensors, and more; that of inputs is seen from their first elements on, if they have any."""
    found: dict[int, tuple[Any, int]] = {}
    for tensor in inputs:
        if is_known(tensor._storage):
            begin = tensor._offset * tensor._layout.type.dtype.itemsize if tensor._layout.size else 0
            found.setdefault(id(root_of(tensor._storage)), (tensor._storage, begin))
    for memory in (*[one._storage for one in tensors if is_known(one._storage)], *memories):
        found.setdefault(id(root_of(memory)), (root_of(memory), 0))
    return list(found.values())


def _shared_elsewhere(known: Iterable[Before], inputs: Sequence[Tensor]) -> bool:
    """Whether a tensor that is no argument lies in an array in which an argument lies, too, but elsewhere."""
    given = [one._storage for one in inputs if is_known(one._storage)]
    first = {id(root_of(storage)): storage for storage in reversed(given)}
    arguments = {id(one) for one in inputs}
    others = [one.storage for one in known if id(one.tensor) not in arguments and is_known(one.storage)]
    return any(first.get(id(root_of(storage)), storage) is not storage for storage in others)


def _holders(named: Sequence[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """The tensors that have a gradient in no graph, in memory in which no other tensor lies."""
    distinct = {id(tensor): (name, tensor) for name, tensor in reversed(named)}
    memory = [tensor._storage for _, tensor in distinct.values()]
    memory += [tensor._grad._storage for _, tensor in distinct.values() if tensor._grad is not None]
    roots = Counts([id(root_of(storage)) for storage in memory])
    return [
        (name, tensor) for name, tensor in distinct.values() if (grad := tensor._grad) is not None and is_plain(grad)
        and not has_attributes(grad) and is_known(grad._storage) and roots[id(root_of(grad._storage))] == 1
    ]


def is_plain(gradient: Tensor) -> bool:
    """Whether a gradient is in no graph, and no view."""
    return not gradient._requires_grad and gradient._view is None


def before_call(tensor: Tensor) -> Before:
    """What a tensor is now."""
    counter = tensor._counter
    version = counter[0] if counter.__class__ is list else 0
    return Before(
        tensor, tensor._grad, version, tensor._storage, tensor._layout, tensor._offset, tensor._edge,
        tensor._requires_grad,
    )


def states_of(generators: Iterable[Any]) -> list[np.ndarray]:
    """The memory of generators."""
    return [array for one in generators if isinstance(one, MersenneTwister) for array in one.memory()]


def _compare(made: Capture, again: Callable[[], Surroundings]) -> None:
    """Find what has changed, and break off where a replay could not change it."""
    recorder = made.recorder
    for value in leaves(made.result):
        if not isinstance(value, Tensor | int | float | complex | str | bytes | np.generic | dtype | device | None):
            recorder.break_off(f"it returns an object of the class {type(value).__name__}")
            return
    for one in made.known.values():
        tensor = one.tensor
        if (tensor._storage is not one.storage or tensor._layout is not one.layout or tensor._offset != one.offset):
            recorder.break_off(f"a tensor of shape {list(tensor.shape)} was given other memory")
        elif tensor._requires_grad and not one.requires_grad and tensor._view is tensor._edge is None and any(
            tensor is argument for argument in made.inputs
        ):
            made.required.append(tensor)
        elif tensor._edge is not one.edge or tensor._requires_grad != one.requires_grad:
            recorder.break_off(f"the graph of a tensor of shape {list(tensor.shape)} that was there before has changed")
        if recorder.broken is not None:
            return
        if tensor._grad is not one.grad:
            made.grads.append((tensor, tensor._grad))
    if not all(effect.stands() for effect in recorder.effects):
        recorder.break_off("options of an optimizer are others after the call than they were in its step")
    check_made(recorder, [*made.results(), *[grad for _, grad in made.grads if grad is not None]])
    counters = {id(one.tensor._counter): (one.tensor._counter, one.version) for one in made.known.values()}
    made.versions = [(now, now[0] - version) for now, version in counters.values() if now.__class__ is list]
    counted = {id(counter) for effect in recorder.effects for counter in effect.counters()}
    made.versions = [(counter, change) for counter, change in made.versions if change and id(counter) not in counted]
    read = {id(one._counter) for effect in recorder.effects for one in effect.reads()}
    if any(id(counter) in read for counter, _ in made.versions):
        recorder.break_off("it changes an option of an optimizer in place, and replays look at these before all else")
    check_graph(made)
    if recorder.broken is None:
        _check_kept(made, again)
    if recorder.broken is None:
        keep_constants(made)


def keep_constants(made: Capture) -> None:
    """Note what results held that no kernel has written: callers may change them."""
    recorder = made.recorder
    for tensor in (*made.results(), *[grad for _, grad in made.grads if grad is not None]):
        block = recorder.block_of(tensor._storage)
        if block is None and not is_known(tensor._storage):  # there is none
            continue
        if block is None:
            block = recorder.span(tensor._storage, False).block
        if block.origin == CONSTANT and block.held is not None and block.size:
            recorder.keep_initial(block, block.held)
            block.first = 0


def check_made(recorder: Recorder, tensors: Iterable[Any]) -> None:
    """Break off if a tensor that the program returns lies on another device, or in memory that is not known."""
    for one in tensors:
        block = recorder.block_of(one._storage)
        if one._layout.size and (block is None or block.origin != OUTSIDE):
            index = one._layout.type.device.index
            if (-1 if index is None else index) != recorder.device or not is_known(one._storage):
                recorder.break_off("a result that lies on another device, or in memory of another library")
                return


def _check_kept(made: Capture, again: Callable[[], Surroundings]) -> None:
    """Break off if a tensor that the program has made, or found in a place unknown, is kept by somebody."""
    found = again()
    changed = []
    for place, before in made.surroundings.changed(found):
        if is_counter(place, before) and found.mentioned.only_counts(place.key):
            made.recorder.effects.append(Counter(place.holder, place.key, place.value - before))
        else:
            changed.append(place.name())
    made.changed = [*dict.fromkeys(changed)]
    new = found.tensors.keys() - made.known.keys()
    if made.changed or new:
        made.changed = made.changed or [found.tensors[key].name() for key in new]
        made.postponed = True
        return
    kept = _kept(made)
    if kept is not None:
        gc.collect()  # it may be waiting for that
        kept = _kept(made)
    if kept is not None:
        what, location = kept
        made.recorder.broken = (
            f"{what} comes from a place that is not looked at, or is kept there after the call: give it as an "
            "argument, or return it", location
        )


def _kept(made: Capture) -> tuple[str, Location] | None:
    """A tensor on memory that is neither known, nor that of a result, nor what the graph of results keeps; or an array
    that was there before, and that is changed.
    """
    results = made.results()
    ours = [*results, *[grad for _, grad in made.grads if grad is not None], *saved_tensors(results)]
    arrays = [*[one for one, _ in made.outside], *[one._storage for one in ours if isinstance(one, Tensor)]]
    roots = {id(root_of(array)) for array in arrays}
    for reference, location in [*made.recorder.tensors.values()]:
        tensor = reference()
        root = None if tensor is None else root_of(tensor._storage)
        if tensor is not None and root is not None and id(root) not in roots:
            return f"a tensor of shape {list(tensor.shape)}", location
    for block in made.recorder.blocks:
        array = block.array() if block.origin == CONSTANT and block.written and block.size else None
        if array is not None and id(array) not in roots:
            return f"an array of {array.nbytes} bytes that is changed", calling_location(3)
    return None


def written_outside(recorder: Recorder) -> list[Block]:
    """The blocks outside that the program writes."""
    return [block for block in recorder.blocks if block.origin == OUTSIDE and block.written]
