"""Optimizers: they change parameters by their gradients; one kernel updates all parameters of a dtype."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "optim")
