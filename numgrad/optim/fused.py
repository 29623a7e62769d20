"""Optimizers whose step is one kernel over all parameters of a dtype."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..autograd.anomaly_mode import is_anomaly_enabled
from ..autograd.checks import check_updatable
from ..autograd.grad_mode import is_inference_mode_enabled, no_grad
from ..autograd.locations import note_change
from ..core.formats import kept_layout
from ..core.layout import contiguous_strides, layout_of
from ..core.tensor import Tensor, check_in_place, strided
from ..core.types import CPU, TensorType, float32, float64, get_default_dtype
from ..devices import recording
from ..ops.creation.factories import zeros_like
from ..ops.creation.from_data import tensor
from ..ops.memory.copying import write
from ..ops.table.ahead import Sample, tell
from .checks import check_gradient, mismatch
from .optimizer import Optimizer, evaluated

#: The operands of one parameter in a step: parameter, gradient, group and state tensors (None for unused ones).
Entry = tuple[Tensor, Tensor, dict[str, Any], tuple[Tensor | None, ...]]

#: The order in which the kernel visits the elements of a parameter; None for row-major.
Strides = tuple[int, ...] | None


class FusedOptimizer(Optimizer):
    """The base class of optimizers with a fused update kernel.

    A subclass names the kernel and defines its operands; gradients and parameters of any layout are converted to the
    kernel's form.
    """

    #: The update kernel; see ``numgrad_kernels.updates``.
    _kernel: ClassVar[str]

    #: The names of a parameter's scalar state, each a 0-d tensor on the CPU.
    _scalars: ClassVar[tuple[str, ...]] = ("step",)

    #: The names of a parameter's state tensors, in the kernel's order, if these are fixed.
    _buffers: ClassVar[tuple[str, ...]]

    def __init__(self, params: Any, defaults: dict[str, Any]):
        self._plans: dict[TensorType, _Plan] = {}
        self._refuse_differentiable(defaults)
        super().__init__(params, defaults)
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        tell(self._example)

    def _example(self) -> tuple[Any, ...]:
        """Return a step of an optimizer like this, with one parameter of each type, for Note [Kernels ahead]."""
        sizes: Counter[Any] = Counter()
        for group in self.param_groups:
            for parameter in group["params"]:
                sizes[parameter._layout.type] += parameter._layout.size
        samples = [Sample(layout_of(type, (size,)), True) for type, size in sizes.items()]
        own = next(cls for cls in type(self).__mro__ if cls.__module__.startswith("numgrad."))  # not a user's
        return "step", (own, samples, self.defaults)

    def _refuse_differentiable(self, options: dict[str, Any]) -> None:
        if options["differentiable"]:
            raise NotImplementedError(
                f"{type(self).__name__} does not support differentiable=True: its steps are not recorded"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        for group in self.param_groups:
            for name, default in self.defaults.items():  # an older program may lack some of them
                group.setdefault(name, default)
        for kept in self.state.values():
            if isinstance(kept, dict):
                for name in self._scalars:
                    if name in kept:
                        kept[name] = _kept_here(kept[name])

    # -- for subclasses to define -------------------------------------------------------------------------

    def _kept(self, group: dict[str, Any], param: Tensor) -> tuple[Tensor | None, ...]:
        """Return the state tensors of a parameter in the kernel's order, created if missing."""
        state = self.state[param]
        if not state:
            state["step"] = new_number()
        return tuple([buffer(state, name, param) for name in self._buffers])

    def _advanced(self, group: dict[str, Any], param: Tensor, kept: tuple[Tensor | None, ...]) -> Any:
        """Count a step of the parameter; return the values that, with its group, determine all its numbers."""
        step = self.state[param]["step"]
        return set_number(step, number_in(step) + 1)

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[float, ...]:
        """Return the numbers that the kernel takes for a parameter of the group."""
        raise NotImplementedError

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
            options = _plain(group)
            for param in group["params"]:
                if param._grad is not None:
                    entry = param, param._grad, group, self._kept(options, param)
                    entries.setdefault(param._layout.type, []).append(entry)
        work = [(self._plan(type, same), same) for type, same in entries.items()]
        for plan, same in work:
            if plan.overlapping:  # one after the other, as if each had a step of its own
                for entry in same:
                    self._update(_Plan(self._kernel, [entry]), [entry])
            else:
                self._update(plan, same)
        return loss

    def _plan(self, type: TensorType, entries: Sequence[Entry]) -> _Plan:
        rows = [None if one is None else one._flat for param, _, _, kept in entries for one in (param, *kept)]
        plan = self._plans.get(type)
        if plan is None or not plan.fits(rows):
            plan = _Plan(self._kernel, entries)
            if plan.reusable:
                self._plans[type] = plan
        for param, _, _, _ in entries:
            check_gradient(param)
        return plan

    def _update(self, plan: _Plan, entries: Sequence[Entry]) -> None:
        recorder = recording.recorder
        numbers = plan.table.numbers
        if recorder is not None and recorder.is_repeated(lambda one: getattr(one, "numbers", None) is numbers):
            plan = _Plan(self._kernel, entries)  # each step of a program needs its own numbers
        count = _Count(self, plan.table.numbers, entries)
        count.advance()
        if recorder is not None:
            recorder.repeat(count)
        plan.run([grad for _, grad, _, _ in entries])
        for param, _, _, kept in entries:
            if is_anomaly_enabled():
                note_change(param)
            param._counter[0] += 1
            for one in kept:
                if one is not None:
                    one._counter[0] += 1


class _Count(recording.Effect):
    """The part of a step outside its kernel: counting parameters' steps and computing numbers from them."""

    def __init__(self, optimizer: FusedOptimizer, numbers: Any, entries: Sequence[Entry]):
        self._optimizer, self.numbers = optimizer, numbers
        self._entries = [(group, param, kept) for param, _, group, kept in entries]
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
        both = zip(self._entries, other._entries, strict=False)
        return len(self._entries) == len(other._entries) and all(one[1] is another[1] for one, another in both)

    def stands(self) -> bool:
        """Return True if the options are unchanged since this was created."""
        return all(group.get(name) is value for group, options in self._options for name, value in options.items())

    def advance(self) -> None:
        """Count a step, and compute the numbers for the kernel."""
        optimizer, lines = self._optimizer, self.numbers
        if len(optimizer._scalars) > 1:  # some of these cannot be reversed
            self._before = [(one, number_in(one), one._counter[0]) for one in self._kept_numbers()]
        first, options, plain = 0, None, {}
        before: tuple[Any, Any] = (None, None)
        for index, (group, param, kept) in enumerate(self._entries):
            if group is not options:
                options, plain = group, _plain(group)
            now = plain, optimizer._advanced(plain, param, kept)
            if now[0] is not before[0] or now[1] != before[1]:
                if index:
                    lines[first:index] = optimizer._numbers(*before)
                first, before = index, now
        lines[first:] = optimizer._numbers(*before)

    def undo(self) -> None:
        """Reverse the count of the step."""
        for one, value, version in self._before:
            set_number(one, value)
            one._counter[0] = version
        if len(self._optimizer._scalars) == 1:
            for step in self._kept_numbers():
                set_number(step, number_in(step) - 1)
                step._counter[0] -= 2  # as if there had been no step

    def _kept_numbers(self) -> list[Tensor]:
        states = [self._optimizer.state.get(param, {}) for _, param, _ in self._entries]
        return [state[name] for state in states for name in self._optimizer._scalars if name in state]

    def counters(self) -> list[list[int]]:
        """Return the version counters of the parameters' scalar state, which counting a step increments."""
        return [one._counter for one in self._kept_numbers()]


class _Plan:
    """The locations of the kernel's operands for some parameters, valid as long as these do not move."""

    def __init__(self, kernel: str, entries: Sequence[Entry]):
        params = [entry[0] for entry in entries]
        dtype = params[0]._layout.type.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(
                f"only Tensors of floating point or complex dtype can be optimized, not {dtype} "
                f"(shape {list(params[0].shape)})"
            )
        operands = [(param, *kept) for param, _, _, kept in entries]
        self.overlapping = len(params) > 1 and _overlap(params)
        self.strides = [_dense_strides(param) for param in params]
        self.rows: list[Any] = []  # the tensors' own rows, compared to detect moves
        self.staged: list[tuple[Tensor, Tensor]] = []  # tensors of another layout, and their substitutes
        columns: list[list[Any]] = [[] for _ in operands[0]]
        for param, tensors, strides in zip(params, operands, self.strides, strict=True):
            for column, one in zip(columns, tensors, strict=True):
                column.append(None if one is None else self._row(one, param, strides))
                self.rows.append(None if one is None else one._flat)
        #: True if ``fits`` is decisive: a tensor that is not contiguous has no row of its own, and one made in
        #: inference mode may be updated only there.
        self.reusable = not is_inference_mode_enabled() and all(
            one is None or one._flat is not None for tensors in operands for one in tensors
        )
        type = params[0]._layout.type
        self.table = type.backend.update_table(kernel, type, [param._layout.size for param in params])
        for number, column in enumerate(columns):
            self.table.set_operand(number + (number > 0), column)
        self.columns = columns  # keeps the rows alive

    def _row(self, one: Tensor, param: Tensor, strides: Strides) -> Any:
        if one._layout.shape != param._layout.shape or one._layout.type is not param._layout.type:
            advice = "; load_state_dict(state_dict()) converts it" if one._layout.shape == param._layout.shape else ""
            raise mismatch("state", one, param, advice)
        check_updatable(one)
        row = _row_of(one, strides)
        if row is None:
            with no_grad():
                check_in_place(one)
            copy = _laid_out(one, strides)
            self.staged.append((one, copy))
            row = copy._storage
        return row

    def fits(self, rows: list[Any]) -> bool:
        """Return True if operands in these rows have not moved."""
        return len(rows) == len(self.rows) and all(map(operator.is_, rows, self.rows))

    def run(self, grads: Sequence[Tensor]) -> None:
        """Update the parameters by their gradients, with the numbers in the table."""
        rows = []
        for grad, strides in zip(grads, self.strides, strict=True):
            row = _row_of(grad, strides)
            rows.append(_laid_out(grad, strides)._storage if row is None else row)
        self.table.set_operand(1, rows)
        self.table.run()
        for one, copy in self.staged:
            write(one, copy)


def _kept_here(value: Any) -> Tensor:
    """Return a number in a loaded state as a tensor on the CPU."""
    return value.cpu() if isinstance(value, Tensor) else new_number(float(value))


def new_number(value: float = 0.0) -> Tensor:
    """Return a number in the form of an optimizer's state, such as that of the steps: a 0-d tensor on the CPU.

    The dtype is float32 unless the default dtype is float64.
    """
    dtype = float64 if get_default_dtype() is float64 else float32
    return tensor(float(value), dtype=dtype, device="cpu")


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    """Return the group with a learning rate that is a tensor on the CPU replaced by its value.

    Recorded programs do not depend on the value: each replay reads it again.
    """
    rate = group["lr"]
    if isinstance(rate, Tensor) and rate._layout.type.device is CPU and rate._layout.size == 1:
        return {**group, "lr": number_in(rate)}
    return group


def number_in(one: Tensor) -> float:
    """Return the number in such a tensor."""
    return one._storage.item(one._offset)


def set_number(one: Tensor, value: float) -> float:
    """Store a number in such a tensor; return it rounded to the tensor's dtype."""
    one._storage[one._offset] = value
    one._counter[0] += 1
    return number_in(one)


def buffer(state: dict[str, Any], name: str, param: Tensor) -> Tensor:
    """Return a state tensor by name, created as zeros in the parameter's layout if missing."""
    if name not in state:
        state[name] = zeros_like(param)
    return state[name]


def _dense_strides(param: Tensor) -> Strides:
    """Return the order of a parameter's elements in memory, disregarding gaps."""
    strides = None if param._flat is not None else kept_layout(param._layout).strides
    return None if strides == contiguous_strides(param._layout.shape) else strides


def _row_of(one: Tensor, strides: Strides) -> Any:
    """Return the tensor's own memory as one row if its elements are in this order without gaps, else None."""
    if strides is None:
        return one._flat
    if one._layout.strides != strides:
        return None
    return one._storage[one._offset : one._offset + one._layout.size]


def _laid_out(one: Tensor, strides: Strides) -> Tensor:
    """Return a copy with its elements in this order."""
    layout = one._layout
    strides = contiguous_strides(layout.shape) if strides is None else strides
    copy = strided(layout.type.backend.empty(layout.shape, layout.type), layout.shape, strides, 0, layout.type)
    write(copy, one)
    return copy


def _overlap(params: Sequence[Tensor]) -> bool:
    """Return True if the memory ranges of two of the tensors overlap."""
    bounds = sorted([_bounds(param) for param in params if param._layout.size])
    return any(stop > start for (_, stop), (start, _) in itertools.pairwise(bounds))


def _bounds(param: Tensor) -> tuple[int, int]:
    """Return the start and end addresses of the memory range of the tensor's elements."""
    steps = [(extent - 1) * stride for extent, stride in zip(param._layout.shape, param._layout.strides, strict=True)]
    first = param._offset + sum(step for step in steps if step < 0)
    last = param._offset + sum(step for step in steps if step > 0)
    type = param._layout.type
    start, size = type.backend.address_of(param._storage), type.dtype.itemsize
    return start + first * size, start + (last + 1) * size
