"""Levels: what is done with every operation beside computing it, one inside the other.

Forward mode computes tangents, ``vmap`` stands one tensor for a batch of them.  Each such block of the program is a
level; ``state.level`` is the innermost one that operations have to do with, and leads to those around it.  An
operation is handed to the innermost level that one of its operands concerns.  That level does its part by calling
operations, which have to do with the levels around it only: so levels compose, and tangents of one are never taken for
those of another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .checks import is_tensor
from .grad_mode import INFERENCE, LEVELS, state

__all__ = [
    "Level", "Tangents", "enter", "level_of", "outside", "set_tangent", "share_tangents", "tangent_of",
    "tensors_in",
]


class Level:
    """A block of the program in which operations are done in a way of its own.

    Attributes:
        outer: the level around it, None if there is none.
        active: whether the block still runs: tensors may outlive it.
    """

    def __init__(self) -> None:
        self.outer: Level | None = state.level
        self.active = True
        enter(self)

    def leave(self) -> None:
        """The block has ended."""
        self.active = False
        enter(self.outer)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.leave()

    def concerns(self, tensor: Any) -> bool:
        """Whether an operation on this tensor is this level's business."""
        raise NotImplementedError(f"{type(self).__name__} does not define concerns")

    def perform(self, call: Any) -> Any:
        """Do an operation, given as a call (see ``numgrad.ops.transforms``)."""
        raise NotImplementedError(f"{type(self).__name__} does not define perform")


class Tangents(Level):
    """A level of forward mode: tensors may have a tangent, the derivative in one direction."""

    def concerns(self, tensor: Any) -> bool:
        return not state.mode & INFERENCE and tangent_of(tensor, self) is not None

    def perform(self, call: Any) -> Any:
        return call.with_tangents(self)


class outside:  # noqa: N801 - a context manager
    """``with outside(level):`` operations have to do with the levels around this one only."""

    def __init__(self, level: Level):
        self.level = level.outer

    def __enter__(self) -> None:
        self.before = state.level
        enter(self.level)

    def __exit__(self, *exception: Any) -> None:
        enter(self.before)


def enter(level: Level | None) -> None:
    """Have operations to do with this level and those around it."""
    state.level = level
    state.mode = state.mode & ~LEVELS if level is None else state.mode | LEVELS


def tensors_in(values: Iterable[Any]) -> list[Any]:
    """The tensors among the values, which may be tuples or lists of them."""
    found: list[Any] = []
    for value in values:
        if is_tensor(value):
            found.append(value)
        elif isinstance(value, tuple | list):
            found += tensors_in(value)
    return found


def level_of(values: Iterable[Any]) -> Level | None:
    """The innermost level that one of the values concerns."""
    tensors = tensors_in(values)
    level = state.level
    while level is not None and not any(level.concerns(tensor) for tensor in tensors):
        level = level.outer
    return level


# -- tangents ---------------------------------------------------------------------------------------------------


def tangent_of(tensor: Any, level: Level) -> Any:
    """The tangent of a tensor at one level, None if it has none.

    A view whose base was given a tangent by a change in place shows the same part of that.
    """
    duals = getattr(tensor, "_duals", None)
    if duals is not None and level in duals:
        return duals[level]
    view = tensor._view
    if view is None or not level.active:
        return None
    duals = getattr(view.base, "_duals", None)
    if duals is None or level not in duals or view.hides_tangent():
        return None
    with outside(level):
        tangent = view.way().view_of(duals[level])
    set_tangent(tensor, level, tangent)
    return tangent


def set_tangent(tensor: Any, level: Level, tangent: Any) -> None:
    """Give a tensor its tangent, which is of its shape and dtype."""
    duals = getattr(tensor, "_duals", None)
    if duals is None:
        duals = tensor._duals = {}
    duals[level] = tangent


def share_tangents(tensor: Any, other: Any) -> None:
    """Have ``other`` the tangents that ``tensor`` has or is going to have."""
    duals = getattr(tensor, "_duals", None)
    if duals is None:
        duals = tensor._duals = {}
    other._duals = duals
