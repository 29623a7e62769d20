"""The functions of ``numgrad.fft`` through their public names, against NumPy's."""

import numpy as np
import pytest

import numgrad
from numgrad import fft

NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize(("function", "kind"), [
    ("rfft", "float32"), ("rfft", "float64"), ("irfft", "complex64"), ("fft", "complex64"), ("fft", "float32"),
    ("ifft", "complex64"), ("ifft", "float64"), ("hfft", "complex64"), ("ihfft", "float64"),
])
def test_lengths_dimensions_and_normalizations(function, kind):
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(kind)
    for n, dim, norm in ((None, -1, None), (3, 0, "ortho"), (6, 1, "forward"), (7, -2, "backward"), (1, 0, None)):
        result = getattr(fft, function)(numgrad.from_numpy(x), n, dim, norm)
        expected = getattr(np.fft, function)(x, n, dim, norm)
        assert result.numpy().dtype == expected.dtype
        np.testing.assert_allclose(result, expected, 1e-6 if kind.endswith(("32", "64")) else 0, 1e-6)


@pytest.mark.parametrize(("function", "kind"), [
    ("fft", "complex64"), ("fft", "float32"), ("ifft", "complex128"), ("rfft", "float32"), ("irfft", "complex64"),
])
def test_several_dimensions(function, kind):
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(kind)
    over_all, over_two = getattr(fft, function + "n"), getattr(fft, function + "2")
    reference = getattr(np.fft, function + "n")
    for result, sizes, dims, norm in (
        (over_all(numgrad.from_numpy(x)), None, (0, 1, 2), None),
        (over_all(numgrad.from_numpy(x), dim=(2, 0), norm="ortho"), None, (2, 0), "ortho"),
        (over_all(numgrad.from_numpy(x), (2, 6), (0, 1), "forward"), (2, 6), (0, 1), "forward"),
        (over_all(numgrad.from_numpy(x), s=(-1, 3)), (4, 3), (1, 2), None),
        (over_two(numgrad.from_numpy(x)), None, (1, 2), None),
        (over_two(numgrad.from_numpy(x), (3, 3), norm="forward"), (3, 3), (1, 2), "forward"),
    ):
        expected = reference(x, sizes, dims, norm)
        assert result.numpy().dtype == expected.dtype
        np.testing.assert_allclose(result, expected, 1e-5, 1e-5)


def test_transforms_of_conjugate_halves():
    x = numgrad.from_numpy(np.random.default_rng(0).normal(size=(3, 4, 6)))
    for norm in NORMS:
        half = fft.ihfftn(x, norm=norm)
        assert half.shape == (3, 4, 4)
        np.testing.assert_allclose(half, np.conj(np.fft.rfftn(x, norm={"forward": "backward", "ortho": "ortho"}.get(
            norm, "forward"))), 1e-12, 1e-12)
        np.testing.assert_allclose(fft.hfftn(half, norm=norm), x, 1e-12, 1e-12)
        np.testing.assert_allclose(fft.hfft2(fft.ihfft2(x, norm=norm), norm=norm), x, 1e-12, 1e-12)


def test_frequencies_and_shifts():
    for n in (0, 1, 4, 5):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5) if n else [])
        np.testing.assert_allclose(fft.rfftfreq(n, 0.5), np.fft.rfftfreq(n, 0.5) if n else [np.nan])
    assert fft.fftfreq(3, dtype=numgrad.float64, requires_grad=True).requires_grad
    x = np.arange(20).reshape(4, 5)
    for dims in (None, 0, (1,), (0, 1)):
        shifted = fft.fftshift(numgrad.from_numpy(x), dims)
        np.testing.assert_array_equal(shifted, np.fft.fftshift(x, dims))
        np.testing.assert_array_equal(fft.ifftshift(shifted, dims), x)


def test_no_dimensions_are_a_copy():
    x = numgrad.ones(2)
    copy = fft.fftn(x, dim=())
    assert copy.dtype is numgrad.complex64
    assert copy.tolist() == [1, 1]
    z = numgrad.ones(2, dtype=numgrad.complex64)
    assert fft.ifftn(z, dim=()).data_ptr() != z.data_ptr()


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
    (lambda: fft.rfftn(numgrad.ones(3, dtype=numgrad.complex64)), RuntimeError,
     "^rfftn expects a real-valued input tensor, but got ComplexFloat"),
    (lambda: fft.rfftn(numgrad.ones(3), dim=()), RuntimeError, "^rfftn must transform at least one axis"),
    (lambda: fft.irfftn(numgrad.tensor(1.0)), RuntimeError, "^irfftn must transform at least one axis"),
    (lambda: fft.fftn(numgrad.ones(3, 4), dim=(1, -1)), RuntimeError, "^FFT dims must be unique"),
    (lambda: fft.fftn(numgrad.ones(3, 4), (2,), (0, 1)), RuntimeError,
     "^When given, dim and shape arguments must have the same length"),
    (lambda: fft.fftn(numgrad.ones(3, 4), (1, 1, 1)), RuntimeError, "^Got shape with 3 values but input tensor only"),
    (lambda: fft.fftn(numgrad.ones(3, 4), (2, -2)), RuntimeError, r"^Invalid number of data points \(-2\) specified"),
    (lambda: fft.fft2(numgrad.ones(3)), IndexError, "^Dimension out of range"),
    (lambda: fft.fftfreq(3, dtype=numgrad.int64), RuntimeError, "^fftfreq requires a floating point or complex dtype"),
    (lambda: fft.fftfreq(-1), RuntimeError, "^Trying to create tensor with negative dimension -1"),
])
def test_refusals(call, error, said):
    with pytest.raises(error, match=said):
        call()
