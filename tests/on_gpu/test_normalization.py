import numpy as np
import pytest
from on_gpu.comparison import run_steps

import numgrad
from numgrad.devices import cpu

#: Rows and their length, small and real: short rows, long ones, with and without accesses of 16 bytes.
SHAPES = [
    ((5, 3), (5000, 10)), ((21, 9), (3001, 130)), ((19, 16), (4100, 768)), ((3, 100), (33, 5000)), ((2, 1), (3, 1)),
]  # fmt: skip

TYPES = {kind: numgrad.zeros(1, dtype=kind)._layout.type for kind in (numgrad.float32, numgrad.float64)}


@pytest.fixture(params=TYPES, ids=str)
def type(request):
    return TYPES[request.param]


def numbers(count, kind, seed=0):
    return (np.random.default_rng(seed).normal(0, 1, count) * 2 + 3).astype(kind)


def forward(rows, length, kind, weighted=True):
    """Return input, weight, bias, means and scales, and the result on the CPU."""
    x, weight, bias = numbers(rows * length, kind), numbers(length, kind, 1), numbers(length, kind, 2)
    if not weighted:
        weight = bias = None
    out, means, scales = normalized(cpu, x, weight, bias, length)
    return x, weight, bias, means, scales, out


def normalized(device, x, weight, bias, length):
    """Return the rows normalized on a device, their means and their scales."""
    given = [row for row in (x, weight, bias) if row is not None]
    absent = [None] * (3 - len(given))
    return run_steps(device, "layer_norm_rows", *given, *absent, length, x.size // length, 1e-5)


def gradients(device, grad, x, means, scales, weight, length, name="layer_norm_gradients"):
    """Return the gradients that a device's steps of this name compute."""
    return run_steps(device, name, grad, x, means, scales, weight, length)


def close(actual, expected, digits, scale=0):
    scale = np.abs(expected).max(initial=scale)
    tolerance = digits * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(actual.host(), expected, rtol=tolerance, atol=tolerance * scale)


def on_gpu(cuda, *arrays):
    return [None if array is None else cuda.buffer_from(array) for array in arrays]


@pytest.mark.parametrize(("small", "real"), SHAPES)
@pytest.mark.parametrize("weighted", [True, False])
def test_rows_are_those_of_the_cpu(cuda, size, type, small, real, weighted):
    rows, length = size(small, real)
    x, weight, bias, means, scales, out = forward(rows, length, type.numpy, weighted)
    result, centres, shares = normalized(cuda, *on_gpu(cuda, x, weight, bias), length)
    close(centres, means, 20)
    close(shares, scales, 50)
    close(result, out, 100)


@pytest.mark.parametrize(("small", "real"), SHAPES)
def test_gradients_are_those_of_the_cpu(cuda, size, type, small, real):
    rows, length = size(small, real)
    x, weight, _, means, scales, _ = forward(rows, length, type.numpy)
    grad = numbers(rows * length, type.numpy, 3) - type.numpy.type(3)
    given = on_gpu(cuda, grad, x, means, scales)
    for factors in (weight, None):
        expected = gradients(cpu, grad, x, means, scales, factors, length)
        row = on_gpu(cuda, factors)[0]
        backward = gradients(cuda, *given, row, length, name="layer_norm_backward_rows")
        close(backward, expected[0], 200, scales.max())
        found = gradients(cuda, *given, row, length)
        for result, each in zip(found, expected, strict=True):
            close(result, each, 200, scales.max())


def test_a_variance_of_zero_and_a_mean_far_from_zero(cuda):
    x = np.float32([7, 7, 7, 7, 7, 7, 1e6, 1e6 + 1, 1e6 + 2, 1e6 + 1, 1e6, 1e6 + 2])
    result, means, _ = [row.host() for row in normalized(cuda, cuda.buffer_from(x), None, None, 6)]
    np.testing.assert_array_equal(result[:6], 0)
    np.testing.assert_allclose(result[6:], (x[6:] - 1e6 - 1) * np.sqrt(1.5), rtol=1e-4)
    np.testing.assert_array_equal(means, [7, 1e6 + 1])


def test_nan_and_infinity_stay_in_their_row(cuda):
    x = np.float32([np.nan, 1, 2, 3, 0, 1, np.inf, 2, 0, 1, 2, 3])
    result = normalized(cuda, cuda.buffer_from(x), None, None, 4)[0].host()
    np.testing.assert_array_equal(np.isnan(result), np.repeat([True, True, False], 4))


def test_nothing(cuda, type):
    none = cuda.buffer_from(np.empty(0, type.numpy))
    assert [row.size for row in normalized(cuda, none, None, None, 4)] == [0, 0, 0]
    out, factors, terms = gradients(cuda, none, none, none, none, None, 4)
    assert out.size == 0
    np.testing.assert_array_equal(factors.host(), np.zeros(4))
    np.testing.assert_array_equal(terms.host(), np.zeros(4))


def test_rows_whose_squares_are_too_large():
    """Variances are sums of squared distances from the mean, whose elements' squares may overflow."""
    x = numgrad.full((2, 8), 3e20, device="cuda")
    assert numgrad.nn.functional.layer_norm(x, (8,)).tolist() == [[0.0] * 8] * 2


#: Examples, channels, and elements of a channel of an example: with and without accesses of 16 bytes, few and many.
IMAGES = [
    ((3, 4, 9), (64, 32, 49)), ((2, 6, 16), (40, 6, 1600)), ((2, 2, 70), (2, 2, 9001)), ((0, 2, 9), (0, 2, 9)),
    ((9, 6, 1), (3000, 70, 1)), ((70, 2, 3), (9000, 5, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("small", "real"), IMAGES)
@pytest.mark.parametrize("across", [True, False], ids=["batch", "groups"])
def test_channels_are_those_of_the_cpu(cuda, size, type, small, real, across):
    examples, channels, inner = size(small, real)
    sets = channels if across and examples else 2 * examples
    x, grad = [numbers(examples * channels * inner, type.numpy, seed) for seed in range(2)]
    factors, terms = [numbers(channels, type.numpy, seed) for seed in (2, 3)]
    for weight, bias in ((factors, terms), (None, None)):
        forward, backward = [], []
        for device, (rows, slopes, *affine) in ((cpu, (x, grad, weight, bias)),
                                                (cuda, on_gpu(cuda, x, grad, weight, bias))):
            sizes = channels, inner, sets, across
            found = run_steps(device, "normalized_channels", rows, *affine, *sizes, 1e-5)
            forward.append(found)
            given = slopes, rows, *found[1:3], affine[0], channels, inner, across
            backward.append([
                gradient for constant in ((False, True) if across else (False,))
                for gradient in run_steps(device, "normalized_channels_gradients", *given, constant)
            ])
        for results, scale in ((forward, 1), (backward, forward[0][2].max(initial=1))):
            for expected, found in zip(*results, strict=True):
                close(found, expected, 500, scale)
