"""Levels: what is done with every operation besides computing it, one inside the other.

Forward mode computes tangents, ``vmap`` stands one tensor for a batch of them.  Each such block of the program is a
level; ``state.level`` is the innermost one that operations have to do with, and leads to those around it.  An
operation is handed to the innermost level that one of its operands concerns.  That level does its part by calling
operations, which have to do with the levels around it only: so levels compose, and tangents of one are never taken for
those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar
from weakref import WeakSet

from .checks import is_tensor
from .grad_mode import DUAL, LEVELS, in_mode, state


class Level:
    """A block of the program in which operations are done in a way of its own.

    Attributes:
        outer: the level around it, None if there is none.
        active: whether the block still runs: tensors may outlive it.
        performers: what does the calls of each class at levels of this class, ``performer(call, level)``; a call of
            any other class is run as it is.
    """

    performers: ClassVar[dict[type, Callable[[Any, Any], Any]]]

    def __init__(self) -> None:
        self.outer: Level | None = state.level
        self.active = True
        enter(self)

    def leave(self) -> None:
        """The block has ended."""
        enter(self.outer)
        self.active = False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.leave()

    def concerns(self, tensor: Any) -> bool:
        """Whether an operation on this tensor is this level's business."""
        raise NotImplementedError(f"{type(self).__name__} does not define concerns")

    def perform(self, call: Any) -> Any:
        """Do an operation, given as a call (see ``calls``), in the way of this level."""
        performer = self.performers.get(call.__class__)
        return call.run() if performer is None else performer(call, self)


class _Duals(dict[Level, Any]):
    """The tangents of a tensor, by level; sets of them go by identity."""

    __slots__ = ("__weakref__",)

    __hash__ = object.__hash__  # type: ignore[assignment]


class Tangents(Level):
    """A level of forward mode: tensors may have a tangent, the derivative in one direction.

    When it ends they lose it: a tangent may be recorded as computed from the very tensor that has it, and a tensor that
    is changed at one level after the other would gather the tangents of all.
    """

    performers: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self) -> None:
        self.given: WeakSet[_Duals] = WeakSet()  # all that have a tangent at this level
        super().__init__()

    def leave(self) -> None:
        super().leave()
        self.forget()

    def forget(self) -> None:
        """Take their tangents at this level from all tensors that have one."""
        for duals in self.given:
            duals.pop(self, None)
        self.given.clear()

    def concerns(self, tensor: Any) -> bool:
        return tangent_of(tensor, self) is not None


class outside:  # noqa: N801 - a context manager
    """``with outside(level):`` operations have to do with the levels around this one only."""

    def __init__(self, level: Level):
        self.level = level.outer

    def __enter__(self) -> None:
        self.before = state.level
        self.on = state.mode & LEVELS  # not within what is computed for all levels at once
        enter(self.level)

    def __exit__(self, *exception: Any) -> None:
        state.level = self.before
        state.mode = state.mode & ~LEVELS | self.on


def with_duals(run: Callable[..., Any], *args: Any) -> Any:
    """Call ``run``; results that are saved share the tangents that they are going to have."""
    return in_mode(state.mode | DUAL, run, *args)


def enter(level: Level | None) -> None:
    """Have operations to do with this level and those around it."""
    state.level = level
    state.mode = state.mode & ~LEVELS if level is None else state.mode | LEVELS


def outwards(level: Level | None) -> Iterator[Level]:
    """A level and those around it, the innermost first."""
    while level is not None:
        yield level
        level = level.outer


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


# -- tangents ------------------------------------------------------------------------------------------------


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
    duals = getattr(tensor._root, "_duals", None)
    if duals is None or level not in duals or view.hides_tangent():
        return None
    with outside(level):
        tangent = view.view_of(duals[level], tensor._root._layout)
    set_tangent(tensor, level, tangent)
    return tangent


def tangents_of(tensor: Any) -> Iterator[tuple[Level, Any]]:
    """The tangents of a tensor, with their levels."""
    for level in outwards(state.level):
        tangent = tangent_of(tensor, level)
        if tangent is not None:
            yield level, tangent


def set_tangent(tensor: Any, level: Any, tangent: Any) -> None:
    """Give a tensor its tangent at a level of forward mode, which is of its shape and dtype."""
    duals = _duals_of(tensor)
    level.given.add(duals)
    duals[level] = tangent


def check_tangent_shape(tensor: Any, tangent: Any) -> None:
    """Raise unless a tangent has its tensor's shape.

    Raises:
        RuntimeError: it has another one.
    """
    if tangent._layout.shape != tensor._layout.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def share_tangents(tensor: Any, other: Any) -> None:
    """Have ``other`` the tangents that ``tensor`` has or is going to have."""
    other._duals = _duals_of(tensor)


def _duals_of(tensor: Any) -> _Duals:
    """The tangents of a tensor, none so far if it is asked for the first time."""
    duals: _Duals | None = getattr(tensor, "_duals", None)
    if duals is None:
        duals = tensor._duals = _Duals()
    return duals
