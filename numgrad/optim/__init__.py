"""Optimizers, which update parameters by their gradients; in most, one kernel updates all parameters of a dtype."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import lr_scheduler
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .swapping import swap_in_optimizer_params_and_state

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]

if TYPE_CHECKING:
    from . import swa_utils
else:
    __getattr__, __dir__ = _found_later(globals(), "optim", {"swa_utils": "swa_utils"})
