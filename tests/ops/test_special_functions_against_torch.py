"""The names of torch.special: all of them, values, dtypes, node names and gradients."""

import numpy as np
import pytest
from ops.test_against_torch import expressions, program
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = pytest.mark.torch

DIFFERENTIABLE = expressions(
    "m.i0(x); x.i0(); m.special.i0e(x); m.special.i1(x); m.special.i1e(x); m.special.erfcx(x - 0.5); "
    "m.special.log_ndtr(x - 0.5); m.special.log_ndtr(-8 * x); m.special.zeta(3, x); m.special.ndtri(x); "
    "m.special.erfinv(x); m.lgamma(x)"
)
ONE = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0", "i0", "i0e", "i1", "i1e", "erfcx", "log_ndtr", "digamma",
]
POLYNOMIALS = [
    *[f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"],
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]


def test_all_names():
    import torch

    public = {name for name in dir(torch.special) if not name.startswith("_")}
    assert public - set(dir(numgrad.special)) == {"Tensor", "common_args", "multi_dim_common", "torch"}


def test_differentiable_functions():
    for expression in DIFFERENTIABLE:
        assert_same(program(expression), *randoms((4, 5), (4, 5), (4, 5), low=0.1, high=0.9))


def values(m, arrays, call):
    result = call(m.special, *[m.from_numpy(array) if isinstance(array, np.ndarray) else array for array in arrays])
    return result.detach().numpy()


def test_values():
    import torch

    x = np.array([-30, -7.5, -3, -1, -0.5, -0.0, 0.0, 0.3, 1, 2.5, 6, 30, np.nan])
    degrees = np.array([-1, 0, 1, 2.7, 5, 0, 3, 4, 6, 7, 2, 9, 2])
    calls = [(lambda special, x, n=name: getattr(special, n)(x), (x,)) for name in ONE]
    calls += [(lambda special, x, k, n=name: getattr(special, n)(x, k), (x, degrees)) for name in POLYNOMIALS]
    calls += [(lambda special, x, k: special.zeta(k, x), (np.abs(x[:-1]) + 0.5, degrees[:-1]))]
    for call, arrays in calls:
        integers = [np.arange(1, 5), *[array[3:7] for array in arrays[1:]]]
        for operands in (arrays, integers, (*arrays[:1], *[3 for _ in arrays[1:]])):
            expected, got = (values(m, operands, call) for m in (torch, numgrad))
            assert got.dtype == expected.dtype
            defined = ~np.isnan(arrays[0][: len(got)])  # of NaN PyTorch sometimes makes another number
            # PyTorch's Bessel functions are off by 1e-7 where their series meet.
            np.testing.assert_allclose(got[defined], expected[defined], 2e-6, 1e-6)
