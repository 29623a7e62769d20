"""The functions of ``numgrad.fft`` through their public names, against NumPy's."""

import numpy as np
import pytest

import numgrad
from numgrad import fft

NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize(("function", "kind"), [
    ("rfft", "float32"), ("rfft", "float64"), ("irfft", "complex64"), ("fft", "complex64"), ("fft", "float32"),
    ("ifft", "complex64"), ("ifft", "float64"),
])
def test_lengths_dimensions_and_normalizations(function, kind):
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(kind)
    for n, dim, norm in ((None, -1, None), (3, 0, "ortho"), (6, 1, "forward"), (7, -2, "backward"), (1, 0, None)):
        result = getattr(fft, function)(numgrad.from_numpy(x), n, dim, norm)
        expected = getattr(np.fft, function)(x, n, dim, norm)
        assert result.numpy().dtype == expected.dtype
        np.testing.assert_allclose(result, expected, 1e-6 if kind.endswith(("32", "64")) else 0, 1e-6)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_integers_are_taken_as_the_default_dtype(dtype):
    x = numgrad.tensor([3, 1, 0, 2]).to(getattr(numgrad, dtype))
    assert fft.rfft(x).dtype is numgrad.complex64
    assert fft.irfft(x).dtype is numgrad.float32
    np.testing.assert_allclose(fft.rfft(x), np.fft.rfft(x.numpy()), 1e-6)


def test_there_and_back_leaves_the_gradient_as_it_is():
    x = numgrad.arange(10.0, dtype=numgrad.float64).view(2, 5).requires_grad_()
    for norm in NORMS:
        again = fft.irfft(fft.rfft(x, norm=norm), 5, norm=norm)
        np.testing.assert_allclose(again.detach(), x.detach(), 1e-12, 1e-12)
        (gradient,) = numgrad.autograd.grad((again * x.detach()).sum(), x)
        np.testing.assert_allclose(gradient, x.detach(), 1e-12, 1e-12)


@pytest.mark.parametrize(("call", "error", "said"), [
    (lambda: fft.rfft(numgrad.ones(3, dtype=numgrad.complex64)), RuntimeError,
     "^rfft expects a real input tensor, but got ComplexFloat"),
    (lambda: fft.rfft(numgrad.tensor(1.0)), IndexError, "^Dimension specified as -1 but tensor has no dimensions"),
    (lambda: fft.rfft(numgrad.ones(3), 0), RuntimeError, r"^Invalid number of data points \(0\) specified"),
    (lambda: fft.irfft(numgrad.ones(1)), RuntimeError, r"^Invalid number of data points \(0\) specified"),
    (lambda: fft.rfft(numgrad.ones(3), norm="a"), RuntimeError, '^Invalid normalization mode: "a"'),
])
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
