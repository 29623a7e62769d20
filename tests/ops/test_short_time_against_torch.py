"""Short-time Fourier transforms and windows of signals against PyTorch: values, strides, gradients, errors."""

import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

WINDOWS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window"]

#: Arguments of both transforms, but for frames of eight samples.
FRAMINGS = [
    {}, {"hop_length": 3}, {"win_length": 5}, {"center": False}, {"normalized": True}, {"onesided": False},
    {"hop_length": 8, "center": False, "normalized": True, "onesided": False},
]


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    for length in (0, 1, 2, 5, 8):
        for how in ({}, {"periodic": False}, {"dtype": "float64"}):
            def window(m, length=length, how=how):
                dtype = {"dtype": m.float64} if "dtype" in how else {}
                return getattr(m, name)(length, **{**how, **dtype})

            assert_same(window)
    assert_same(lambda m: m.hamming_window(6, False, 0.5, 0.4))
    assert_same(lambda m: getattr(m, name)(4, requires_grad=True) * 2)


@pytest.mark.parametrize("how", FRAMINGS, ids=str)
@pytest.mark.parametrize("shape", [(21,), (2, 24)], ids=str)
def test_there_and_back(shape, how):
    def there(m, x, window):
        return m.stft(x, 8, window=window, return_complex=True, **how)

    size = how.get("win_length", 8)
    assert_same(there, *randoms(shape, (size,)), graph=False)
    assert_same(lambda m, x, w: m.istft(there(m, x, w * w + 1), 8, window=w * w + 1, **how),
                *randoms(shape, (size,)), graph=False)


def test_lengths_padding_and_complex_signals():
    assert_same(lambda m, x: m.stft(x, 8, pad_mode="constant", return_complex=False), *randoms((20,)), graph=False)
    assert_same(lambda m, x: m.istft(x.stft(8, return_complex=True), 8, length=17), *randoms((2, 20)), graph=False)
    assert_same(lambda m, x: m.istft(x.stft(8, return_complex=True), 8, length=40), *randoms((20,)), graph=False)
    assert_same(lambda m, x: m.istft(m.stft(x, 8, normalized=True), 8, normalized=True, return_complex=True),
                *randoms((20,), dtype="complex128"), graph=False)


@pytest.mark.parametrize("call", [
    lambda m: m.hann_window(-1), lambda m: m.hann_window(3.0), lambda m: m.stft(m.ones(9), 4),
    lambda m: m.istft(m.ones(3, 2), 4),
])  # fmt: skip
def test_refusals_in_the_same_words(call):
    theirs, own = messages(call)
    assert type(own) is type(theirs)
    assert str(own).startswith(str(theirs).partition("\n")[0])


@pytest.mark.parametrize("call", [
    lambda m: m.hann_window(3, dtype=m.int64), lambda m: m.stft(m.ones(9), 0, return_complex=True),
    lambda m: m.stft(m.ones(9), 4, 0, return_complex=True), lambda m: m.stft(m.ones(9), 4, 1, 5, return_complex=True),
    lambda m: m.stft(m.ones(9), 4, window=m.ones(3), return_complex=True),
    lambda m: m.stft(m.ones(1, 2, 9), 4, return_complex=True), lambda m: m.stft(m.arange(9), 4, return_complex=True),
    lambda m: m.stft(m.ones(5), 6, center=False, return_complex=True),
    lambda m: m.stft(m.ones(8), 16, return_complex=True),
    lambda m: m.stft(m.ones(9, dtype=m.complex64), 4, onesided=True),
    lambda m: m.istft(m.ones(3, 4, dtype=m.complex64), 4, window=m.zeros(4)),
    lambda m: m.istft(m.ones(2, 4, dtype=m.complex64), 4),
    lambda m: m.istft(m.ones(3, 4, dtype=m.complex64), 4, onesided=True, return_complex=True),
])  # fmt: skip
def test_refusals(call):
    theirs, own = messages(call)
    assert type(own) is type(theirs) is RuntimeError
