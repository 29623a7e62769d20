"""Schedules of learning rates: call ``scheduler.step()`` after the optimizer's steps of an epoch, or after each."""

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from .base import LRScheduler
from .chained import ConstantLR, CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, MultiStepLR, StepLR
from .one_cycle import OneCycleLR
from .plateau import ReduceLROnPlateau
from .sequential import SequentialLR

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "OneCycleLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "optim.lr_scheduler")
