"""Building blocks of neural networks."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403 - every module by its name
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
    "parameter", "utils",
    *modules.__all__,
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "nn")
