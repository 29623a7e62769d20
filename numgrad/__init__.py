"""Numgrad: PyTorch's define-by-run autograd, with Numba underneath.

Python records the graph; every forward and backward step runs in a kernel that Numba compiled.  The public names are
PyTorch's: ``import numgrad as torch``.
"""

from typing import TYPE_CHECKING, Any

from . import autograd, random
from ._print import set_printoptions
from ._tensor import Tensor
from ._types import Size, device, dtype, float32, float64, get_default_dtype, int64
from ._types import bool_ as bool
from .autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .ops import public_functions
from .ops.promotion import promote_types
from .random import Generator, default_generator, initial_seed, manual_seed, seed

# The operations: each is exported where it is defined (``numgrad.ops``).
globals().update(public_functions)
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

from . import nn  # noqa: E402 - uses the operations

__version__ = "0.1.0"

float = float32
double = float64
long = int64

__all__ = [
    "Generator", "Size", "Tensor", "autograd", "bool", "default_generator", "device", "double", "dtype",
    "enable_grad", "float", "float32", "float64", "get_default_dtype", "initial_seed", "int64", "is_grad_enabled",
    "long", "manual_seed", "nn", "no_grad", "promote_types", "random", "seed", "set_grad_enabled",
    "set_printoptions", *public_functions,
]
