"""Checkpoints: save memory by computing parts of a program again in backward, instead of keeping what they computed."""

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

#: The settings of the innermost blocks, for all threads; with None each checkpoint has its own.
_settings: dict[str, bool | None] = {"early_stop": None, "debug": None}


def noop_context_fn() -> _Contexts:
    """The default ``context_fn``: two context managers that do nothing."""
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
    """Compute ``function(*args, **kwargs)`` without keeping what it saves for backward, which computes it again.

    This trades time for memory: of what the function computes only the result is kept, and its arguments.  The
    function must do the same each time it is called with them.

    Args:
        function: the function to run; it may be called several times.
        args: its arguments.  A tensor among them must not be changed in place until backward has run.
        use_reentrant: False records the function as ever, so that all there is to a graph works: ``grad``, derivatives
            of derivatives, hooks, checkpoints in one another, results of any structure.  True, the old way and for
            now the default, records one node, which goes back through the function by a backward of its own: only
            tensors directly among the arguments and results take part, and only ``backward()`` without ``inputs``
            works.
        context_fn: returns two context managers: the function runs in the first, in backward in the second.
        determinism_check: "default" raises an error if what is saved in backward differs from forward in number, shape
            or dtype; "none" in number only.
        debug: have such errors show the operations of forward and of backward.
        early_stop: in backward, stop the function as soon as it has computed what is needed.
        preserve_rng_state: have the function draw the same random numbers in backward.
        kwargs: keyword arguments of the function.

    The last five but ``preserve_rng_state`` are for ``use_reentrant=False``.

    Raises:
        ValueError: ``determinism_check`` is neither; ``debug`` and a ``context_fn`` are both given, or one of them, or
            keyword arguments, with ``use_reentrant=True``.
        CheckpointError: in backward, what is computed again is not what was computed first.
        RuntimeError: in backward, an argument was changed in place; or it is one that the reentrant way cannot do.

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
    """Run functions one after the other, in segments each of which is a checkpoint, except the last.

    Args:
        functions: a list of functions or modules, or a ``Sequential``, each taking what the one before returns.
        segments: into how many segments to divide them, from 1 to their number; the last has those left over.
        input: a tensor, the argument of the first.
        use_reentrant: see :func:`checkpoint`.
        kwargs: only ``preserve_rng_state``.

    Raises:
        ValueError: there are other keyword arguments, or not as many functions as segments.
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
    """Several functions as one."""
    return functools.partial(functools.reduce, lambda value, function: function(value), functions)


def _refuse_keywords(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")


def _reentrant(given: bool | None, name: str) -> bool:
    """Whether to go the reentrant way; where nobody has said so, with a warning."""
    if given is not None:
        return given
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
    """``with set_checkpoint_early_stop(False):`` checkpoints made in the block compute all of their function again.

    Otherwise they stop as soon as backward has what it needs.  What counts is where forward runs; backward may run
    outside of the block.
    """
    return _set("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Within the ``with`` block, every checkpoint has this in place of its own ``debug``; None leaves it its own."""
    return _set("debug", enabled)


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "utils.checkpoint")
