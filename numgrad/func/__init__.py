"""Function transforms under the names of PyTorch's ``torch.func``: each takes a function and returns another.

Transforms compose: ``grad(grad(f))`` is the second derivative, ``jvp(grad(f), ...)`` a product with the Hessian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.missing import found_later as _found_later
from .derivatives import grad, grad_and_value, jvp, linearize, vjp
from .functional_call import functional_call, stack_module_state
from .jacobians import hessian, jacfwd, jacrev
from .vmap import vmap

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "func")
