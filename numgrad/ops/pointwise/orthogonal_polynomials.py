"""Orthogonal polynomials of a number and a degree, which are computed by their recurrences.

The degree ``n`` is truncated to an integer.  Polynomials of negative degree are 0, and those of degrees from 2**24 on
NaN.  Either operand may be a number.
As in PyTorch, the results require no gradient, and those for integers are floating-point numbers of the default dtype.
"""

from __future__ import annotations

from numgrad_kernels import scalar

from .special import special_function


@special_function("chebyshev_polynomial_t", nondifferentiable=["input", "n"])
def chebyshev_polynomial_t(input, n):
    """Chebyshev's polynomial of the first kind of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.chebyshev_polynomial_t(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-1., 26.])
    """
    return scalar.chebyshev_polynomial_t(input, n)


@special_function("chebyshev_polynomial_u", nondifferentiable=["input", "n"])
def chebyshev_polynomial_u(input, n):
    """Chebyshev's polynomial of the second kind of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.chebyshev_polynomial_u(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-1., 56.])
    """
    return scalar.chebyshev_polynomial_u(input, n)


@special_function("chebyshev_polynomial_v", nondifferentiable=["input", "n"])
def chebyshev_polynomial_v(input, n):
    """Chebyshev's polynomial of the third kind of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.chebyshev_polynomial_v(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-1., 41.])
    """
    return scalar.chebyshev_polynomial_v(input, n)


@special_function("chebyshev_polynomial_w", nondifferentiable=["input", "n"])
def chebyshev_polynomial_w(input, n):
    """Chebyshev's polynomial of the fourth kind of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.chebyshev_polynomial_w(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-1., 71.])
    """
    return scalar.chebyshev_polynomial_w(input, n)


@special_function("shifted_chebyshev_polynomial_t", nondifferentiable=["input", "n"])
def shifted_chebyshev_polynomial_t(input, n):
    """Chebyshev's polynomial of the first kind of degree ``n``, at ``2 * input - 1``.

    Example:
        >>> import numgrad
        >>> numgrad.special.shifted_chebyshev_polynomial_t(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-0., 99.])
    """
    return scalar.shifted_chebyshev_polynomial_t(input, n)


@special_function("shifted_chebyshev_polynomial_u", nondifferentiable=["input", "n"])
def shifted_chebyshev_polynomial_u(input, n):
    """Chebyshev's polynomial of the second kind of degree ``n``, at ``2 * input - 1``.

    Example:
        >>> import numgrad
        >>> numgrad.special.shifted_chebyshev_polynomial_u(numgrad.tensor([0.5, 2.0]), 3)
        tensor([ -0., 204.])
    """
    return scalar.shifted_chebyshev_polynomial_u(input, n)


@special_function("shifted_chebyshev_polynomial_v", nondifferentiable=["input", "n"])
def shifted_chebyshev_polynomial_v(input, n):
    """Chebyshev's polynomial of the third kind of degree ``n``, at ``2 * input - 1``.

    Example:
        >>> import numgrad
        >>> numgrad.special.shifted_chebyshev_polynomial_v(numgrad.tensor([0.5, 2.0]), 3)
        tensor([  1., 169.])
    """
    return scalar.shifted_chebyshev_polynomial_v(input, n)


@special_function("shifted_chebyshev_polynomial_w", nondifferentiable=["input", "n"])
def shifted_chebyshev_polynomial_w(input, n):
    """Chebyshev's polynomial of the fourth kind of degree ``n``, at ``2 * input - 1``.

    Example:
        >>> import numgrad
        >>> numgrad.special.shifted_chebyshev_polynomial_w(numgrad.tensor([0.5, 2.0]), 3)
        tensor([ -1., 239.])
    """
    return scalar.shifted_chebyshev_polynomial_w(input, n)


@special_function("hermite_polynomial_h", nondifferentiable=["input", "n"])
def hermite_polynomial_h(input, n):
    """Hermite's polynomial of degree ``n``, of the weight ``exp(-input**2)``.

    Example:
        >>> import numgrad
        >>> numgrad.special.hermite_polynomial_h(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-5., 40.])
    """
    return scalar.hermite_polynomial_h(input, n)


@special_function("hermite_polynomial_he", nondifferentiable=["input", "n"])
def hermite_polynomial_he(input, n):
    """Hermite's polynomial of degree ``n``, of the weight ``exp(-input**2 / 2)``.

    Example:
        >>> import numgrad
        >>> numgrad.special.hermite_polynomial_he(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-1.3750,  2.0000])
    """
    return scalar.hermite_polynomial_he(input, n)


@special_function("laguerre_polynomial_l", nondifferentiable=["input", "n"])
def laguerre_polynomial_l(input, n):
    """Laguerre's polynomial of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.laguerre_polynomial_l(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-0.1458, -0.3333])
    """
    return scalar.laguerre_polynomial_l(input, n)


@special_function("legendre_polynomial_p", nondifferentiable=["input", "n"])
def legendre_polynomial_p(input, n):
    """Legendre's polynomial of degree ``n``.

    Example:
        >>> import numgrad
        >>> numgrad.special.legendre_polynomial_p(numgrad.tensor([0.5, 2.0]), 3)
        tensor([-0.4375, 17.0000])
    """
    return scalar.legendre_polynomial_p(input, n)
