"""Anomaly detection: remember where each operation was called, and stop at the first NaN that backward makes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .grad_mode import ANOMALY, no_bool, state
from .places import calling_place, forward_trace, warn_user

__all__ = [
    "check_gradients", "detect_anomaly", "explain_failure", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "note_forward", "set_anomaly_enabled", "set_detect_anomaly",
]


def is_anomaly_enabled() -> bool:
    """Whether operations remember their call and backward checks for NaN, in this thread."""
    return state.mode & ANOMALY != 0


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for NaN."""
    return state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off in this thread, for good.

    Raises:
        TypeError: ``enabled`` is no bool.
    """
    if not isinstance(enabled, bool):
        raise no_bool("set_anomaly_enabled", enabled)
    set_detect_anomaly(enabled, check_nan)


class _AnomalyMode:
    """Switches anomaly detection in this thread for a block."""

    def __init__(self, mode: bool, check_nan: bool):
        self.mode = mode
        self.check_nan = check_nan
        self._outside: list[tuple[int, bool]] = []

    def __enter__(self) -> None:
        self._outside.append(_switch(self.mode, self.check_nan))

    def __exit__(self, *exception: Any) -> None:
        mode, check_nan = self._outside.pop()
        _switch(bool(mode), check_nan)


def _switch(mode: bool, check_nan: bool) -> tuple[int, bool]:
    """Switch detection and the look for NaN on or off; returns what they were."""
    before = state.mode & ANOMALY, state.check_nan
    state.mode = state.mode | ANOMALY if mode else state.mode & ~ANOMALY
    state.check_nan = check_nan
    return before


class detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name
    """``with detect_anomaly():`` makes errors of backward show the traceback of the forward call they come from.

    With ``check_nan`` a backward function that returns NaN raises an error.  Both cost time: use it to debug.
    """

    def __init__(self, check_nan: bool = True):
        super().__init__(True, check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )


class set_detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name
    """Switch anomaly detection on or off, at once and until the end of the ``with`` block if there is one."""

    def __init__(self, mode: bool, check_nan: bool = True):
        super().__init__(mode, check_nan)
        self._outside.append(_switch(mode, check_nan))

    def __enter__(self) -> None:
        """The switch was made when this was made."""


def note_forward(node: Any) -> None:
    """Keep with a node where it was recorded and, if backward was running, by which node: see ``explain_failure``."""
    attached = node.attachments()
    attached.place = calling_place()
    attached.metadata["traceback_"] = forward_trace()
    running = state.current_pass
    if running is not None and running.node is not None:
        attached.metadata["parent_"] = running.node


def explain_failure(node: Any) -> None:
    """Warn with the traceback of the forward call that recorded a node which has just failed.

    For a node that a backward pass has recorded, further warnings lead on to the node that this pass was at.
    """
    warn_user(f"Error detected in {node.name()}. {_origin(node, 'caused the error')}")
    while (node := node.metadata.get("parent_")) is not None:
        origin = _origin(node, "induced the previous calculation")
        warn_user(f"\n\nPrevious calculation was induced by {node.name()}. {origin}")


def _origin(node: Any, what: str) -> str:
    trace = node.metadata.get("traceback_")
    if trace is not None:
        return f"Traceback of forward call that {what}:\n{''.join(trace)}"
    return (
        "No forward pass information available. Enable detect anomaly during forward pass for more information."
    )


def check_gradients(node: Any, gradients: Sequence[Any], is_bad: Callable[[Any], bool]) -> None:
    """Raise if a gradient that a node returned has a NaN.

    Raises:
        RuntimeError: names the node and which of its outputs it is.
    """
    if not state.check_nan:
        return
    for number, gradient in enumerate(gradients):
        if gradient is not None and is_bad(gradient):
            explain_failure(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")
