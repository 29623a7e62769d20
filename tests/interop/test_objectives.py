"""Functions of tensors as functions of arrays with derivatives, as SciPy's optimizers and solvers call them."""

import numpy as np
import pytest
from scipy import optimize

from numgrad.interop.objectives import hessian_of, hessian_product_of, jacobian_of, with_gradient

START = np.array([-1.2, 1.0, 0.5])


def rosenbrock(x, weight=100):
    return ((1 - x[:-1]) ** 2 + weight * (x[1:] - x[:-1] ** 2) ** 2).sum()


def test_derivatives_are_scipys():
    value, slope = with_gradient(rosenbrock)(START)
    assert type(value) is float
    np.testing.assert_allclose(value, optimize.rosen(START))
    np.testing.assert_allclose(slope, optimize.rosen_der(START))
    np.testing.assert_allclose(hessian_of(rosenbrock)(START), optimize.rosen_hess(START))
    direction = np.array([1.0, -2.0, 3.0])
    product = hessian_product_of(rosenbrock)(START, direction)
    np.testing.assert_allclose(product, optimize.rosen_hess(START) @ direction)
    np.testing.assert_allclose(jacobian_of(lambda x: x**2)(START), np.diag(2 * START))
    assert with_gradient(rosenbrock)(START.astype(np.float32))[1].dtype == np.float32


@pytest.mark.parametrize(
    ("method", "more"),
    [("L-BFGS-B", {}), ("trust-exact", {"hess": hessian_of(rosenbrock)}),
     ("Newton-CG", {"hessp": hessian_product_of(rosenbrock)})],
)
def test_scipy_minimizes(method, more):
    result = optimize.minimize(with_gradient(rosenbrock), START, args=(100,), jac=True, method=method, **more)
    np.testing.assert_allclose(result.x, np.ones(3), atol=1e-4)


def test_scipy_finds_a_root():
    def equations(x):
        return x**2 - x.flip(0) - 1

    result = optimize.root(lambda x: x**2 - x[::-1] - 1, [1.0, 2.0], jac=jacobian_of(equations))
    np.testing.assert_allclose(result.x, [(1 + 5**0.5) / 2] * 2)


def test_read_only_arrays_are_copied():
    array = START.copy()
    array.flags.writeable = False
    np.testing.assert_allclose(with_gradient(rosenbrock)(array)[1], optimize.rosen_der(START))
