"""Forward mode: tensors carry tangents, and operations compute those of their results.

Inside of ``dual_level()`` a dual tensor, made of a tensor and its tangent, goes through any program; the tangent of
what comes out is the derivative in the direction of the tangent that went in.  It costs about one more evaluation,
however many outputs there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .checks import is_tensor
from .grad_mode import ModeDecorator, state
from .levels import Level, Tangents, check_tangent_shape, outside, outwards, tangent_of
from .operations import operations
from .thread_state import guarded

__all__ = [
    "UnpackedDualTensor", "dual_level", "dual_tensor", "enter_dual_level", "exit_dual_level", "make_dual",
    "primal_and_tangent", "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; ``tangent`` is None for a tensor that is not dual."""

    primal: Any
    tangent: Any


class _DualLevel(Tangents):
    """The level that ``enter_dual_level`` makes: there is one at a time."""


def _current() -> _DualLevel | None:
    return next((level for level in outwards(state.level) if isinstance(level, _DualLevel)), None)


def enter_dual_level() -> int:
    """Enter a level of forward mode, and return its number, 0.

    Raises:
        RuntimeError: one was entered already.
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _DualLevel()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: tensors lose their tangents.

    Raises:
        RuntimeError: there is none, or none of this number, or it is not the innermost.
    """
    current = _current()
    if current is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0) or current is not state.level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    current.leave()


class dual_level(ModeDecorator):  # noqa: N801 - PyTorch's name
    """``with dual_level():`` or ``@dual_level()``: a level of forward mode, in which there may be dual tensors.

    Example:
        >>> import numgrad
        >>> import numgrad.autograd.forward_ad as forward_ad
        >>> x, direction = numgrad.tensor([1.0, 2.0]), numgrad.tensor([1.0, 0.5])
        >>> with forward_ad.dual_level():
        ...     dual = forward_ad.make_dual(x, direction)
        ...     forward_ad.unpack_dual(dual**2).tangent
        tensor([2., 2.])
    """

    def __enter__(self) -> int:
        return guarded(self._enter)

    def _enter(self) -> int:
        number = enter_dual_level()
        self._level = state.level
        return number

    def __exit__(self, *exception: Any) -> None:
        try:
            self._leave()
        except BaseException:  # see Note [Ctrl-C]
            if self._level.active:
                self._leave()
            raise

    def _leave(self) -> None:
        level = self._level
        if level.active and level is not _current():  # it ended for this thread with the hook that entered it
            level.active = False
            level.forget()
        else:
            exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` that has the tangent ``tangent``, of the same shape.

    A tangent that lies in memory as the tensor does is taken itself, so that it changes when the dual tensor is
    changed in place; any other is copied.

    Raises:
        RuntimeError: there is no level; the shapes differ; the tensor has a tangent already.
        ValueError: one of the two has no derivatives, being of integers or bools.
    """
    current = _current()
    if current is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return dual_tensor(tensor, tangent, current)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal part of a tensor, a view of it without the tangent, and its tangent.

    Outside of any level a tensor is its own primal part.
    """
    current = _current()
    if current is None or level not in (None, 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*primal_and_tangent(tensor, current))


def dual_tensor(tensor: Any, tangent: Any, level: Level) -> Any:
    """A view of ``tensor`` that has a tangent at a level.

    Raises:
        RuntimeError: the tangent's shape differs, or the tensor has one.
        ValueError: one of the two has no derivatives, being of integers or bools.
    """
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tangent_of(tensor, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            f"supported. (It is of shape {list(tensor.shape)}.)"
        )
    if tangent_of(tangent, level) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported. "
            f"(It is of shape {list(tangent.shape)}.)"
        )
    check_tangent_shape(tensor, tangent)
    with outside(level):
        dual = tensor._primal()
        operations.write_tangent(dual, level, tangent)
    return dual


def primal_and_tangent(tensor: Any, level: Level) -> tuple[Any, Any]:
    """A view of a tensor without its tangent at a level, and that tangent."""
    if not is_tensor(tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor, level)
    with outside(level):
        return tensor._primal(), tangent
