"""Temporary replacement of an optimizer's parameters and state."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from ..tensors.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Context manager that gives the optimizer these parameters and this state, and then restores the previous ones.

    Its steps change the given tensors in place.  New state entries made by a step are discarded.

    Args:
        optimizer: an optimizer that has made a step.
        swapin_parameters: the parameters, in the order of the optimizer's own.
        swapin_optim_state: a state as returned by ``optimizer.state_dict()``.

    Raises:
        RuntimeError: the optimizer has no state yet, or the arguments do not fit its parameter groups.
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(swapin_optim_state, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state = _checked_state(swapin_optim_state.get("state"))
    groups = _checked_groups(optimizer, swapin_optim_state.get("param_groups"))
    numbers = [number for group in groups for number in group["params"]]
    params = list(swapin_parameters.values())
    if len(numbers) > len(params):
        raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
    unknown = [number for number in state if number not in set(numbers)]
    if unknown:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {unknown!r}."
        )
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        left = iter(params)
        for live_group, group in zip(optimizer.param_groups, groups, strict=True):
            live_group.update({**group, "params": [next(left) for _ in group["params"]]})
        optimizer.state = defaultdict(dict)
        for param, number in zip(params, numbers, strict=False):
            optimizer.state[param] = dict(state.get(number, {}))
        yield
    finally:
        optimizer.state = own_state
        for live_group, group in zip(optimizer.param_groups, own_groups, strict=True):
            live_group.clear()
            live_group.update(group)


def _checked_state(state: Any) -> dict[Any, Any]:
    """Return the state by the parameters' numbers, after checking it."""
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(values, dict) for key, values in state.items()):
        raise RuntimeError(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")
    return state


def _checked_groups(optimizer: Optimizer, groups: Any) -> list[dict[str, Any]]:
    """Return the groups, after checking that each has as many parameters and the same options as the optimizer's."""
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for index, (live_group, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        if not isinstance(group, dict):
            raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
        numbers = group.get("params")
        if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
                "parameter ids."
            )
        if len(numbers) != len(live_group["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {index} has a different number of params than the live optimizer "
                "param group."
            )
        more, less = [key for key in group if key not in live_group], [key for key in live_group if key not in group]
        if more or less:
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
                f"group keys for group {index}. Keys only in swap-in: {more}. Keys only in live: {less}."
            )
    return groups
