"""Products with Jacobians and Hessians of functions of tensors, and the Jacobians and Hessians themselves.

The functions call ``func(*inputs)`` once and differentiate the operations that it recorded.  Inputs are a tensor or a
tuple of tensors, and results correspond to them; ``func`` returns a tensor or a tuple of tensors, of any shapes.
"""

from .jacobian import construct_standard_basis_for as _construct_standard_basis_for  # noqa: F401 - PyTorch has it
from .jacobian import hessian, jacobian
from .private_names import as_tuple as _as_tuple  # noqa: F401
from .private_names import grad_postprocess as _grad_postprocess  # noqa: F401
from .private_names import grad_preprocess as _grad_preprocess  # noqa: F401
from .private_names import tuple_postprocess as _tuple_postprocess  # noqa: F401
from .products import hvp, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
