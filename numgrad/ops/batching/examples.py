"""Functions that read elements themselves, not by operations of the table, and their behaviour under ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ... import devices
from ...autograd.calls import transformed
from ...autograd.grad_mode import LEVELS, WATCHED, state
from ...autograd.levels import tensors_in
from ..table.checks import check
from ..table.transforms import FreeCall
from .batches import DYNAMIC, batch_level, is_batched

Function = Callable[..., Any]


class EachCall(FreeCall):
    """A function called for each example; if it ``draws``, only if each example has random numbers of its own."""

    def __init__(self, function: Function, args: tuple[Any, ...], keywords: Mapping[str, Any], draws: bool = False):
        super().__init__(function, args, keywords)
        self.draws = draws


def each(function: Function, refusal: str = "") -> Function:
    """Decorate a function of tensors, without derivatives, to be called for each example.

    With a ``refusal``, a call for examples that differ raises RuntimeError with this message.
    """

    watched = free(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.mode & LEVELS:
            tensors = tensors_in((*args, *kwargs.values()))
            if refusal and any(map(is_batched, tensors)):
                raise RuntimeError(refusal)
            level = batch_level(tensors)
            if level is not None:
                return level.perform(EachCall(call, args, kwargs))
        return watched(*args, **kwargs)

    return call


def free(function: Function) -> Function:
    """Decorate a function that reads elements itself but handles all examples at once; only watchers see the call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.mode & WATCHED:
            return transformed(FreeCall(function, args, kwargs))
        return function(*args, **kwargs)

    return call


def refused(message: str) -> Callable[[Function], Function]:
    """Decorate a function, without derivatives, that cannot be called for examples that differ."""
    return lambda function: each(function, message)


def dynamic(name: str) -> Callable[[Function], Function]:
    """Decorate a function whose results would differ in shape from example to example."""
    return refused(DYNAMIC.format(name))


def drawn(function: Function) -> Function:
    """Decorate a function that draws a new random tensor: one for each example, or the same for all."""

    watched = free(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        level = batch_level() if state.mode & LEVELS else None
        if level is None:
            try:
                return watched(*args, **kwargs)
            except MemoryError as error:
                raise devices.from_numpy(error) from None
        if level.randomness == "error":  # the generator raises the error
            return function(*args, **kwargs)
        like = function.__name__.endswith("_like")
        check(
            level.randomness != "same" or like or not any(map(level.concerns, tensors_in((*args, *kwargs.values())))),
            "Vmap does not currently support same randomness with a batched tensor input: its numbers depend on the "
            "example.",
        )
        return level.perform(EachCall(call, args, kwargs, draws=True))

    return call


def check_drawing(target: Any) -> None:
    """Raise if a tensor that all examples share would be overwritten with numbers drawn for each.

    Raises:
        RuntimeError: if it would.
    """
    level = batch_level()
    if level is None or level.randomness != "different":
        return
    check(
        level.concerns(target) and target._mapped.batched,
        "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
        "randomness: draw into a new tensor.",
    )
