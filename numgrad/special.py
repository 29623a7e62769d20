"""Special functions, under the names of PyTorch's ``torch.special``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later
from .ops import public_functions as _public_functions
from .ops.pointwise.gamma import digamma, polygamma
from .ops.pointwise.gamma import digamma as psi
from .ops.pointwise.gamma import lgamma as gammaln
from .ops.pointwise.gamma import mvlgamma as multigammaln
from .ops.pointwise.incomplete_gamma import igamma as gammainc
from .ops.pointwise.incomplete_gamma import igammac as gammaincc
from .ops.pointwise.special import entr, erfc, erfinv, ndtri, xlog1py
from .ops.table.arguments import checked as _checked
from .tensors.tensor import Tensor

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "log1p", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "sinc", "softmax", "xlog1py", "xlogy",
]

globals().update({name: _public_functions[name] for name in __all__ if name in _public_functions})
expit = _public_functions["sigmoid"]


@_checked
def ndtr(input: Tensor) -> Tensor:
    """Return the standard normal distribution function of each element: the probability of a smaller number."""
    return erfc(input * -math.sqrt(0.5)) * 0.5


if TYPE_CHECKING:
    from .ops.signatures import erf, exp2, expm1, log1p, log_softmax, logit, logsumexp, round, sinc, softmax, xlogy
else:
    __getattr__, __dir__ = _found_later(globals(), "special")
