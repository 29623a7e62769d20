"""Special functions of single numbers: a part of ``scalar``, which exports them."""

import math
from typing import Any

import numpy as np

from . import (
    bessel,
    error_functions,
    gamma,
    incomplete_beta,
    incomplete_gamma,
    libm,
    modified_bessel,
    orthogonal,
    polynomials32,
)
from .declarations import compiled_as

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "beta_slope", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "erf", "erfc", "erfcx",
    "erfcx_slope", "erfinv", "gamma_slope", "gammainc", "gammaincc", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "lgamma", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "ndtri", "scaled_modified_bessel_i0",
    "scaled_modified_bessel_i1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "spherical_bessel_j0", "zeta",
]


@compiled_as(libm.by_size(polynomials32.erf, "erf"), python=lambda x: type(x)(math.erf(x)))
def erf(x: Any) -> Any:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""


@compiled_as(libm.by_size(polynomials32.erfc, "erfc"), python=lambda x: type(x)(math.erfc(x)))
def erfc(x: Any) -> Any:
    """1 - erf(x), accurate for large x."""


def _python_lgamma(x: Any) -> Any:
    try:
        return type(x)(math.lgamma(x))
    except (ValueError, OverflowError):  # a pole, or too large
        return type(x)(np.inf)


@compiled_as(gamma.lgamma, python=_python_lgamma)
def lgamma(x: Any) -> Any:
    """Natural logarithm of the absolute value of the gamma function."""


@compiled_as(gamma.digamma, python="compiled")
def digamma(x: Any) -> Any:
    """The derivative of lgamma: infinite at 0 and NaN at negative integers."""


@compiled_as(gamma.zeta, python="compiled")
def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function, the sum of (q + k)^-s for k from 0; Riemann's if q is 1."""


@compiled_as(error_functions.erfcx, python="compiled")
def erfcx(x: Any) -> Any:
    """e^(x^2) erfc(x), without overflow for large x."""


@compiled_as(error_functions.erfcx_slope, python="compiled")
def erfcx_slope(x: Any) -> Any:
    """The derivative of erfcx."""


@compiled_as(error_functions.erfinv, python="compiled")
def erfinv(x: Any) -> Any:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond."""


@compiled_as(error_functions.ndtri, python="compiled")
def ndtri(p: Any) -> Any:
    """The inverse of the normal distribution function: infinite at 0 and 1, NaN beyond."""


@compiled_as(modified_bessel.i0, python="compiled")
def modified_bessel_i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, I0(x)."""


@compiled_as(modified_bessel.i0e, python="compiled")
def scaled_modified_bessel_i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, e^-|x| I0(x)."""


@compiled_as(modified_bessel.i1, python="compiled")
def modified_bessel_i1(x: Any) -> Any:
    """The modified Bessel function of the first kind, I1(x)."""


@compiled_as(modified_bessel.i1e, python="compiled")
def scaled_modified_bessel_i1(x: Any) -> Any:
    """The modified Bessel function of the first kind, e^-|x| I1(x)."""


@compiled_as(modified_bessel.k0, python="compiled")
def modified_bessel_k0(x: Any) -> Any:
    """The modified Bessel function of the second kind, K0(x): infinite at 0, NaN below."""


@compiled_as(modified_bessel.k1, python="compiled")
def modified_bessel_k1(x: Any) -> Any:
    """The modified Bessel function of the second kind, K1(x): infinite at 0, NaN below."""


@compiled_as(modified_bessel.k0e, python="compiled")
def scaled_modified_bessel_k0(x: Any) -> Any:
    """The modified Bessel function of the second kind, e^x K0(x): infinite at 0, NaN below."""


@compiled_as(modified_bessel.k1e, python="compiled")
def scaled_modified_bessel_k1(x: Any) -> Any:
    """The modified Bessel function of the second kind, e^x K1(x): infinite at 0, NaN below."""


@compiled_as(bessel.j0, python="compiled")
def bessel_j0(x: Any) -> Any:
    """The Bessel function of the first kind, J0(x)."""


@compiled_as(bessel.j1, python="compiled")
def bessel_j1(x: Any) -> Any:
    """The Bessel function of the first kind, J1(x)."""


@compiled_as(bessel.y0, python="compiled")
def bessel_y0(x: Any) -> Any:
    """The Bessel function of the second kind, Y0(x): -inf at 0, NaN below."""


@compiled_as(bessel.y1, python="compiled")
def bessel_y1(x: Any) -> Any:
    """The Bessel function of the second kind, Y1(x): -inf at 0, NaN below."""


@compiled_as(bessel.spherical_j0, python="compiled")
def spherical_bessel_j0(x: Any) -> Any:
    """The spherical Bessel function of the first kind, sin(x) / x."""


@compiled_as(bessel.airy_ai, python="compiled")
def airy_ai(x: Any) -> Any:
    """The Airy function Ai(x)."""


@compiled_as(orthogonal.chebyshev_t, python="compiled")
def chebyshev_polynomial_t(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the first kind and degree n."""


@compiled_as(orthogonal.chebyshev_u, python="compiled")
def chebyshev_polynomial_u(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the second kind and degree n."""


@compiled_as(orthogonal.chebyshev_v, python="compiled")
def chebyshev_polynomial_v(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the third kind and degree n."""


@compiled_as(orthogonal.chebyshev_w, python="compiled")
def chebyshev_polynomial_w(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the fourth kind and degree n."""


@compiled_as(orthogonal.shifted_chebyshev_t, python="compiled")
def shifted_chebyshev_polynomial_t(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the first kind and degree n at 2 x - 1."""


@compiled_as(orthogonal.shifted_chebyshev_u, python="compiled")
def shifted_chebyshev_polynomial_u(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the second kind and degree n at 2 x - 1."""


@compiled_as(orthogonal.shifted_chebyshev_v, python="compiled")
def shifted_chebyshev_polynomial_v(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the third kind and degree n at 2 x - 1."""


@compiled_as(orthogonal.shifted_chebyshev_w, python="compiled")
def shifted_chebyshev_polynomial_w(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the fourth kind and degree n at 2 x - 1."""


@compiled_as(orthogonal.hermite_h, python="compiled")
def hermite_polynomial_h(x: Any, n: Any) -> Any:
    """Hermite's polynomial of degree n, of the weight e^(-x^2)."""


@compiled_as(orthogonal.hermite_he, python="compiled")
def hermite_polynomial_he(x: Any, n: Any) -> Any:
    """Hermite's polynomial of degree n, of the weight e^(-x^2 / 2)."""


@compiled_as(orthogonal.laguerre_l, python="compiled")
def laguerre_polynomial_l(x: Any, n: Any) -> Any:
    """Laguerre's polynomial of degree n."""


@compiled_as(orthogonal.legendre_p, python="compiled")
def legendre_polynomial_p(x: Any, n: Any) -> Any:
    """Legendre's polynomial of degree n."""


@compiled_as(incomplete_gamma.gammainc, python="compiled")
def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function: the probability of a gamma variable of shape a below x."""


@compiled_as(incomplete_gamma.gammaincc, python="compiled")
def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function, 1 - gammainc(a, x)."""


@compiled_as(incomplete_gamma.gamma_slope, python="compiled")
def gamma_slope(a: Any, x: Any) -> Any:
    """The derivative of a gamma variable x with respect to its shape a, for a fixed probability of smaller ones."""


@compiled_as(incomplete_beta.beta_slope, python="compiled")
def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """The derivative of the logit of a beta variable x by its parameter a, for a fixed probability of smaller ones."""
