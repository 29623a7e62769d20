"""Reductions and scans of float32 against float64: errors of a few ulp times log(n), the same on 1 and 2 threads."""

import numba
import numpy as np
import pytest

import numgrad

EPS = float(np.finfo(np.float32).eps)

LENGTHS = [1, 2, 3, 7, 63, 64, 65, 511, 513, 1000, 4095, 4097, 33_000, 100_003, 1_000_000]

#: Greatest number of elements of a tensor.
LARGEST = 3_000_000

#: Shapes for a length, each with the reduced dimension, None for all.
LAYOUTS = {
    "all": (lambda length: (length,), None),
    "rows": (lambda length: (2, length), 1),
    "long rows": (lambda length: (max(2, 200_000 // length), length), 1),
    "three columns": (lambda length: (length, 3), 0),
    "columns": (lambda length: (length, max(70, min(1100, 200_000 // length))), 0),
    "inner dimension": (lambda length: (2, length, 5), 1),
}


def over(name, *arguments):
    """Return a function of NumPy that reduces a dimension, or all of them for None."""
    return lambda x, dim: getattr(np, name)(x, dim, *arguments)


def log_sum_exp(x, dim):
    largest = x.max(dim, keepdims=True)
    return np.log(np.exp(x - largest).sum(dim)) + largest.reshape(np.shape(x.sum(dim)))


def running(accumulate):
    return lambda x, dim: accumulate(x, axis=0 if dim is None else dim)


def total(x, dim):
    return np.abs(x).sum(dim)


def size(x, dim):
    return np.abs(x).mean(dim)


def running_total(x, dim):
    return np.cumsum(np.abs(x), 0 if dim is None else dim)


def products(accumulate):
    """Return factors whose product neither overflows nor vanishes; its error grows with their number."""
    return lambda x, dim: np.abs(accumulate(x, dim)) * np.sqrt(x.shape[0 if dim is None else dim])


#: For each reduction its result in float64, and the scale of its error; None if it must be exact.
REDUCTIONS = {
    "sum": (over("sum"), total),
    "nansum": (over("nansum"), total),
    "mean": (over("mean"), size),
    "var": (lambda x, dim: x.var(dim, ddof=1), lambda x, dim: x.var(dim, ddof=1) + EPS * (x * x).mean(dim)),
    "std": (lambda x, dim: x.std(dim, ddof=1), lambda x, dim: x.std(dim, ddof=1) + np.abs(x.mean(dim))),
    "norm": (lambda x, dim: np.sqrt((x * x).sum(dim)), lambda x, dim: np.sqrt((x * x).sum(dim))),
    "logsumexp": (log_sum_exp, lambda x, dim: 1 + np.abs(log_sum_exp(x, dim))),
    "amax": (over("max"), None),
    "prod": (over("prod"), products(over("prod"))),
}
SCANS = {
    "cumsum": (running(np.cumsum), running_total),
    "cumprod": (running(np.cumprod), products(running(np.cumprod))),
    "logcumsumexp": (running(np.logaddexp.accumulate), lambda x, dim: 1 + np.abs(np.logaddexp.accumulate(x, dim or 0))),
}

#: Reductions that are also run on two threads: one of each kind of loop, since compiling takes long.
ON_TWO_THREADS = {"sum", "cumsum", "logcumsumexp"}


def numbers(name, shape):
    rng = np.random.default_rng(sum(shape))
    if "prod" in name:
        return np.exp(rng.normal(size=shape) * 1e-3).astype(np.float32)
    return rng.normal(0.5, 1, size=shape).astype(np.float32)


def at_threads(number, call, tensor, dim):
    before = numba.get_num_threads()
    numba.set_num_threads(min(number, numba.config.NUMBA_NUM_THREADS))
    try:
        return call(tensor, dim).numpy()
    finally:
        numba.set_num_threads(before)


def check(name, layout, exactly, magnitude, call):
    shape_for, dim = LAYOUTS[layout]
    for length in LENGTHS:
        shape = shape_for(length)
        if (name in ("var", "std") and length == 1) or np.prod(shape) > LARGEST:
            continue
        x = numbers(name, shape)
        tensor = numgrad.from_numpy(x)
        found = at_threads(1, call, tensor, dim)
        assert found.dtype == np.float32
        if name in ON_TWO_THREADS:
            again = at_threads(2, call, tensor, dim)
            assert np.array_equal(found.view(np.int32), again.view(np.int32)), length
        wide = x.astype(np.float64)
        bound = 0 if magnitude is None else 2 * EPS * (1 + np.log2(length)) * magnitude(wide, dim)
        assert np.all(np.abs(found - exactly(wide, dim)) <= bound), length


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction(name, layout):
    def call(tensor, dim):
        if name == "logsumexp":
            return tensor.logsumexp(0 if dim is None else dim)
        return getattr(tensor, name)() if dim is None else getattr(tensor, name)(dim=dim)

    check(name, layout, *REDUCTIONS[name], call)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SCANS)
def test_a_scan(name, layout):
    check(name, layout, *SCANS[name], lambda tensor, dim: getattr(tensor, name)(0 if dim is None else dim))


@pytest.mark.parametrize("size", [0.0, 1e3, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("of", [
    lambda x: x.logsumexp(0), lambda x: x.reshape(2, 4).logsumexp((0, 1)), lambda x: x.logcumsumexp(0)[-1],
    lambda x: x[0] - numgrad.distributions.Categorical(logits=x).logits[0],
])
def test_derivatives_of_logarithms_of_sums_at_large_numbers(of, size):
    near = np.array([0, 8, 16, -8, 24, 8, 0, 16], np.float32)
    x = numgrad.from_numpy(near + np.float32(size))
    weights = np.exp(near.astype(np.float64) - 24)
    weights /= weights.sum()
    np.testing.assert_allclose(numgrad.func.grad(of)(x).numpy(), weights, 1e-6, 1e-8)
    _, tangent = numgrad.func.jvp(of, (x,), (numgrad.ones(8),))
    assert tangent.item() == pytest.approx(1, 1e-6)
    hessian = numgrad.func.hessian(of)(x).numpy()
    np.testing.assert_allclose(hessian, np.diag(weights) - np.outer(weights, weights), 1e-5, 1e-7)
    np.testing.assert_allclose(hessian.sum(1), 0, atol=1e-7)
