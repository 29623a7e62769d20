"""What a backward has done besides computing gradients: a replay of it would not do that, so that there is none."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from .. import random
from ..autograd.locations import Location
from ..core.tensor import Tensor
from .capture import Before, Capture, before_call, states_of, written_outside
from .node import saved_tensors
from .recorder import Recorder
from .steps import CONSTANT, root_of
from .surroundings import Surroundings


class Aftermath:
    """Tells after a backward what it has changed.  It is made before.

    Args:
        made: what was recorded of the call whose results backward comes to.
        look: finds what the function finds around it.

    Attributes:
        known: the tensors that are there, and their gradients.
        memories: the arrays that the states of generators are kept in.
    """

    def __init__(self, made: Capture, look: Callable[[], Surroundings]):
        self._made, self._look, self._around = made, look, look()
        found = [*made.inputs, *[one.value for one in self._around.tensors.values()]]
        found += [one.tensor for one in made.known.values()]
        found += [one._grad for one in found if one._grad is not None]
        self._before = [before_call(one) for one in {id(one): one for one in found}.values()]
        self.known = [one.tensor for one in self._before]
        generators = [random.default_generator, *[one.value for one in self._around.generators.values()]]
        self.memories = states_of(generators)

    def reason(
        self, recorder: Recorder, outside: Sequence[tuple[Any, int]], live: Sequence[Tensor], grads: Sequence[Any]
    ) -> tuple[str, Location | None] | None:
        """Why what was recorded cannot be replayed, and where that shows; None if it can."""
        if recorder.broken is not None:
            return recorder.broken
        if recorder.effects or written_outside(recorder):
            return "backward draws random numbers, or changes a tensor that was there before", None
        if any(map(_has_changed, self._before)):
            return "backward changes the gradient, the memory or the graph of a tensor that was there before", None
        now = self._look()
        changed = [one.name() for one, _ in self._around.changed(now)]
        changed += [one.name() for key, one in now.tensors.items() if key not in self._around.tensors]
        if changed:
            return f"backward changes what the function finds ({', '.join(changed[:3])})", None
        roots = self._roots(outside, live, grads)
        if _kept(recorder, roots) is not None:
            gc.collect()  # it may be waiting for that
        return _kept(recorder, roots)

    def _roots(self, outside: Sequence[tuple[Any, int]], live: Sequence[Tensor], grads: Sequence[Any]) -> set[int]:
        """The memory that was there before, or that gradients lie in."""
        tensors = [*saved_tensors(live), *grads]
        arrays = [array for array, _ in outside]
        arrays += [one._storage for one in tensors if isinstance(one, Tensor)]
        arrays += [block.array() for block in self._made.recorder.blocks]
        return {id(root_of(array)) for array in arrays if array is not None}


def _has_changed(one: Before) -> bool:
    now = before_call(one.tensor)
    return now.version != one.version or any(
        getattr(now, name) is not getattr(one, name)
        for name in ("grad", "storage", "layout", "edge")
    ) or (now.offset, now.requires_grad) != (one.offset, one.requires_grad)


def _kept(recorder: Recorder, roots: set[int]) -> tuple[str, Location | None] | None:
    """What is there still of what backward has made besides gradients, or found in a place unknown, in words."""
    for reference, location in [*recorder.tensors.values()]:
        tensor = reference()
        if tensor is not None and id(root_of(tensor._storage)) not in roots:
            what = f"a tensor of shape {list(tensor.shape)}"
            return f"{what} comes from a place that is not looked at, or is kept there after backward", location
    for block in recorder.blocks:
        array = block.array() if block.origin == CONSTANT and block.written and block.size else None
        if array is not None and id(root_of(array)) not in roots:
            return "backward changes an array", None
    return None
