"""Products with Jacobians and Hessians of functions of tensors, and the Jacobians and Hessians themselves.

The functions here call ``func(*inputs)`` once and differentiate what it recorded.  They take a tensor or a tuple of
tensors and give back the same; ``func`` returns a tensor or a tuple of tensors, of any shapes.
"""

from .jacobian import hessian, jacobian
from .products import hvp, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
