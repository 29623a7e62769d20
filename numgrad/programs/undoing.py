"""Calls that are undone: a function has been given watched numbers, and has not done what it does with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .places import ABSENT
from .steps import root_of

if TYPE_CHECKING:
    from .capture import Capture
    from .surroundings import Surroundings


class Undo:
    """Puts back what a call may change: the memory and the tensors that were there before, and values around it.

    Args:
        made: the call, before the function is called.
        again: finds what the function finds around it by now.
    """

    def __init__(self, made: Capture, again: Callable[[], Surroundings]):
        self._around, self._again = made.surroundings, again
        self._known = [*made.known.values()]
        roots = [root_of(memory) for memory, _ in made.outside]
        self._memory = [(root, root.copy()) for root in roots if isinstance(root, np.ndarray)]

    def __call__(self) -> None:
        for array, content in self._memory:
            if array.flags.writeable:
                array[...] = content
        for one in self._known:
            tensor = one.tensor
            tensor._grad, tensor._edge, tensor._requires_grad = one.grad, one.edge, one.requires_grad
            tensor._storage, tensor._layout, tensor._offset = one.storage, one.layout, one.offset
            if tensor._counter.__class__ is list:
                tensor._counter[0] = one.version
        for place, before in self._around.changed(self._again()):
            if place.holder.__class__ is dict and place.key in place.holder and before is not ABSENT:
                place.holder[place.key] = before
