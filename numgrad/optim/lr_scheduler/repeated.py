"""Steps of schedulers as parts of compiled programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast

from ...devices import recording
from ...tensors.tensor import Tensor

Step = TypeVar("Step", bound=Callable[..., None])

#: Attributes of schedulers with the user's functions, and with other objects that steps call.
FUNCTIONS = ("lr_lambdas", "_scale_fn_custom")
PARTS = (*FUNCTIONS, "_schedulers")

_LIBRARY = __name__.rpartition(".")[0] + "."


def repeated(step: Step) -> Step:
    """Decorate the ``step`` of a class of schedulers, which runs in Python before each replay of a program.

    Within a program, other code must not read what it changes; see ``holders``.
    """

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **keywords: Any) -> None:
        recorder = recording.recorder
        if recorder is None or args or keywords or not _is_known(self):
            step(self, *args, **keywords)
            return
        effect = ScheduleStep(self, step)
        recorder.unrecorded(effect.step)
        if not effect.switches_momentum():  # otherwise the recorded steps do not apply, and the program ends
            recorder.repeat(effect)

    return cast(Step, wrapper)


def with_inner(scheduler: Any) -> list[Any]:
    """Return a scheduler and those that it is composed of."""
    inner = getattr(scheduler, "_schedulers", ())
    return [scheduler, *[nested for part in inner for nested in with_inner(part)]]


def _is_known(scheduler: Any) -> bool:
    """Return True if a step runs only code of this package and functions in the attributes ``FUNCTIONS``.

    Learning rates that are tensors are memory, which programs read themselves.
    """
    is_known = all(
        type(nested).__module__.startswith(_LIBRARY)
        and not any(isinstance(value, FunctionType | MethodType) and name not in FUNCTIONS for name, value in
                    vars(nested).items())
        for nested in with_inner(scheduler)
    )
    return is_known and not any(
        isinstance(value, Tensor) for group in scheduler.optimizer.param_groups for value in group.values()
    )


class ScheduleStep(recording.Effect):
    """A step of a scheduler."""

    may_fail = True

    def __init__(self, scheduler: Any, step: Callable[..., None]):
        self._scheduler, self._step = scheduler, step
        self._before: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def step(self) -> None:
        """Make the step."""
        self._before = [(held, {**held}) for held in self.holders()]
        self._step(self._scheduler)

    def switches_momentum(self) -> bool:
        """Return True if the momentum is 0 either before or after the step: the optimizer's steps then differ."""
        return any(bool(held.get("momentum")) != bool(before.get("momentum")) for held, before in self._before)

    def advance(self) -> None:
        """Make the step, or leave everything as it was.

        Raises:
            ValueError: the schedule has ended, or it switches momentum on or off.
        """
        try:
            self.step()
            if self.switches_momentum():
                raise ValueError("the schedule switches momentum on or off")
        except Exception:
            self.undo()
            raise

    def undo(self) -> None:
        for held, before in self._before:
            held.clear()
            held.update(before)

    def changes(self) -> list[tuple[dict[str, Any], str, Any, Any]]:
        """Return the values that the latest step has changed: a dictionary, a key, and the values before and after."""
        return [
            (held, key, before.get(key), value) for held, before in self._before for key, value in held.items()
            if value is not before.get(key)
        ]

    def repeats(self, other: recording.Effect) -> bool:
        """Return True if the other is a step of the same scheduler."""
        return isinstance(other, ScheduleStep) and self._scheduler is other._scheduler

    def holders(self) -> list[dict[str, Any]]:
        """Return the dictionaries in which a step changes values."""
        return [*map(vars, with_inner(self._scheduler)), *self._scheduler.optimizer.param_groups]

    def functions(self) -> Sequence[Any]:
        """Return the user's functions that a step calls."""
        values = [vars(scheduler).get(name) for scheduler in with_inner(self._scheduler) for name in FUNCTIONS]
        lists = [value if isinstance(value, list) else [value] for value in values if value is not None]
        return [function for functions in lists for function in functions]
