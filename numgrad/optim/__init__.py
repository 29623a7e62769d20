"""Optimizers: they change parameters by their gradients; one kernel updates all parameters of a dtype."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import lr_scheduler
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD

__all__ = [
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "optim")
