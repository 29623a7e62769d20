"""The base classes of schedulers, and their helpers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from ...tensors.tensor import Tensor
from ..optimizer import Optimizer
from .repeated import repeated

__all__ = ["LRScheduler", "MomentumScheduler", "check_optimizer", "current", "for_each_group", "set_value"]

_HOW_TO = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"

_OVERRIDDEN_WARNING = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. See more details at {_HOW_TO}"
)

_ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. See more details at {_HOW_TO}"
)

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)


class LRScheduler:
    """The base class of schedulers: each step sets the learning rate of every parameter group.

    A subclass defines ``get_lr``, which computes the rates from the groups' present ones (the chained form, which
    allows several schedulers on one optimizer).  It may define ``_get_closed_form_lr``, which computes them from
    ``base_lrs`` and ``last_epoch`` alone.

    Args:
        optimizer: the optimizer with the parameter groups to schedule.
        last_epoch: the last completed epoch when training is resumed; -1 to begin.

    Raises:
        TypeError: ``optimizer`` is not an optimizer.
        KeyError: training is resumed, but a group has no ``initial_lr``.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, current(optimizer, "lr"), strict=True):
                group.setdefault("initial_lr", rate)
        else:
            for number, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                        "with last_epoch >= 0: load the optimizer's state first, or leave last_epoch out to begin"
                    )
        self.base_lrs = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return the learning rates of the groups for ``last_epoch``, from the present ones."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that the last step set, one for each parameter group."""
        return self._last_lr

    @repeated
    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch (or, deprecated, to ``epoch``) and set its learning rates."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_noted_by_scheduler"):
                warnings.warn(_OVERRIDDEN_WARNING, UserWarning, stacklevel=3)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_ORDER_WARNING, UserWarning, stacklevel=3)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=3)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        self._set_rates(self.get_lr if epoch is None or closed is None else closed)

    def _set_rates(self, rule: Callable[[], list[Any]]) -> None:
        """Set the groups' learning rates to the result of ``get_lr`` or its substitute."""
        self._get_lr_called_within_step = True
        try:
            rates = rule()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = current(self.optimizer, "lr")

    def _warn_unless_in_step(self) -> None:
        """Warn if ``get_lr`` is called from outside, where it would compute the rates after the next step."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state without its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from :meth:`state_dict`; the optimizer's own state must be loaded separately."""
        self.__dict__.update(state_dict)


class MomentumScheduler(LRScheduler):
    """The base class of schedulers that may also change the momentum, or the beta1 of optimizers like Adam."""

    use_beta1: bool

    def _begin_momenta(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Return the smallest and the largest momentum of each group, and start at the largest unless training is
        resumed.

        Raises:
            ValueError: the optimizer has no momentum, or the number of values differs from that of the groups.
        """
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        smallest = for_each_group("base_momentum", optimizer, base_momentum)
        largest = for_each_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, smallest, largest, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return smallest, largest

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError unless ``optimizer`` is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def current(optimizer: Optimizer, key: str) -> list[Any]:
    """Return the groups' values of an option; a tensor is copied, because it will be overwritten."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor is overwritten in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each parameter group, from a single value or one per group.

    Raises:
        ValueError: the number of values differs from that of the groups.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, Sequence):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return [_copied(item) for item in value]


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _note_steps(optimizer: Optimizer) -> None:
    """Make the optimizer record calls of its ``step``, so that a wrong order of calls is detected."""
    if hasattr(optimizer.step, "_noted_by_scheduler"):
        return
    function = optimizer.step.__func__  # type: ignore[attr-defined]
    weak = ref(optimizer)  # the optimizer holds the wrapper

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = weak()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    step._noted_by_scheduler = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
