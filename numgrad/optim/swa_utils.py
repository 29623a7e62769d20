"""Averages of a model's parameters during training, and learning rates for collecting them.

Stochastic weight averaging (Izmailov et al., 2018) takes the mean of the parameters after several epochs.  An
exponential moving average discounts the older ones.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.types import int64
from ..devices import recording
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..ops.creation.from_data import tensor
from ..tensors.tensor import Tensor
from .lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """Return ``decay * average + (1 - decay) * parameter`` as an ``avg_fn`` of :class:`AveragedModel`.

    Raises:
        ValueError: ``decay`` is not in [0, 1].
    """
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """Return the mean of all parameters so far as an ``avg_fn`` of :class:`AveragedModel`."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]:
    """Return the in-place form of :func:`get_ema_avg_fn` for several parameters at once, as a ``multi_avg_fn``.

    Raises:
        ValueError: ``decay`` is not in [0, 1].
    """
    return _in_place(get_ema_avg_fn(decay), lambda num_averaged: 1 - decay)


def get_swa_multi_avg_fn() -> Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]:
    """Return the in-place form of :func:`get_swa_avg_fn` for several parameters at once, as a ``multi_avg_fn``."""
    return _in_place(get_swa_avg_fn(), lambda num_averaged: 1 / (num_averaged + 1))


def _in_place(
    average: Callable[[Tensor, Tensor, Any], Tensor], weight: Callable[[Any], Tensor | float]
) -> Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]:
    """Return the in-place form of an ``avg_fn`` in which the parameters have a weight that depends on their number."""

    @no_grad()
    def update(averages: Sequence[Tensor], params: Sequence[Tensor], num_averaged: Any) -> None:
        of_params = weight(num_averaged)
        for mean, param in zip(averages, params, strict=True):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(param, of_params.to(mean.dtype) if isinstance(of_params, Tensor) else of_params)
            else:
                mean.copy_(average(mean, param, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, maintained by :meth:`update_parameters`.

    The first update copies the parameters.  Without ``use_buffers``, every update copies the buffers, too.

    Args:
        model: the model in training.
        device: the device of the averages.
        avg_fn: a function that returns the new average from the average, the parameter and the number of updates; by
            default the mean.
        multi_avg_fn: an in-place variant, for lists of averages and parameters of the same device and dtype.
        use_buffers: True to average the buffers, too.

    Raises:
        AssertionError: both ``avg_fn`` and ``multi_avg_fn`` are given.

    Example:
        >>> import numgrad
        >>> model = numgrad.nn.Linear(1, 1, bias=False)
        >>> average = numgrad.optim.swa_utils.AveragedModel(model)
        >>> for value in [1.0, 3.0]:
        ...     _ = numgrad.nn.init.constant_(model.weight, value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Sequence[Tensor], Sequence[Tensor], Any], None] | None = None,
        use_buffers: bool = False,
    ):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages with the parameters of the model."""
        pairs = [
            (mean.detach(), current.detach().to(mean.device))
            for mean, current in zip(self._averaged(self.module), self._averaged(model), strict=False)
        ]
        if recording.condition(lambda: self.n_averaged.item() == 0, self.n_averaged._storage, "n_averaged.item()"):
            for mean, current in pairs:
                mean.copy_(current)
        elif self.multi_avg_fn is not None:
            groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
            for pair in pairs:
                groups.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
            for (device, _), group in groups.items():
                means, currents = zip(*group, strict=True)
                self.multi_avg_fn(list(means), list(currents), self.n_averaged.to(device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mean, current in pairs:
                mean.copy_(average(mean, current, self.n_averaged.to(mean.device)))
        if not self.use_buffers:
            for buffer, current in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(current.detach().to(buffer.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterator[Tensor]:
        """Return an iterator over the averaged tensors of a model."""
        return itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch normalizations, as means over the batches of a loader.

    Args:
        loader: an iterable of inputs of the model, or of tuples or lists that begin with one.
        model: the model, which runs in training mode for this and then returns to its previous mode.
        device: the device for the inputs.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
    try:
        for batch in loader:
            inputs = batch[0] if isinstance(batch, list | tuple) else batch
            model(inputs if device is None else inputs.to(device))
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """A schedule from the present learning rate to ``swa_lr`` in ``anneal_epochs`` epochs, constant afterwards.

    Args:
        swa_lr: the final learning rate, or one for each parameter group.
        anneal_epochs: the number of epochs until then.
        anneal_strategy: "cos" or "linear".

    Raises:
        ValueError: the number of rates differs from that of the groups, the strategy is unknown, or ``anneal_epochs``
            is not an integer of at least 0.

    Example:
        >>> import numgrad
        >>> optimizer = numgrad.optim.SGD([numgrad.zeros(1)], lr=1.0)
        >>> scheduler = numgrad.optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 2) for rate in rates]
        [1.0, 0.55, 0.1, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ):
        check_optimizer(optimizer)
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """Return the weight of the final learning rate after ``step`` steps."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else part

    def get_lr(self) -> list[Any]:
        self._warn_unless_in_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
