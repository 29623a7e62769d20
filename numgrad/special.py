"""Special functions, under the names of PyTorch's ``torch.special``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later
from .ops import public_functions as _public_functions
from .ops.pointwise.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from .ops.pointwise.bessel import i0 as modified_bessel_i0
from .ops.pointwise.bessel import i1 as modified_bessel_i1
from .ops.pointwise.gamma import digamma, polygamma, zeta
from .ops.pointwise.gamma import digamma as psi
from .ops.pointwise.gamma import lgamma as gammaln
from .ops.pointwise.gamma import mvlgamma as multigammaln
from .ops.pointwise.incomplete_gamma import igamma as gammainc
from .ops.pointwise.incomplete_gamma import igammac as gammaincc
from .ops.pointwise.orthogonal_polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from .ops.pointwise.special import entr, erfc, erfcx, erfinv, log_ndtr, ndtri, xlog1py
from .ops.table.arguments import checked as _checked
from .tensors.tensor import Tensor

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc",
    "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h",
    "hermite_polynomial_he", "i0", "i0e", "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p",
    "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc",
    "softmax", "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
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
