"""Levels: nested transformations applied to every operation in addition to its computation.

Forward mode computes tangents, and ``vmap`` lets one tensor represent a batch.  Each such block of the program is a
level.  ``state.level`` is the innermost active level, from which the enclosing ones can be reached.  An operation is
passed to the innermost level that one of its operands concerns.  That level does its part by calling operations, which
only the enclosing levels then process.  Levels therefore compose, and tangents of one level are never mistaken for
those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar
from weakref import ref

from .checks import is_tensor
from .grad_mode import DUAL, LEVELS, in_mode, recording, state


class Level:
    """Block of the program in which operations are transformed.

    Attributes:
        outer: the enclosing level, or None.
        active: True while the block runs; tensors may outlive it.
        performers: for each class of calls, the function ``performer(call, level)`` that performs them at levels of
            this class.  Calls of any other class run unchanged.
    """

    performers: ClassVar[dict[type, Callable[[Any, Any], Any]]]

    def __init__(self) -> None:
        self.outer: Level | None = state.level
        self.active = True
        enter(self)

    def leave(self) -> None:
        """End the block."""
        enter(self.outer)
        self.active = False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.leave()

    def concerns(self, tensor: Any) -> bool:
        """Return True if this level must process operations on this tensor."""
        raise NotImplementedError(f"{type(self).__name__} does not define concerns")

    def mode(self) -> recording | None:
        """Return the context manager in which this level records what it computes, None for the caller's grad mode."""
        return None

    def perform(self, call: Any) -> Any:
        """Perform an operation, given as a call (see ``calls``), at this level."""
        performer = self.performers.get(call.__class__)
        return call.run() if performer is None else performer(call, self)


class _Duals(dict[Level, Any]):
    """Tangents of a tensor, keyed by level; hashable by identity."""

    __slots__ = ("__weakref__",)

    __hash__ = object.__hash__  # type: ignore[assignment]


class Tangents(Level):
    """Level of forward mode, in which tensors may have a tangent, the derivative in one direction.

    Tensors lose their tangents when the level ends.  Otherwise a tangent computed from its own tensor would form a
    reference cycle, and a tensor modified at one level after another would accumulate tangents.
    """

    performers: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self) -> None:
        # Tangents of all tensors that have one at this level.  A WeakSet would be slower, and would lose interrupts
        # (Ctrl-C) that arrive in its callback, which is written in Python.
        self.duals: set[ref[_Duals]] = set()
        super().__init__()

    def leave(self) -> None:
        super().leave()
        self.forget()

    def forget(self) -> None:
        """Remove the tangents at this level from all tensors."""
        for reference in [*self.duals]:  # copied at once, because another thread may remove some
            duals = reference()
            if duals is not None:
                duals.pop(self, None)
        self.duals.clear()

    def concerns(self, tensor: Any) -> bool:
        return tangent_of(tensor, self) is not None


class outside:  # noqa: N801 - a context manager
    """Context manager in which operations are processed only by the levels that enclose ``level``."""

    mode: recording | None = None

    def __init__(self, level: Level):
        self.level = level.outer
        self.mode = level.mode()

    def __enter__(self) -> outside:
        self.before = state.level
        self.on = state.mode & LEVELS  # off within computations for all levels at once
        enter(self.level)
        if self.mode is not None:
            self.mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        state.level = self.before
        state.mode = state.mode & ~LEVELS | self.on
        if self.mode is not None:
            self.mode.__exit__()

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the caller's grad mode, and return its result."""
        return function(*args) if self.mode is None else self.mode.before(function, *args)


def with_duals(run: Callable[..., Any], *args: Any) -> Any:
    """Call ``run`` so that saved results share the tangents that the results will have."""
    return in_mode(state.mode | DUAL, run, *args)


def enter(level: Level | None) -> None:
    """Make this level the innermost one that processes operations."""
    state.level = level
    state.mode = state.mode & ~LEVELS if level is None else state.mode | LEVELS


def outwards(level: Level | None) -> Iterator[Level]:
    """Yield a level and the enclosing levels, innermost first."""
    while level is not None:
        yield level
        level = level.outer


def tensors_in(values: Iterable[Any]) -> list[Any]:
    """Return the tensors among the values, including those in nested tuples and lists."""
    result: list[Any] = []
    for value in values:
        if is_tensor(value):
            result.append(value)
        elif isinstance(value, tuple | list):
            result += tensors_in(value)
    return result


def level_of(values: Iterable[Any]) -> Level | None:
    """Return the innermost level that one of the values concerns, or None."""
    tensors = tensors_in(values)
    level = state.level
    while level is not None and not any(level.concerns(tensor) for tensor in tensors):
        level = level.outer
    return level


# -- tangents ------------------------------------------------------------------------------------------------


def tangent_of(tensor: Any, level: Level) -> Any:
    """Return the tangent of a tensor at one level, or None if it has none.

    If an in-place change gave the base of a view a tangent, the tangent of the view is the corresponding view of it.
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
    """Yield the tangents of a tensor with their levels."""
    for level in outwards(state.level):
        tangent = tangent_of(tensor, level)
        if tangent is not None:
            yield level, tangent


def set_tangent(tensor: Any, level: Any, tangent: Any) -> None:
    """Set the tangent of a tensor at a level of forward mode; it has the tensor's shape and dtype."""
    duals = _duals_of(tensor)
    level.duals.add(ref(duals, level.duals.discard))
    duals[level] = tangent


def check_tangent_shape(tensor: Any, tangent: Any) -> None:
    """Raise unless a tangent has its tensor's shape.

    Raises:
        RuntimeError: the shapes differ.
    """
    if tangent._layout.shape != tensor._layout.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def share_tangents(tensor: Any, other: Any) -> None:
    """Let ``other`` share the present and future tangents of ``tensor``."""
    other._duals = _duals_of(tensor)


def _duals_of(tensor: Any) -> _Duals:
    """Return the tangents of a tensor, creating an empty dictionary on first use."""
    duals: _Duals | None = getattr(tensor, "_duals", None)
    if duals is None:
        duals = tensor._duals = _Duals()
    return duals
