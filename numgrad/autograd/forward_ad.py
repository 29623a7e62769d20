"""Forward mode: tensors carry tangents, and operations compute the tangents of their results.

Within ``dual_level()``, a dual tensor, made of a tensor and its tangent, can be passed through any program.  The
tangent of the result is the derivative in the direction of the input's tangent.  This costs about one more
evaluation, regardless of the number of outputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .checks import is_tensor
from .grad_mode import ModeDecorator, recording, state
from .levels import Level, Tangents, check_tangent_shape, outside, outwards, tangent_of
from .node import next_sequence
from .operations import operations
from .thread_state import guarded

__all__ = [
    "UnpackedDualTensor", "dual_level", "dual_tensor", "enter_dual_level", "exit_dual_level", "make_dual",
    "primal_and_tangent", "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """Parts of a dual tensor; ``tangent`` is None for a tensor that is not dual."""

    primal: Any
    tangent: Any


class _DualLevel(Tangents):
    """Level made by ``enter_dual_level``; only one can exist at a time."""


class RecordedTangents(Tangents):
    """Level of forward mode at which tangents are recorded in every grad mode.

    Attributes:
        hidden: sequence numbers of nodes that record tangents of operations that the caller does not record: the
            first of each range, and the end.
    """

    def __init__(self) -> None:
        self.hidden: list[int] = []
        super().__init__()

    def mode(self) -> recording:
        return _TangentRecording(self.hidden)


class _TangentRecording(recording):
    """Recording of tangents, which notes the sequence numbers of nodes that the caller's grad mode would not allow."""

    def __init__(self, hidden: list[int]):
        super().__init__(inference=True)
        self._hidden = hidden

    def __enter__(self) -> None:
        super().__enter__()
        self._begin = next_sequence()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        if not self.was_on:
            self._hidden += self._begin, next_sequence()


def _current() -> _DualLevel | None:
    return next((level for level in outwards(state.level) if isinstance(level, _DualLevel)), None)


def enter_dual_level() -> int:
    """Enter a level of forward mode, and return its number, 0.

    Raises:
        RuntimeError: a level is already active.
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _DualLevel()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: tensors lose their tangents.

    Raises:
        RuntimeError: no level is active, ``level`` is not its number, or it is not the innermost level.
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
    """Context manager and decorator for a level of forward mode, in which dual tensors can be made.

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
        if level.active and level is not _current():  # already ended with the hook that entered it
            level.active = False
            level.forget()
        else:
            exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Return a view of ``tensor`` with the tangent ``tangent``, of the same shape.

    A tangent with the strides of the tensor is used directly, so in-place changes of the dual tensor modify it.  Any
    other tangent is copied.

    Raises:
        RuntimeError: no level is active, the shapes differ, or the tensor already has a tangent.
        ValueError: the dtype of one of the two is integral or bool, and thus not differentiable.

    Example:
        >>> import numgrad
        >>> with numgrad.autograd.forward_ad.dual_level():
        ...     x = numgrad.autograd.forward_ad.make_dual(numgrad.tensor(3.0), numgrad.tensor(1.0))
        ...     tangent = numgrad.autograd.forward_ad.unpack_dual(x * x).tangent
        >>> tangent
        tensor(6.)
    """
    current = _current()
    if current is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return dual_tensor(tensor, tangent, current)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal part of a tensor, a view of it without the tangent, and its tangent.

    Without an active level, the primal part is the tensor itself.

    Example:
        >>> import numgrad
        >>> with numgrad.autograd.forward_ad.dual_level():
        ...     x = numgrad.autograd.forward_ad.make_dual(numgrad.tensor(3.0), numgrad.tensor(1.0))
        ...     tangent = numgrad.autograd.forward_ad.unpack_dual(x * x).tangent
        >>> tangent
        tensor(6.)
    """
    current = _current()
    if current is None or level not in (None, 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*primal_and_tangent(tensor, current))


def dual_tensor(tensor: Any, tangent: Any, level: Level) -> Any:
    """Return a view of ``tensor`` with a tangent at a level.

    Raises:
        RuntimeError: the tangent's shape differs, or the tensor or the tangent already has a tangent.
        ValueError: the dtype of one of the two is integral or bool, and thus not differentiable.
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
    with outside(level) as around:
        dual = around.run(tensor._primal)
        operations.write_tangent(dual, level, tangent)
    return dual


def primal_and_tangent(tensor: Any, level: Level) -> tuple[Any, Any]:
    """Return a view of a tensor without its tangent at a level, and that tangent."""
    if not is_tensor(tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor, level)
    with outside(level) as around:
        return around.run(tensor._primal), tangent
