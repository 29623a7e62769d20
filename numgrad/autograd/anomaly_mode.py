"""Anomaly detection: remember where each operation was called, and stop at the first NaN."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from .bad_values import ForwardCheck
from .grad_mode import ANOMALY, no_bool, state
from .locations import calling_location, forward_trace, warn_user
from .watching import unwatch, watch

__all__ = [
    "detect_anomaly", "explain_failure", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "note_forward",
    "set_anomaly_enabled", "set_detect_anomaly",
]

#: Watches operations where ``check_forward`` asks for it.
forward_check = ForwardCheck()


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
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


class _Checks(NamedTuple):
    """Whether anomaly mode is on, and what it looks for."""

    on: bool
    nan: bool
    inf: bool
    forward: bool

    def switch(self) -> _Checks:
        """Have it so in this thread; returns what was before."""
        before = _Checks(is_anomaly_enabled(), state.check_nan, state.check_inf, forward_check in state.watchers)
        state.mode = state.mode | ANOMALY if self.on else state.mode & ~ANOMALY
        state.check_nan, state.check_inf = self.nan, self.inf
        unwatch(forward_check)
        if self.on and self.forward:
            watch(forward_check)
        return before


class _AnomalyMode:
    """Switches anomaly detection in this thread for a block."""

    def __init__(self, *checks: bool):
        self._checks = _Checks(*checks)
        self._outside: list[_Checks] = []

    def __enter__(self) -> None:
        self._outside.append(self._checks.switch())

    def __exit__(self, *exception: Any) -> None:
        outside = self._outside
        if outside:  # the last stays: who leaves twice switches back to the same again
            (outside.pop() if len(outside) > 1 else outside[0]).switch()


class detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name
    """``with detect_anomaly():`` makes errors of backward name the lines of the program that they come from.

    A failing backward shows the traceback of the forward call that it belongs to; a saved tensor that was changed in
    place, the lines that saved and changed it.  A node that returns NaN in backward raises an error, which tells the
    first bad element and what there was at its place.  All this costs time and memory: use it to debug.

    Args:
        check_nan: whether to look for NaN.
        check_forward: look at the results of operations, too, not at gradients only: the first operation that makes a
            NaN of operands that have none raises an error.  PyTorch has no such check.  It also notes who made tensors
            that require no gradient, for :func:`numgrad.explain`.
        check_inf: look for infinities as well.  PyTorch does not.

    Raises:
        RuntimeError: within the block, a bad value was found.

    Example:
        >>> import warnings
        >>> import numgrad
        >>> warnings.simplefilter("ignore")  # it warns that it costs time
        >>> x = numgrad.tensor([2.0, 0.0], requires_grad=True)
        >>> with numgrad.autograd.detect_anomaly(check_forward=True, check_inf=True):
        ...     y = x.log()
        Traceback (most recent call last):
        ...
        RuntimeError: Operation 'log' returned infinite values, and was given none.
        The first infinity stands at [1] in the result, of shape [2].
          input is 0 there
    """

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False, check_inf: bool = False):
        super().__init__(True, check_nan, check_inf, check_forward)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )


class set_detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name
    """Switch anomaly detection on or off, at once and until the end of the ``with`` block if there is one.

    The arguments are those of :class:`detect_anomaly`.
    """

    def __init__(
        self, mode: bool, check_nan: bool = True, *, check_forward: bool = False, check_inf: bool = False
    ):
        super().__init__(mode, check_nan, check_inf, check_forward)
        self._outside.append(self._checks.switch())

    def __enter__(self) -> None:
        """The switch was made when this was made."""


def note_forward(node: Any) -> None:
    """Keep with a node where it was recorded and, if backward was running, by which node: see ``explain_failure``."""
    attached = node.attachments()
    attached.location = calling_location()
    attached.metadata["traceback_"] = forward_trace()
    running = state.current_pass
    if running is not None and running.node is not None:
        attached.metadata["parent_"] = running.node


def explain_failure(node: Any) -> None:
    """Warn with the traceback of the forward call that recorded a node which has just failed.

    For a node that a backward pass has recorded, further warnings lead on to the node that this pass was at.
    """
    happened, what = "Error detected in", "caused the error"
    while node is not None:
        trace = node.metadata.get("traceback_")
        if trace is None:
            warn_user(
                f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
                "forward pass for more information."
            )
        else:
            warn_user(f"{happened} {node.name()}. Traceback of forward call that {what}:\n{''.join(trace)}")
        node = node.metadata.get("parent_")
        happened, what = "\n\nPrevious calculation was induced by", "induced the previous calculation"
