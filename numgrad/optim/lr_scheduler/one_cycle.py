"""The one-cycle policy: a rise to a large learning rate, then a fall to a very small one."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import MomentumScheduler, check_optimizer, for_each_group

__all__ = ["OneCycleLR"]


class OneCycleLR(MomentumScheduler):
    """One cycle over the whole training; call ``step`` after every batch (Smith and Topin, 2019).

    The learning rate goes from ``max_lr / div_factor`` to ``max_lr`` and then to the initial rate divided by
    ``final_div_factor``.  The momentum (or Adam's beta1) moves in the opposite direction, from ``max_momentum`` to
    ``base_momentum`` and back.

    Args:
        max_lr: the largest learning rate, or one for each parameter group.
        total_steps: the number of steps of the cycle; ``epochs`` and ``steps_per_epoch`` are an alternative.
        pct_start: the fraction of the cycle in which the learning rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: True to change the momentum, too.
        three_phase: True to fall to the initial learning rate as slowly as it rose, and only then to the last one.

    Raises:
        ValueError: an argument is out of range, the optimizer has no momentum to cycle, or the number of steps exceeds
            the cycle.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.lr_scheduler.OneCycleLR(
        ...     optimizer, max_lr=1.0, total_steps=5, cycle_momentum=False
        ... )
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 3) for rate in rates]
        [0.04, 0.95, 0.611, 0.188]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        rates = for_each_group("max_lr", optimizer, max_lr)
        if cycle_momentum:
            self._begin_momenta(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        """Return the value at a fraction of the way from ``start`` to ``end``."""
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        number = self.last_epoch
        if number > self.total_steps:
            raise ValueError(
                f"Tried to step {number} times. The specified number of total steps is {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if number <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (number - start) / (phase["end_step"] - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                value = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._set_momentum(group, value)
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """Return the number of steps of the cycle."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    counts = {"total_steps": total_steps}
    if total_steps is None:
        counts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    product = 1
    for name, value in counts.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        product *= value
    return product


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """Return the phases of the cycle: the step at which each ends, and its initial and final options."""
    ends: list[float] = [pct_start * total_steps - 1]
    rates, momenta = ["initial_lr", "max_lr"], ["max_momentum", "base_momentum", "max_momentum"]
    if three_phase:
        ends.append(2 * pct_start * total_steps - 2)
        rates.append("initial_lr")
        momenta.append("max_momentum")
    ends.append(total_steps - 1)
    rates.append("min_lr")
    return [
        {
            "end_step": end,
            "start_lr": rates[number],
            "end_lr": rates[number + 1],
            "start_momentum": momenta[number],
            "end_momentum": momenta[number + 1],
        }
        for number, end in enumerate(ends)
    ]
