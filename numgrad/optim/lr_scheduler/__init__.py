"""Learning rate schedules: call ``scheduler.step()`` after the optimizer's steps of an epoch, or after each step."""

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from .base import LRScheduler
from .chained import ConstantLR, ExponentialLR, LinearLR, MultiStepLR, PolynomialLR, StepLR
from .composed import ChainedScheduler, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cyclic import CyclicLR
from .functions import LambdaLR, MultiplicativeLR
from .one_cycle import OneCycleLR
from .plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]

_LRScheduler = LRScheduler  # the older name

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "optim.lr_scheduler")
