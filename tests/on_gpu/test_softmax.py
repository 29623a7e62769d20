import numpy as np
import pytest
from on_gpu.comparison import run_steps
from ops import large_scores
from ops.large_scores import FUNCTIONS

import numgrad
from numgrad.devices import cpu

#: (outer, length, inner), small and real: rows, one column, few columns, many columns.
SHAPES = [
    ((3, 5, 1), (3, 5, 1)), ((7, 2, 1), (4099, 2, 1)), ((2, 37, 1), (300, 3001, 1)), ((3, 40, 1), (257, 4096, 1)),
    ((1, 9, 2), (1, 70001, 2)), ((2, 21, 3), (5, 1000, 9)), ((2, 3, 9), (20, 7, 4099)),
]  # fmt: skip


def softmax(device, flat, length, inner, floor=-np.inf):
    """Softmax on a device, or with None for ``floor`` its logarithm."""
    return run_steps(device, "softmax_axis", flat, length, inner, floor)


def gradient(device, grad, result, length, inner, logarithm):
    return run_steps(device, "softmax_backward_axis", grad, result, length, inner, logarithm)


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).normal(0, 3, shape).astype(dtype).reshape(-1)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=3e-6 if actual.dtype == np.float32 else 1e-14, atol=1e-7)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_and_its_logarithm_are_those_of_the_cpu(cuda, size, small, real, dtype):
    outer, length, inner = size(small, real)
    x = numbers((outer, length, inner), dtype)
    row = cuda.buffer_from(x)
    for floor in (-np.inf, None):
        result = softmax(cuda, row, length, inner, floor)
        assert result.dtype == dtype
        close(result.host(), softmax(cpu, x, length, inner, floor))
    np.testing.assert_array_equal(row.host(), x)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize("logarithm", [False, True])
def test_gradients_are_those_of_the_cpu(cuda, size, small, real, logarithm):
    outer, length, inner = size(small, real)
    grad = numbers((outer, length, inner), np.float64, 1)
    y = softmax(cpu, numbers((outer, length, inner), np.float64), length, inner, None if logarithm else -np.inf)
    result = gradient(cuda, cuda.buffer_from(grad), cuda.buffer_from(y), length, inner, logarithm)
    np.testing.assert_allclose(
        result.host(), gradient(cpu, grad, y, length, inner, logarithm), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("length", [6, 8])
def test_infinities_and_nan(cuda, length, inner):
    x = np.zeros((5, length, inner))
    x[0] = -np.inf  # masked as a whole
    x[1, :-1] = -np.inf
    x[2, 3] = np.nan
    x[3, 1] = np.inf
    x[4, 2] = -np.inf
    row = cuda.buffer_from(x)
    flat = x.reshape(-1)
    for floor in (-np.inf, 0.0, None):
        close(softmax(cuda, row, length, inner, floor).host(), softmax(cpu, flat, length, inner, floor))


def test_large_elements_do_not_overflow(cuda):
    x = np.array([1e38, 1e38, -3e38, 0, 2000, 2001], np.float32)
    close(softmax(cuda, cuda.buffer_from(x), 2, 1).host(), softmax(cpu, x, 2, 1))
    close(softmax(cuda, cuda.buffer_from(x), 3, 1, None).host(), softmax(cpu, x, 3, 1, None))


def test_a_row_that_begins_anywhere(cuda):
    x = numbers((13,), np.float32)
    part = cuda.buffer_from(x)[1:]
    close(softmax(cuda, part, 4, 1).host(), softmax(cpu, x[1:].copy(), 4, 1))


def test_nothing(cuda):
    none = cuda.buffer_from(np.empty(0, np.float32))
    assert softmax(cuda, none, 0, 3).size == softmax(cuda, none, 4, 1, None).size == 0
    assert gradient(cuda, none, none, 4, 1, True).size == 0


def test_a_long_row_has_many_threads(cuda, size):
    x = numbers((1, size(133, 100003), 1), np.float32)
    close(softmax(cuda, cuda.buffer_from(x), x.size, 1, None).host(), softmax(cpu, x, x.size, 1, None))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_do_not_lose_digits_where_scores_are_large(cuda, name):
    exact = large_scores.gradient(FUNCTIONS[name], 1e6, "cpu", numgrad.float64)
    found = large_scores.gradient(FUNCTIONS[name], 1e6, "cuda", numgrad.float32)
    np.testing.assert_allclose(found, exact, 1e-5, 1e-7)
