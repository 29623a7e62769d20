"""Optimizers whose step is one kernel over all parameters of a dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..autograd.anomaly_mode import is_anomaly_enabled
from ..autograd.locations import note_change
from ..core.layout import layout_of
from ..core.types import TensorType
from ..devices import recording
from ..ops.creation.factories import full_like, zeros_like
from ..ops.table.ahead import Sample, submit
from ..tensors.tensor import Tensor
from .checks import check_gradient
from .optimizer import Optimizer, evaluated
from .scalars import add_one, loaded_number, new_number, number_in, plain_rate, set_number
from .update import Entry, Update


class FusedOptimizer(Optimizer):
    """The base class of optimizers with a fused update kernel.

    A subclass names the kernel and defines its operands; gradients and parameters of any layout are converted to the
    kernel's form.
    """

    #: The update kernel; see ``numgrad_kernels.updates``.
    _kernel: ClassVar[str]

    #: The names of a parameter's scalar state, each a 0-d tensor on the CPU.
    _scalars: ClassVar[tuple[str, ...]] = ("step",)

    #: The names of its state tensors in the kernel's order, if these do not depend on options.
    _tensors: ClassVar[tuple[str, ...]]

    def __init__(self, params: Any, defaults: dict[str, Any]):
        self._updates: dict[TensorType, Update] = {}
        self._refuse_differentiable(defaults)
        super().__init__(params, defaults)
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        submit(self._example)

    def _example(self) -> tuple[Any, ...]:
        """Return a step of an optimizer like this, with one parameter of each type, for Note [Kernels ahead]."""
        sizes: Counter[Any] = Counter()
        for group in self.param_groups:
            for parameter in group["params"]:
                sizes[parameter._layout.type] += parameter._layout.size
        samples = [Sample(layout_of(type, (size,)), True) for type, size in sizes.items()]
        library_class = next(cls for cls in type(self).__mro__ if cls.__module__.startswith("numgrad."))
        return "step", (library_class, samples, self.defaults)

    def _refuse_differentiable(self, options: dict[str, Any]) -> None:
        if options["differentiable"]:
            raise NotImplementedError(
                f"{type(self).__name__} does not support differentiable=True: its steps are not recorded"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._updates = {}
        for group in self.param_groups:
            for name, default in self.defaults.items():  # an older program may lack some of them
                group.setdefault(name, default)
        for values in self.state.values():
            if isinstance(values, dict):
                values.update({name: loaded_number(values[name]) for name in self._scalars if name in values})

    # -- for subclasses to define -------------------------------------------------------------------------

    def _buffer_names(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        """Return the names of a parameter's state tensors in the kernel's order, None for unused ones."""
        return self._tensors

    def _initial_values(self, group: dict[str, Any]) -> dict[str, float]:
        """Return the initial values of the state that does not begin at 0."""
        return {}

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        """Return the numbers that the kernel takes for a parameter of the group."""
        raise NotImplementedError

    # -- state --------------------------------------------------------------------------------------------

    def _buffers(
        self, group: dict[str, Any], param: Tensor, names: tuple[str | None, ...]
    ) -> tuple[Tensor | None, ...]:
        """Return the state tensors of a parameter, created if missing."""
        state = self.state[param]
        if not state:
            initial = self._initial_values(group)
            state.update({name: new_number(initial.get(name, 0.0)) for name in self._scalars})
        try:
            return tuple([state[name] if name else None for name in names])
        except KeyError:
            for name in names:
                if name is not None and name not in state:
                    state[name] = self._new_buffer(param, self._initial_values(group).get(name))
            return tuple([state[name] if name else None for name in names])

    def _new_buffer(self, param: Tensor, value: float | None) -> Tensor:
        if not value:
            return zeros_like(param)
        return full_like(param, complex(value, value) if param.is_complex() else value)

    def _count(self, group: dict[str, Any], param: Tensor, buffers: tuple[Tensor | None, ...]) -> Any:
        """Count a step of the parameter; return the values that, with its group, determine all its numbers."""
        return add_one(self.state[param]["step"])

    # -- the step -----------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return the loss that ``closure``, if given, computes.

        Raises:
            RuntimeError: a parameter is not floating-point, or its gradient or state has another shape or dtype; no
                parameter is changed.
            NotImplementedError: a group has ``differentiable`` set.
        """
        loss = evaluated(closure)
        entries: dict[TensorType, list[Entry]] = {}
        for group in self.param_groups:
            self._refuse_differentiable(group)
            options = plain_rate(group)
            names = self._buffer_names(options)
            for param in group["params"]:
                if param._grad is not None:
                    entry = param, param._grad, group, self._buffers(options, param, names)
                    entries.setdefault(param._layout.type, []).append(entry)
        updates = [(self._update(type, same_type), same_type) for type, same_type in entries.items()]
        for update, same_type in updates:
            if update.overlapping:  # one after the other, as if each had a step of its own
                for entry in same_type:
                    self._run(Update(self._kernel, [entry]), [entry])
            else:
                self._run(update, same_type)
        return loss

    def _update(self, type: TensorType, entries: Sequence[Entry]) -> Update:
        update = self._updates.get(type)
        if update is None or not update.fits(entries):
            update = Update(self._kernel, entries)
            if update.reusable:
                self._updates[type] = update
        for param, _, _, _ in entries:
            check_gradient(param)
        return update

    def _run(self, update: Update, entries: Sequence[Entry]) -> None:
        recorder = recording.recorder
        numbers = update.table.numbers
        if recorder is not None and recorder.is_repeated(lambda effect: getattr(effect, "numbers", None) is numbers):
            update = Update(self._kernel, entries)  # each step of a program needs its own numbers
        count = _Count(self, update.table.numbers, entries)
        count.advance()
        if recorder is not None:
            recorder.repeat(count)
        update.run([grad for _, grad, _, _ in entries])
        if is_anomaly_enabled():
            for param, _, _, _ in entries:
                note_change(param)
        for param, _, _, buffers in entries:
            param._counter[0] += 1
            for buffer in buffers:
                if buffer is not None:
                    buffer._counter[0] += 1


def makes_state(optimizer: Any) -> bool:
    """Return True if the first step of an optimizer, which makes its state, is still to come."""
    return isinstance(optimizer, FusedOptimizer) and bool(optimizer._scalars) and not optimizer.state


class _Count(recording.Effect):
    """The part of a step outside its kernel: counting parameters' steps and computing numbers from them."""

    def __init__(self, optimizer: FusedOptimizer, numbers: Any, entries: Sequence[Entry]):
        self._optimizer, self.numbers = optimizer, numbers
        self._entries = [(group, param, buffers) for param, _, group, buffers in entries]
        self._before: list[tuple[Tensor, float, int]] = []
        groups = {id(group): group for _, _, group, _ in entries}
        self._options = [(group, {**group}) for group in groups.values()] if recording.recorder is not None else []

    def reads(self) -> list[Tensor]:
        """Return the options that are tensors."""
        return [value for _, options in self._options for value in options.values() if isinstance(value, Tensor)]

    def fills(self) -> list[Any]:
        """Return the numbers that the kernel takes."""
        return [self.numbers]

    def repeats(self, other: recording.Effect) -> bool:
        """Return True if the other is a step of the same optimizer on the same parameters."""
        if not isinstance(other, _Count) or self._optimizer is not other._optimizer:
            return False
        params, other_params = [[id(param) for _, param, _ in count._entries] for count in (self, other)]
        return params == other_params

    def stands(self) -> bool:
        """Return True if the options are unchanged since this was created."""
        return all(group.get(name) is value for group, options in self._options for name, value in options.items())

    def precede(self, later: recording.Effect) -> None:
        """Accept changes of options that each run repeats."""
        for changed, name, before, value in later.changes():
            for group, options in self._options:
                if group is changed and options.get(name) is before:
                    options[name] = value

    def advance(self) -> None:
        """Count a step, and compute the numbers for the kernel."""
        optimizer, lines = self._optimizer, self.numbers
        if len(optimizer._scalars) > 1:  # some of these cannot be reversed
            self._before = [(scalar, number_in(scalar), scalar._counter[0]) for scalar in self._scalars()]
        first, options, plain = 0, None, {}
        before: tuple[Any, Any] = (None, None)
        for index, (group, param, buffers) in enumerate(self._entries):
            if group is not options:
                options, plain = group, plain_rate(group)
            now = plain, optimizer._count(plain, param, buffers)
            if now[0] is not before[0] or now[1] != before[1]:
                if index:
                    lines[first:index] = optimizer._numbers(*before)
                first, before = index, now
        lines[first:] = optimizer._numbers(*before)

    def undo(self) -> None:
        """Reverse the count of the step."""
        for scalar, value, version in self._before:
            set_number(scalar, value)
            scalar._counter[0] = version
        if len(self._optimizer._scalars) == 1:
            for step in self._scalars():
                set_number(step, number_in(step) - 1)
                step._counter[0] -= 2  # as if there had been no step

    def _scalars(self) -> list[Tensor]:
        states = [self._optimizer.state.get(param, {}) for _, param, _ in self._entries]
        return [state[name] for state in states for name in self._optimizer._scalars if name in state]

    def counters(self) -> list[list[int]]:
        """Return the version counters of the parameters' scalar state, which counting a step increments."""
        return [scalar._counter for scalar in self._scalars()]
