"""Schedulers composed of others, in parallel or in sequence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, current, set_value
from .plateau import ReduceLROnPlateau
from .repeated import repeated

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    """A scheduler composed of others."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[Any], optimizer: Any) -> None:
        """Raise unless all are schedulers of one optimizer whose steps take no arguments."""
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state, including those of its schedulers."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


class ChainedScheduler(_Composed):
    """Several schedulers, each of which starts from the learning rates that the previous one has set.

    Args:
        schedulers: schedulers of the same optimizer.
        optimizer: the optimizer that they must share, for a check.

    Raises:
        ValueError: there are no schedulers, or one belongs to another optimizer or is a ReduceLROnPlateau.
        TypeError: one of the schedulers has no optimizer.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> first = numgrad.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> second = numgrad.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = numgrad.optim.lr_scheduler.ChainedScheduler([first, second])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        common: Any = getattr(schedulers[0], "optimizer", None) if optimizer is None else optimizer
        self._check(schedulers, common)
        self._schedulers = schedulers
        self.optimizer = common
        self._last_lr = current(self.optimizer, "lr")

    @repeated
    def step(self) -> None:  # type: ignore[override]
        """Advance every scheduler to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = current(self.optimizer, "lr")


class SequentialLR(_Composed):
    """A sequence of schedulers: the first until the first milestone, then the second, and so on.

    Args:
        schedulers: schedulers of the same optimizer.
        milestones: the epochs at which the next scheduler takes over, each from its own epoch 0; one fewer than there
            are schedulers.

    Raises:
        ValueError: the numbers do not fit, or a scheduler belongs to another optimizer or is a ReduceLROnPlateau.
        TypeError: one of the schedulers has no optimizer.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> warmup = numgrad.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1)
        >>> decay = numgrad.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = numgrad.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ):
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                f"be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Every scheduler has made its initial step, but only that of the first one should count.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _undo_initial_step(scheduler)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    @repeated
    def step(self) -> None:  # type: ignore[override]
        """Advance to the next epoch and set its learning rates."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo_initial_step(scheduler: LRScheduler) -> None:
    for inner in getattr(scheduler, "_schedulers", ()):
        _undo_initial_step(inner)
    if not hasattr(scheduler, "_schedulers"):
        scheduler.last_epoch -= 1
