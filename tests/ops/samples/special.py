"""Samples of powers, logarithms and special functions."""

import importlib
import math
from functools import partial
from statistics import NormalDist

import numpy as np
from ops.sampling import ANY, FLOATS, POSITIVE, UNIT, Domain, between, sample

import numgrad
from numgrad.ops.pointwise.gamma import hurwitz


def _erfinv(y):
    if abs(y) >= 1:
        return y * math.inf if abs(y) == 1 else math.nan
    return NormalDist(0, math.sqrt(0.5)).inv_cdf((y + 1) / 2)


def _by_mpmath(function):
    """``function(mpmath, x)`` of each element, and infinity at negative integers; see ``by_mpmath``."""
    return by_mpmath(lambda mp, x: function(mp, x) if x > 0 or x % 1 else math.inf)


def by_mpmath(function):
    """``function(mpmath, *x)`` of elements; the documentation imports the samples where mpmath is not installed."""
    def compute(*x):
        mpmath = importlib.import_module("mpmath")
        with mpmath.workdps(40):
            return float(function(mpmath, *[mpmath.mpf(float(number)) for number in x]))

    return np.vectorize(compute, otypes="d")


sample("exp2", np.exp2)
sample("expm1", np.expm1)
sample("log1p", np.log1p, domain=between(-0.8, 2))
sample("log2", np.log2, domain=POSITIVE)
sample("log10", np.log10, domain=POSITIVE)
sample("logaddexp_op", np.logaddexp, dtypes=FLOATS)
sample("logaddexp2_op", np.logaddexp2, dtypes=FLOATS)
sample("logit_op", lambda x: np.log(x / (1 - x.astype(float))), domain=UNIT, call=numgrad.logit)
sample("variance", lambda x: x * (1 - x), dtypes=FLOATS)
sample("logit_within", lambda x, eps: np.log(np.clip(x, eps, 1 - eps) / (1 - np.clip(x, eps, 1 - eps))), args=(0.3,),
       domain=UNIT, call=numgrad.logit)
sample("xlogy", lambda x, y: np.where((x == 0) & (y == y), 0, x * np.log(y.astype(float))), domain=(ANY, POSITIVE))
sample("xlog1py", lambda x, y: np.where((x == 0) & (y == y), 0, x * np.log1p(y.astype(float))), domain=(ANY, POSITIVE),
       call=numgrad.special.xlog1py)
sample("lgamma", _by_mpmath(lambda mp, x: mp.log(abs(mp.gamma(x)))), domain=between(-1.9, -1.1))
sample("digamma", _by_mpmath(lambda mp, x: mp.digamma(x)), domain=POSITIVE)
sample("trigamma", _by_mpmath(lambda mp, x: mp.psi(1, x)), domain=between(-1.9, -1.1),
       call=partial(numgrad.polygamma, 1))
sample("polygamma_op", _by_mpmath(lambda mp, x: mp.psi(3, x)), domain=between(-1.9, -1.1),
       call=partial(numgrad.polygamma, 3))
sample("hurwitz", _by_mpmath(lambda mp, x: mp.zeta(3, x)), domain=POSITIVE, dtypes=FLOATS,
       call=lambda x: hurwitz(x, power=3))

GAMMA = {"domain": (between(0.5, 4), POSITIVE), "dtypes": FLOATS, "fixed": ("input",)}
sample("igamma_op", by_mpmath(lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True)), **GAMMA)
sample("igammac_op", by_mpmath(lambda mp, a, x: mp.gammainc(a, x, regularized=True)), **GAMMA)
sample("gamma_density", by_mpmath(lambda mp, a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a)), **GAMMA)
sample("gamma_slope", by_mpmath(lambda mp, a, x: -mp.diff(lambda a: mp.gammainc(a, 0, x, regularized=True), a)
                                * mp.gamma(a) * x ** (1 - a) * mp.exp(x)), **GAMMA)
sample("beta_slope", by_mpmath(lambda mp, a, b, x: -mp.diff(lambda a: mp.betainc(a, b, 0, x, regularized=True), a)
                               * mp.beta(a, b) * x ** -a * (1 - x) ** -b),
       domain=(between(0.5, 4), between(0.5, 4), UNIT), dtypes=FLOATS)
sample("rsqrt", lambda x: 1 / np.sqrt(x), domain=POSITIVE)
sample("erf", np.vectorize(math.erf, otypes="d"))
sample("erfc", np.vectorize(math.erfc, otypes="d"))
sample("erfinv", np.vectorize(_erfinv, otypes="d"), domain=between(-0.9, 0.9))
sample("ndtri", np.vectorize(lambda p: _erfinv(2 * p - 1) * math.sqrt(2), otypes="d"), domain=UNIT,
       call=numgrad.special.ndtri)
sample("entr", np.vectorize(lambda x: -x * math.log(x) if x else 0, otypes="d"), domain=POSITIVE,
       call=numgrad.special.entr)
sample("erfcx", np.vectorize(lambda x: math.exp(x * x) * math.erfc(x), otypes="d"), call=numgrad.special.erfcx)
sample("erfcx_slope", by_mpmath(lambda mp, x: 2 * x * mp.exp(x * x) * mp.erfc(x) - 2 / mp.sqrt(mp.pi)), dtypes=FLOATS)
sample("log_ndtr", by_mpmath(lambda mp, x: mp.log(mp.ncdf(x))), call=numgrad.special.log_ndtr)
sample("zeta", by_mpmath(lambda mp, s, q: mp.zeta(s, q)), domain=(between(1.4, 4), POSITIVE), dtypes=FLOATS)

sample("i0", np.i0)
sample("i0e", by_mpmath(lambda mp, x: mp.exp(-abs(x)) * mp.besseli(0, x)), call=numgrad.special.i0e)
sample("i1", by_mpmath(lambda mp, x: mp.besseli(1, x)), call=numgrad.special.i1)
sample("i1e", by_mpmath(lambda mp, x: mp.exp(-abs(x)) * mp.besseli(1, x)), call=numgrad.special.i1e)
for order in (0, 1):
    sample(f"modified_bessel_k{order}", by_mpmath(lambda mp, x, n=order: mp.besselk(n, x) if x else math.inf),
           domain=POSITIVE, call=getattr(numgrad.special, f"modified_bessel_k{order}"))
    sample(f"scaled_modified_bessel_k{order}",
           by_mpmath(lambda mp, x, n=order: mp.exp(x) * mp.besselk(n, x) if x else math.inf),
           domain=POSITIVE, call=getattr(numgrad.special, f"scaled_modified_bessel_k{order}"))
    sample(f"bessel_j{order}", by_mpmath(lambda mp, x, n=order: mp.besselj(n, x)),
           call=getattr(numgrad.special, f"bessel_j{order}"))
    sample(f"bessel_y{order}", by_mpmath(lambda mp, x, n=order: mp.bessely(n, x) if x else -math.inf),
           domain=POSITIVE, call=getattr(numgrad.special, f"bessel_y{order}"))
sample("spherical_bessel_j0", lambda x: np.sinc(x / np.pi), call=numgrad.special.spherical_bessel_j0)
sample("airy_ai", by_mpmath(lambda mp, x: mp.airyai(x)), call=numgrad.special.airy_ai)

DEGREE = Domain(lambda u: np.floor(u * 6))
POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda mp, x, n: mp.chebyt(n, x),
    "chebyshev_polynomial_u": lambda mp, x, n: mp.chebyu(n, x),
    "chebyshev_polynomial_v": lambda mp, x, n: mp.re(mp.chebyu(n, x) - mp.chebyu(n - 1, x)),
    "chebyshev_polynomial_w": lambda mp, x, n: mp.re(mp.chebyu(n, x) + mp.chebyu(n - 1, x)),
    "hermite_polynomial_h": lambda mp, x, n: mp.hermite(n, x),
    "hermite_polynomial_he": lambda mp, x, n: mp.hermite(n, x / mp.sqrt(2)) / mp.sqrt(2) ** n,
    "laguerre_polynomial_l": lambda mp, x, n: mp.laguerre(n, 0, x),
    "legendre_polynomial_p": lambda mp, x, n: mp.legendre(n, x),
}
for name, polynomial in POLYNOMIALS.items():
    sample(name, by_mpmath(polynomial), domain=(ANY, DEGREE), dtypes=FLOATS)
    if name.startswith("chebyshev"):
        shifted = by_mpmath(lambda mp, x, n, of=polynomial: of(mp, 2 * x - 1, n))
        sample(f"shifted_{name}", shifted, domain=(UNIT, DEGREE), dtypes=FLOATS)
