"""Building blocks of neural networks."""

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from . import functional, init, modules, parallel, parameter, utils
from .modules import *  # noqa: F403 - every module by its name
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init",
    "modules", "parallel", "parameter", "utils",
    *modules.__all__,
]

if TYPE_CHECKING:
    from . import attention as attention
    from . import common_types as common_types
else:
    __getattr__, __dir__ = _found_later(globals(), "nn", {"attention": "attention", "common_types": "common_types"})
