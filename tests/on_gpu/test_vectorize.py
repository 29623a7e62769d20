"""Users' operations on GPUs: the kernels give the CPU's results."""

import numba
import numpy as np
import pytest
from numba import cuda as numba_cuda

import numgrad
from numgrad import scalar

pytestmark = pytest.mark.filterwarnings("ignore:Grid size .* will likely result in GPU under-utilization")


@pytest.fixture(autouse=True)
def _in_use(cuda):
    """Every test here uses GPUs."""


@numba.njit
def bump(r):
    if r > 2:
        return 0.0
    return np.exp(-r * r)


@numgrad.vectorize
def both(x, y, *, most=6):
    steps, z = 0, x
    while abs(z) < y:
        z = z * 1.5 + 0.1
        steps += 1
        if steps >= most:
            return z, bump(x)
    for i in range(3):
        if i == 1:
            continue
        z += bump(z) * i
    return z, numgrad.erf(x) * y


X = np.linspace(-2, 2, 12).reshape(3, 4)


@pytest.mark.parametrize("kind", [numgrad.float32, numgrad.float64], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_values_and_gradients_are_those_of_the_cpu(kind, turned):
    results = []
    for device in ("cpu", "cuda"):
        x = numgrad.tensor(X, dtype=kind, device=device, requires_grad=True)
        y = numgrad.tensor(np.abs(X[:1]) + 1, dtype=kind, device=device, requires_grad=True)
        outs = both(x.t(), y.t()) if turned else both(x, y)
        gradients = numgrad.autograd.grad(outs[0].sum() + (outs[1] * outs[1]).sum(), (x, y))
        results.append([each.detach().cpu() for each in (*outs, *gradients)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5 if kind is numgrad.float32 else 1e-12)


@numba_cuda.jit
def activations(x, out):
    i = numba_cuda.grid(1)
    if i < x.size:
        out[i] = scalar.gelu(x[i]) + scalar.softplus(x[i], 2.0) * scalar.logaddexp(x[i], x[i])


def test_scalar_functions_in_kernels_of_users(users_launches):
    x = numgrad.tensor(X[0], dtype=numgrad.float64, device="cuda")
    out = numgrad.empty_like(x)
    activations[1, 32](x, out)
    F = numgrad.nn.functional
    np.testing.assert_allclose(
        out.cpu(), (F.gelu(x) + F.softplus(x, 2.0) * numgrad.logaddexp(x, x)).cpu(), rtol=1e-12
    )
