import numpy as np
import pytest

from numgrad.devices.cpu import softmax as on_cpu

#: (outer, length, inner), small and real: rows, one column, few columns, many columns.
SHAPES = [
    ((3, 5, 1), (3, 5, 1)), ((7, 2, 1), (4099, 2, 1)), ((2, 37, 1), (300, 3001, 1)), ((3, 40, 1), (257, 4096, 1)),
    ((1, 9, 2), (1, 70001, 2)), ((2, 21, 3), (5, 1000, 9)), ((2, 3, 9), (20, 7, 4099)),
]  # fmt: skip


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).normal(0, 3, shape).astype(dtype).reshape(-1)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=3e-6 if actual.dtype == np.float32 else 1e-14, atol=1e-7)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_and_its_logarithm_are_those_of_the_cpu(cuda, size, small, real, dtype):
    outer, length, inner = size(small, real)
    x = numbers((outer, length, inner), dtype)
    row = cuda.row_from(x)
    for name in ("softmax_axis", "log_softmax_axis"):
        result = getattr(cuda, name)(row, length, inner)
        assert result.dtype == dtype
        close(result.host(), getattr(on_cpu, name)(x, length, inner))
    np.testing.assert_array_equal(row.host(), x)


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize("logarithm", [False, True])
def test_gradients_are_those_of_the_cpu(cuda, size, small, real, logarithm):
    outer, length, inner = size(small, real)
    grad = numbers((outer, length, inner), np.float64, 1)
    forward = on_cpu.log_softmax_axis if logarithm else on_cpu.softmax_axis
    y = forward(numbers((outer, length, inner), np.float64), length, inner)
    result = cuda.softmax_backward_axis(cuda.row_from(grad), cuda.row_from(y), length, inner, logarithm)
    np.testing.assert_allclose(
        result.host(), on_cpu.softmax_backward_axis(grad, y, length, inner, logarithm), rtol=1e-11, atol=1e-12
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
    row = cuda.row_from(x)
    flat = x.reshape(-1)
    for floor in (-np.inf, 0.0):
        close(cuda.softmax_axis(row, length, inner, floor).host(), on_cpu.softmax_axis(flat, length, inner, floor))
    close(cuda.log_softmax_axis(row, length, inner).host(), on_cpu.log_softmax_axis(flat, length, inner))


def test_large_elements_do_not_overflow(cuda):
    x = np.array([1e38, 1e38, -3e38, 0, 2000, 2001], np.float32)
    close(cuda.softmax_axis(cuda.row_from(x), 2, 1).host(), on_cpu.softmax_axis(x, 2, 1))
    close(cuda.log_softmax_axis(cuda.row_from(x), 3, 1).host(), on_cpu.log_softmax_axis(x, 3, 1))


def test_a_row_that_begins_anywhere(cuda):
    x = numbers((13,), np.float32)
    part = cuda.row_from(x)[1:]
    close(cuda.softmax_axis(part, 4, 1).host(), on_cpu.softmax_axis(x[1:].copy(), 4, 1))


def test_nothing(cuda):
    none = cuda.row_from(np.empty(0, np.float32))
    assert cuda.softmax_axis(none, 0, 3).size == cuda.log_softmax_axis(none, 4, 1).size == 0
    assert cuda.softmax_backward_axis(none, none, 4, 1, True).size == 0


def test_a_long_row_has_many_threads(cuda, size):
    x = numbers((1, size(133, 100003), 1), np.float32)
    close(cuda.log_softmax_axis(cuda.row_from(x), x.size, 1).host(), on_cpu.log_softmax_axis(x, x.size, 1))
