"""Anomaly detection: record where each operation was called, and stop at the first NaN."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.layout import broadcasts
from .checks import is_tensor
from .grad_mode import ANOMALY, GRAD, no_bool, state
from .levels import tensors_in
from .locations import calling_location, forward_trace, note_origin, warn_user
from .watching import Watcher, unwatch, watch

__all__ = [
    "detect_anomaly", "explain_failure", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "note_forward",
    "set_anomaly_enabled", "set_detect_anomaly",
]

#: Index of an element.
Index = tuple[int, ...]


def is_anomaly_enabled() -> bool:
    """Return True if anomaly detection is on in this thread."""
    return state.mode & ANOMALY != 0


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if anomaly detection checks for NaN when it is on."""
    return state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off in this thread permanently.

    Raises:
        TypeError: ``enabled`` is not a bool.
    """
    if not isinstance(enabled, bool):
        raise no_bool("set_anomaly_enabled", enabled)
    set_detect_anomaly(enabled, check_nan)


class ForwardCheck(Watcher):
    """Watcher for the first operation that returns a NaN or an infinity although no operand has one."""

    is_mode = True

    def before(self, call: Any) -> dict[str, Any] | None:
        """Return the arguments by name, or None if no check is needed because an argument is already bad."""
        if state.current_pass is not None or getattr(call, "source", call) is None:
            return None  # backward has its own check, and fill values are deliberate
        arguments = _arguments(call)
        if call.target is None:
            return arguments  # checked afterwards, only if necessary
        if _has_bad(arguments.values()):
            return None
        return {name: v._all_elements().copy() if v is call.target else v for name, v in arguments.items()}

    def after(self, call: Any, arguments: dict[str, Any] | None, result: Any) -> None:
        """Check the result.

        Raises:
            RuntimeError: the result has a bad element, but no argument has one.
        """
        parts = result if isinstance(result, tuple) else (result,)
        if call.target is None:
            _note_origins(call, parts)
        if arguments is None:
            return
        for number, part in enumerate(parts):
            index = _first_bad(part)
            if index is not None and not _has_bad(arguments.values()):
                which = f"result {number}" if isinstance(result, tuple) else "the result"
                happened = f"Operation '{_name(call)}' returned {{}} values from inputs without any."
                raise RuntimeError(_account(happened, which, part, index, arguments))


#: Watches operations if ``check_forward`` is set.
forward_check = ForwardCheck()


class _Checks(NamedTuple):
    """State of anomaly mode: on or off, and its checks."""

    on: bool
    nan: bool
    inf: bool
    forward: bool

    @staticmethod
    def current() -> _Checks:
        """Return the state of this thread."""
        return _Checks(is_anomaly_enabled(), state.check_nan, state.check_inf, forward_check in state.watchers)

    def switch(self) -> None:
        """Switch this thread to this state."""
        state.mode = state.mode | ANOMALY if self.on else state.mode & ~ANOMALY
        state.check_nan, state.check_inf = self.nan, self.inf
        unwatch(forward_check)
        if self.on and self.forward:
            watch(forward_check)


class _AnomalyMode:
    """Context manager that switches anomaly detection in this thread."""

    def __init__(self, *checks: bool):
        self._checks = _Checks(*checks)
        self._outside: list[_Checks] = []

    def __enter__(self) -> None:
        self._outside.append(_Checks.current())
        try:
            self._checks.switch()
        except BaseException:  # see Note [Ctrl-C]
            self._outside[-1].switch()
            raise

    def __exit__(self, *exception: Any) -> None:
        outside = self._outside
        if not outside:
            return
        try:
            outside[-1].switch()
        except BaseException:
            outside[-1].switch()
            raise
        if outside[1:]:  # keep the last state, so that leaving twice restores it again
            del outside[-1]


class detect_anomaly(_AnomalyMode):  # noqa: N801 - PyTorch's name
    """Context manager that makes errors of backward name the program lines they come from.

    A failing backward shows the traceback of the corresponding forward call.  For a saved tensor that was modified in
    place, the error shows the lines that saved and modified it.  A node that returns NaN in backward raises an error
    that reports the first bad element and the values at its index.  Anomaly detection costs time and memory: use it
    only for debugging.

    Args:
        check_nan: check for NaN.
        check_forward: check the results of operations in addition to gradients: the first operation that computes a
            NaN from operands without NaN raises an error.  PyTorch has no such check.  It also records the operations
            that made tensors requiring no gradient, for :func:`numgrad.explain`.
        check_inf: check for infinities as well.  PyTorch does not.

    Raises:
        RuntimeError: within the block, if a bad value is found.

    Example:
        >>> import warnings
        >>> import numgrad
        >>> warnings.simplefilter("ignore")  # enabling it warns about the cost
        >>> x = numgrad.tensor([2.0, 0.0], requires_grad=True)
        >>> with numgrad.autograd.detect_anomaly(check_forward=True, check_inf=True):
        ...     y = x.log()
        Traceback (most recent call last):
        ...
        RuntimeError: Operation 'log' returned infinite values from inputs without any.
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
    """Switch anomaly detection on or off, immediately and until the end of the block if used with ``with``.

    The arguments are those of :class:`detect_anomaly`.
    """

    def __init__(
        self, mode: bool, check_nan: bool = True, *, check_forward: bool = False, check_inf: bool = False
    ):
        super().__init__(mode, check_nan, check_inf, check_forward)
        super().__enter__()

    def __enter__(self) -> None:
        """Do nothing: the constructor has already switched the mode."""


def note_forward(node: Any) -> None:
    """Record with a node its forward call and the node that backward was running, if any; see ``explain_failure``."""
    attached = node.attachments()
    attached.location = calling_location()
    attached.metadata["traceback_"] = forward_trace()
    running = state.current_pass
    if running is not None and running.node is not None:
        attached.metadata["parent_"] = running.node


def explain_failure(node: Any) -> None:
    """Warn with the traceback of the forward call that recorded a node which has just failed.

    If a backward pass recorded the node, further warnings show the node that was running in that pass.
    """
    happened, effect = "Error detected in", "caused the error"
    while node is not None:
        trace = node.metadata.get("traceback_")
        if trace is None:
            warn_user(
                f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
                "forward pass for more information."
            )
        else:
            warn_user(f"{happened} {node.name()}. Traceback of forward call that {effect}:\n{''.join(trace)}")
        node = node.metadata.get("parent_")
        happened, effect = "\n\nPrevious calculation was induced by", "induced the previous calculation"


def check_gradients(node: Any, gradients: Sequence[Any], incoming: Any) -> None:
    """Raise if the gradients returned by a node contain a NaN, or an infinity (see ``detect_anomaly``).

    Raises:
        RuntimeError: names the node, the index of the gradient and the first bad element, with the incoming
            gradients, ``incoming``, and the saved values at that element.
    """
    for number, gradient in enumerate(gradients):
        index = None if gradient is None else _first_bad(gradient)
        if index is not None:
            if isinstance(incoming, list):
                named = {f"the incoming gradient {number}": part for number, part in enumerate(incoming)}
            else:
                named = {"the incoming gradient": incoming}
            saved = {f"the saved '{name}'": value for name, value in node.saved_values().items()}
            happened = f"Function '{node.name()}' returned {{}} values in its {number}th output."
            message = _account(happened, "this gradient", gradient, index, named | saved)
            if _has_bad(named.values()):
                message += "\nThe node is not the culprit: it received such a gradient."
            elif _has_bad(saved.values()):
                message += (
                    "\nThe node is not the culprit: it saved such a value, which the forward pass computed. "
                    "detect_anomaly(check_forward=True) finds the operation."
                )
            raise RuntimeError(message)


def _note_origins(call: Any, parts: Iterable[Any]) -> None:
    """Record the operation with those of its results that require no gradient (see ``numgrad.explain``)."""
    for part in parts:
        if is_tensor(part) and not part.requires_grad:
            needed = any(operand.requires_grad for operand in tensors_in(call.args))
            recorded = "which has no derivative" if state.mode & GRAD else "under no_grad()"
            note_origin(part, _name(call), recorded if needed else "from operands that require no gradient")


# -- NaN and infinities --------------------------------------------------------------------------------------


def _elements(value: Any) -> np.ndarray | None:
    """Return the elements of a tensor (under ``vmap``, of all its examples), an array or a number; otherwise None."""
    if is_tensor(value):
        return value._all_elements()
    if isinstance(value, bool) or not isinstance(value, int | float | complex | np.ndarray | np.generic):
        return None
    return np.asarray(value)


def _first_bad(value: Any) -> Index | None:
    """Return the index of the first NaN, or of the first infinity if checked for; None if there is none."""
    elements = _elements(value)
    if elements is None or elements.dtype.kind not in "fc" or not elements.size:
        return None
    bad = np.zeros(elements.shape, np.bool_)
    if state.check_nan:
        bad |= np.isnan(elements)
    if state.check_inf:
        bad |= np.isinf(elements)
    first = int(bad.argmax())
    return tuple([int(i) for i in np.unravel_index(first, bad.shape)]) if bad.flat[first] else None


def _has_bad(values: Iterable[Any]) -> bool:
    return any(
        _has_bad(value) if isinstance(value, tuple | list) else _first_bad(value) is not None for value in values
    )


# -- messages ------------------------------------------------------------------------------------------------


def _arguments(call: Any) -> dict[str, Any]:
    """Return the arguments of an operation by parameter name."""
    op = getattr(call, "op", None)
    names: Any = getattr(op, "parameters", None) or getattr(op, "inputs", ())
    arguments = {names[n] if n < len(names) else f"argument {n}": value for n, value in enumerate(call.args)}
    return arguments | dict(getattr(call, "attributes", {}))


def _name(call: Any) -> str:
    """Return the public name of an operation."""
    name = call.name.removesuffix("_op")
    return name if call.target is None or name.endswith("_") else f"{name}_"


def _account(happened: str, which: str, value: Any, index: Index, named: dict[str, Any]) -> str:
    """Return a report of the first bad value, with ``happened`` formatted with its kind, and the given values there."""
    elements = _elements(value)
    assert elements is not None
    kind, noun = ("nan", "nan") if np.isnan(elements[index]) else ("infinite", "infinity")
    position = f" at {list(index)}" if index else ""
    first = f"The first {noun} stands{position} in {which}, of shape {list(elements.shape)}."
    lines = [happened.format(kind), first]
    for name, value_or_parts in named.items():
        several = isinstance(value_or_parts, tuple | list)
        parts = {f"{name}[{n}]": part for n, part in enumerate(value_or_parts)} if several else {name: value_or_parts}
        for part_name, part in parts.items():
            elements_of_part = _elements(part)
            if elements_of_part is not None:
                lines.append(f"  {part_name} {_seen(part, elements_of_part, index, elements.shape)}")
    return "\n".join(lines)


def _seen(value: Any, elements: np.ndarray, index: Index, shape: tuple[int, ...]) -> str:
    """Describe a value: its element at that index of a result of this shape, if it has one, or a summary."""
    if not is_tensor(value) and not elements.shape:
        return f"is {value}"
    if broadcasts(elements.shape, shape):
        own_index = index[len(shape) - elements.ndim :]
        there = tuple([0 if extent == 1 else i for extent, i in zip(elements.shape, own_index, strict=True)])
        return f"is {elements[there].item():.6g} there"
    bad = _first_bad(value)
    if bad is not None:
        return f"has the shape {list(elements.shape)} and {elements[bad].item():.6g} at {list(bad)}"
    if not elements.size or elements.dtype.kind == "c":
        return f"has the shape {list(elements.shape)}"
    return f"has the shape {list(elements.shape)} and lies between {elements.min():.6g} and {elements.max():.6g}"
