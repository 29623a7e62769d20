"""Checkpoints: save memory by recomputing parts of a program in backward instead of keeping their results."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import GRAD as _GRAD
from ...autograd.grad_mode import state as _state
from ...autograd.thread_state import guarded as _guarded
from ...core.missing import found_later as _found_later
from .recomputation import CheckpointError, GraphExecGroup
from .recomputation import Frame as _Frame
from .reentrant import (
    CheckpointFunction,
    DefaultDeviceType,
    check_backward_validity,
    detach_variable,
    get_device_states,
    set_device_states,
)

__all__ = [
    "CheckpointError", "CheckpointFunction", "DefaultDeviceType", "GraphExecGroup", "check_backward_validity",
    "checkpoint", "checkpoint_sequential", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]

_Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_DETERMINISM_CHECKS = ["default", "none"]

#: Settings of the innermost blocks, for all threads; None leaves the choice to each checkpoint.
_settings: dict[str, bool | None] = {"early_stop": None, "debug": None}


def noop_context_fn() -> _Contexts:
    """Return the default contexts of ``context_fn``: two context managers that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Compute ``function(*args, **kwargs)`` without keeping the values saved for backward, which recomputes them.

    This trades time for memory: only the arguments and the result of the function are kept.  The function must do the
    same each time it is called with these arguments.

    Args:
        function: the function to run; it may be called several times.
        args: its arguments.  A tensor among them must not be modified in place until backward has run.
        use_reentrant: False records the function in the ordinary way, so that all features of a graph work: ``grad``,
            higher derivatives, hooks, nested checkpoints, and results of any structure.  True, the older method and the
            default for now, records one node that runs its own backward through the function: only tensors directly
            among the arguments and results take part, and only ``backward()`` without ``inputs`` works.
        context_fn: returns two context managers: the function runs in the first, and in backward in the second.
        determinism_check: "default" raises an error if the tensors saved in backward differ from those of forward in
            number, shape or dtype; "none" only if they differ in number.
        debug: make such errors show the operations of forward and of backward.
        early_stop: in backward, stop the function as soon as it has computed all that is needed.
        preserve_rng_state: make the function draw the same random numbers in backward.
        kwargs: keyword arguments of the function.

    The last five, except ``preserve_rng_state``, require ``use_reentrant=False``.

    Raises:
        ValueError: ``determinism_check`` is unknown; ``debug`` and a ``context_fn`` are both given; or
            ``use_reentrant=True`` is combined with ``debug``, a ``context_fn`` or keyword arguments.
        CheckpointError: in backward, if the recomputed tensors differ from the original ones.
        RuntimeError: in backward, if an argument was modified in place, or if the reentrant method does not support the
            pass.

    Example:
        >>> import numgrad
        >>> from numgrad.utils.checkpoint import checkpoint
        >>> x = numgrad.tensor([0.0, 1.0], requires_grad=True)
        >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([ 0.5403, -2.4783])
    """
    if _reentrant(use_reentrant, "torch.utils.checkpoint"):
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        _refuse_keywords(kwargs)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}")
    debug = debug if _settings["debug"] is None else _settings["debug"]
    early_stop = early_stop if _settings["early_stop"] is None else _settings["early_stop"]
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if not _state.mode & _GRAD:
        return function(*args, **kwargs)
    first, again = context_fn()
    frame = _Frame(
        function, args, kwargs, again, preserve_rng_state=preserve_rng_state,
        checks_metadata=determinism_check == "default", stops_early=early_stop, debug=debug,
    )  # fmt: skip

    def recorded() -> Any:
        with frame.recording(), first:
            return function(*args, **kwargs)

    return _guarded(recorded)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions one after the other, in segments that are checkpoints, except for the last.

    Args:
        functions: a list of functions or modules, or a ``Sequential``; each takes the result of the previous one.
        segments: the number of segments, from 1 to the number of functions; the last has the remainder.
        input: a tensor, the argument of the first function.
        use_reentrant: see :func:`checkpoint`.
        kwargs: only ``preserve_rng_state``.

    Raises:
        ValueError: there are other keyword arguments, or fewer functions than segments.

    Example:
        >>> import numgrad
        >>> model = numgrad.nn.Sequential(numgrad.nn.Linear(2, 2), numgrad.nn.Tanh())
        >>> x = numgrad.ones(1, 2, requires_grad=True)
        >>> numgrad.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False).shape
        torch.Size([1, 2])
    """
    use_reentrant = _reentrant(use_reentrant, "torch.utils.checkpoint.checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse_keywords(kwargs)
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(f"{len(functions)} functions cannot be divided into {segments} segments")
    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        segment = _composed(functions[start : start + size])
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _composed(functions[last:])(input)


def _composed(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return the composition of several functions."""
    return functools.partial(functools.reduce, lambda value, function: function(value), functions)


def _refuse_keywords(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")


def _reentrant(choice: bool | None, name: str) -> bool:
    """Return True for the reentrant method; warn if the choice was not made explicitly."""
    if choice is not None:
        return choice
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended, but if "
        "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
        "details on the differences between the two variants.",
        stacklevel=3,
    )
    return True


@contextmanager
def _set(name: str, value: bool | None) -> Iterator[None]:
    before, _settings[name] = _settings[name], value
    try:
        yield
    finally:
        _settings[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Context manager that, with False, makes checkpoints recompute their whole function.

    By default they stop as soon as backward has the tensors it needs.  The setting applies to checkpoints made in the
    block, although backward may run outside it.
    """
    return _set("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Context manager that overrides the ``debug`` of every checkpoint; with None, each keeps its own."""
    return _set("debug", enabled)


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "utils.checkpoint")
