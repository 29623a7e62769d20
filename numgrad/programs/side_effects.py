"""Side effects of a call and of its backward pass, and checks that a replay can repeat them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import random
from ..autograd.locations import Location, calling_location
from ..devices.generators import MersenneTwister
from ..devices.recording import Effect
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .captured import Capture, states_with_gradients
from .node import saved_tensors
from .object_kinds import attributes_of
from .recorded_steps import CONSTANT, OUTSIDE, Block, root_of
from .recorder import Recorder
from .sources import Source


def advance_all(effects: Sequence[Effect]) -> None:
    """Perform actions in order; if one raises an error, revert the earlier ones."""
    done = []
    try:
        for effect in effects:
            effect.advance()
            done.append(effect)
    except Exception:
        undo_all(done)
        raise


def undo_all(effects: Sequence[Effect]) -> None:
    """Revert actions, the last one first."""
    for effect in reversed(effects):
        effect.undo()


@dataclass(eq=False)
class Counter(Effect):
    """An integer attribute that a function increments in each call and does not read otherwise.

    Replays also increment it, and do not depend on its value.
    """

    holder: Any
    key: Any
    change: int

    def advance(self) -> None:
        self.holder[self.key] += self.change

    def undo(self) -> None:
        self.holder[self.key] -= self.change

    def repeats(self, other: Effect) -> bool:
        if not isinstance(other, Counter):
            return False
        return other.holder is self.holder and (other.key, other.change) == (self.key, self.change)


def is_counter(source: Source, before: Any) -> bool:
    """Return True if the call has changed an integer that is a plain attribute of an object."""
    is_integer = source.value.__class__ is before.__class__ is int
    if not (is_integer and source.holder.__class__ is dict and source.parent):
        return False
    cls: Any = type(source.parent.value)
    if cls.__setattr__ not in (object.__setattr__, Module.__setattr__):
        return False
    return source.holder is attributes_of(source.parent.value) and not hasattr(getattr(cls, source.key, 0), "__set__")


def written_outside(recorder: Recorder) -> list[Block]:
    """Return the blocks outside that the program writes."""
    return [block for block in recorder.blocks if block.origin == OUTSIDE and block.written]


def states_of(generators: Iterable[Any]) -> list[Any]:
    """Return the memory of the states of the default generator and of these generators."""
    all_generators = random.default_generator, *generators
    return [array for each in all_generators if isinstance(each, MersenneTwister) for array in each.memory()]


def kept_memory(recorder: Recorder, arrays: Iterable[Any]) -> tuple[str, Location] | None:
    """Return the reason if the program cannot be replayed because an object keeps memory other than these arrays.

    Such an object is a tensor, or an array that existed before and has changed. Return None if there is none.
    """
    roots = {id(root_of(array)) for array in arrays if array is not None}
    kept = _kept_memory(recorder, roots)
    if kept is not None:
        gc.collect()  # perhaps only a reference cycle keeps it
        kept = _kept_memory(recorder, roots)
    return kept


def _kept_memory(recorder: Recorder, roots: set[int]) -> tuple[str, Location] | None:
    where = "comes from, or is kept in, a place that guards do not cover"
    for reference, location in [*recorder.tensors.values()]:
        tensor = reference()
        if tensor is not None and id(root_of(tensor._storage)) not in roots:
            return f"a tensor of shape {list(tensor.shape)} {where}", location
    for block in recorder.blocks:
        array = block.array() if block.origin == CONSTANT and block.written and block.size else None
        if array is not None and id(root_of(array)) not in roots:
            return f"an array of {array.nbytes} bytes that is changed {where}", calling_location(4)
    return None


class BackwardEffects:
    """The side effects of a backward pass. They are found by comparing the states before and after it.

    Args:
        captured: the record of the call whose results backward starts from.

    Attributes:
        states: the states of the tensors that existed before, and of their gradients.
        memories: the arrays that hold the states of generators.
    """

    def __init__(self, captured: Capture):
        self._captured, self._environment = captured, captured.look()
        tensors = [*captured.inputs, *[source.value for source in self._environment.tensors.values()]]
        tensors += [before.tensor for before in captured.states.values()]
        self.states = [*states_with_gradients(tensors).values()]
        self.memories = states_of([source.value for source in self._environment.generators.values()])

    def reason(
        self, recorder: Recorder, outside: Sequence[tuple[Any, int]], live: Sequence[Tensor], grads: Sequence[Any]
    ) -> tuple[str, Location | None] | None:
        """Return the reason why the recorded backward cannot be replayed, with its location; None if it can."""
        if recorder.broken is not None:
            return recorder.broken
        if recorder.effects or written_outside(recorder):
            return "backward draws random numbers, or changes a tensor that existed before", None
        if any(state.has_changed() for state in self.states):
            return "backward changes the gradient, the memory or the graph of a tensor that existed before", None
        now = self._captured.look()
        changed = [source.name() for source, _ in self._environment.changed(now)]
        changed += [source.name() for key, source in now.tensors.items() if key not in self._environment.tensors]
        if changed:
            return f"backward changes state that the function reads ({', '.join(changed[:3])})", None
        tensors = [tensor for tensor in (*saved_tensors(live), *grads) if isinstance(tensor, Tensor)]
        arrays = [*[array for array, _ in outside], *[tensor._storage for tensor in tensors]]
        kept = kept_memory(recorder, [*arrays, *[block.array() for block in self._captured.recorder.blocks]])
        return None if kept is None else (f"{kept[0]} after backward", kept[1])
