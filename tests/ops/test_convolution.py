"""Convolutions: cases that samples of a few elements do not cover."""

import numba
import numpy as np
import pytest
from ops import padded_convolutions

import numgrad
from numgrad.devices.cpu import convolution as cpu_convolution


def _assert_close(found, wanted):
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), 1e-10, 1e-10)


def _randoms(*shapes, dtype=numgrad.float64):
    random = np.random.default_rng(0)
    return [numgrad.from_numpy(random.standard_normal(shape)).to(dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("dtype", [numgrad.float64, numgrad.complex128])  # with BLAS, without
@pytest.mark.parametrize(("images", "filters"), [((5, 2, 9, 8), (4, 2, 3, 3)), ((2, 3, 12, 9), (2, 3, 5, 5))])
def test_more_windows_than_are_multiplied_at_a_time(images, filters, dtype, monkeypatch):
    """Tiles of two images, or of two rows of one: the same as image by image, and as the two halves."""
    monkeypatch.setattr(cpu_convolution, "BYTES", 4000)
    x, w = _randoms(images, filters, dtype=dtype)
    out = numgrad.conv2d(x, w, stride=(2, 1))
    each = numgrad.stack([numgrad.conv2d(image[:, :7], w, stride=(2, 1)) for image in x])
    _assert_close(out[:, :, : each.shape[2]], each)
    cotangent = numgrad.ones_like(out).cos_()
    (whole,) = numgrad.autograd.grad(out, w, cotangent, retain_graph=True)
    halves = [numgrad.conv2d(part, w, stride=(2, 1)) for part in (x[:1], x[1:])]
    parts = [numgrad.autograd.grad(h, w, c)[0] for h, c in zip(halves, (cotangent[:1], cotangent[1:]), strict=True)]
    _assert_close(whole, parts[0] + parts[1])


@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"groups": 3}])
def test_images_whose_elements_share_memory(options):
    """BLAS reads the windows of filters of one element in place, if their strides permit it."""
    row, w = _randoms((2, 1, 5, 6), (3, 3 // options.get("groups", 1), 1, 1))
    shared = row.expand(2, 3, 5, 6), row[:, :, :1, :1].expand(2, 3, 5, 6), row.as_strided((2, 3, 5, 6), (0, 6, 6, 1))
    for x in shared:
        results = []
        for images in (x, x.clone(memory_format=numgrad.contiguous_format)):
            out = numgrad.conv2d(images, w, **options)
            gradients = numgrad.autograd.grad(out.sum(1).square().sum(), (images, w), create_graph=True)
            results.append([out, *gradients, *numgrad.autograd.grad(gradients[0].square().sum(), w)])
        for found, wanted in zip(*results, strict=True):
            _assert_close(found, wanted)


def test_a_line_longer_than_is_multiplied_at_a_time():
    x, w = _randoms((2, 8, 30_000), (3, 8, 5))
    out = numgrad.conv1d(x, w)
    _assert_close(out[..., 20_000:], numgrad.conv1d(x[..., 20_000:], w))
    (gradient,) = numgrad.autograd.grad(out.sum(), w)
    _assert_close(gradient[:, :, 0], x[..., :29_996].sum((0, 2)).expand(3, 8))


def test_nothing_to_add_up():
    out = numgrad.conv2d(numgrad.zeros(2, 0, 5, 5), numgrad.zeros(3, 0, 3, 3), numgrad.arange(3.0))
    assert numgrad.equal(out, numgrad.arange(3.0).reshape(3, 1, 1).expand(2, 3, 3, 3))


WRONG = [
    ((1, 2, 5), (3, 2), "weight should have at least three dimensions"),
    ((1, 2, 5, 5), (3, 2, 3), r"a list of 1 values to match the convolution dimensions, but got stride=\[1, 1\]"),
    ((1, 2, 5), (3, 2, 3, 3), "a list of 2 values to match the convolution dimensions"),
    ((1, 2, 5, 5), (3, 2, 3, 0), "kernel size should be greater than zero, but got 3 x 0"),
    ((1, 2, 0), (3, 2, 1), "Only zero batch or zero channel inputs are supported"),
]


@pytest.mark.parametrize(("images", "filters", "said"), WRONG)
def test_filters_without_a_meaning_are_refused(images, filters, said):
    convolve = getattr(numgrad, f"conv{len(images) - 2}d")
    with pytest.raises(RuntimeError, match=said):
        convolve(numgrad.zeros(images), numgrad.zeros(filters), padding=1)


def test_gradients_of_each_example():
    x, w = _randoms((3, 2, 5, 5), (4, 2, 3, 3))

    def loss(filters, image):
        return numgrad.conv2d(image, filters, padding=1).square().sum()

    found = numgrad.vmap(numgrad.func.grad(loss), in_dims=(None, 0))(w.detach(), x.detach())
    wanted = [numgrad.autograd.grad(loss(w, image), w)[0] for image in x.detach()]
    _assert_close(found, numgrad.stack(wanted))


DEPTHWISE = [
    ((2, 3, 7), (6, 1, 3), {"stride": 2, "padding": 1}),
    ((2, 2, 5, 4), (4, 1, 3, 2), {"padding": (2, 1), "dilation": (2, 1)}),
    ((2, 3, 3, 4), (2, 1, 2, 2, 3), {"stride": (1, 2, 1), "padding": 1}),
]


@pytest.mark.parametrize(("images", "filters", "options"), DEPTHWISE)
def test_derivatives_where_filters_see_one_channel(images, filters, options):
    rank = len(filters) - 2
    convolve, given = getattr(numgrad, f"conv{rank}d"), _randoms(images, filters, filters[:1])

    def program(x, w, b):
        return convolve(x, w, b, **options, groups=images[-rank - 1])

    assert numgrad.autograd.gradcheck(program, given)
    assert numgrad.autograd.gradgradcheck(program, given)


BLOCKS = [  # of 16, 8 and 4 elements, which filters and lines fill or not
    ((2, 5, 12, 28), (16, 5, 3, 3), {"padding": 1}),
    ((2, 6, 12, 15), (22, 3, 3, 2), {"groups": 2}),
    ((3, 2, 40, 11), (7, 2, 4, 4), {"dilation": 2, "padding": (0, 3)}),
    ((4, 3, 31, 9), (8, 3, 3, 3), {"stride": 2}),
    ((2, 60, 300), (4, 60, 9), {}),
    ((2, 3, 7, 8, 9), (5, 3, 2, 2, 2), {"padding": 1}),
]


@pytest.mark.parametrize("dtype", [numgrad.float32, numgrad.float64])
@pytest.mark.parametrize(("images", "filters", "options"), BLOCKS)
def test_sums_kept_in_registers_are_those_of_products_of_matrices(images, filters, options, dtype):
    """Complex convolutions are always products of matrices."""
    x, w, b = _randoms(images, filters, filters[:1], dtype=dtype)
    convolve = getattr(numgrad, f"conv{len(filters) - 2}d")

    def results(*tensors):
        out = convolve(*tensors, **options)
        return out, *numgrad.autograd.grad(out, tensors, (out * 0.5).detach())

    wide = [tensor.detach().to(numgrad.complex128).requires_grad_() for tensor in (x, w, b)]
    tolerance = 1e-12 if dtype is numgrad.float64 else 2e-6
    for found, wanted in zip(results(x, w, b), results(*wide), strict=True):
        wanted = wanted.detach().real
        assert (found.detach() - wanted).abs().max() <= tolerance * wanted.abs().max()


def test_products_by_the_kernels_themselves(monkeypatch):
    """Without BLAS, and of integers."""
    x, w = [(tensor.detach() * 4).round().requires_grad_() for tensor in _randoms((3, 4, 11, 13), (4, 2, 3, 3))]

    def results(*tensors):
        out = numgrad.conv2d(*tensors, stride=(2, 3), padding=1, groups=2)
        gradients = numgrad.autograd.grad(out, tensors, out.detach()) if tensors[0].requires_grad else ()
        return out, numgrad.conv_transpose2d(*tensors, stride=2), *gradients

    wanted = results(*[tensor.detach().to(numgrad.complex128).requires_grad_() for tensor in (x, w)])
    monkeypatch.setattr(cpu_convolution, "blas_addresses", lambda function: {})
    for found, other in zip(results(x, w), wanted, strict=True):
        assert numgrad.equal(found, other.real)
    for found, other in zip(results(x.long(), w.long()), wanted[:2], strict=True):
        assert numgrad.equal(found, other.real.long())


def test_a_window_has_the_same_product_wherever_it_stands_in_a_line():
    x, w = _randoms((2, 4, 20, 48), (5, 4, 3, 3), dtype=numgrad.float32)
    out = numgrad.conv2d(x, w)
    for start in (1, 5, 13):
        assert numgrad.equal(out[..., start:], numgrad.conv2d(x[..., start:], w))


def test_gradients_lie_in_memory_as_they_like():
    x, w = _randoms((4, 3, 20, 21), (6, 3, 3, 3), dtype=numgrad.float32)
    out = numgrad.conv2d(x, w)
    transposed = numgrad.rand(out.shape).transpose(2, 3).contiguous().transpose(2, 3)
    for given in (numgrad.ones(()).expand(out.shape), transposed):
        found = numgrad.autograd.grad(out, (x, w), given, retain_graph=True)
        wanted = numgrad.autograd.grad(out, (x, w), given.contiguous(), retain_graph=True)
        assert all(numgrad.equal(a, b) for a, b in zip(found, wanted, strict=True))


LARGE = [
    ((3, 5, 40, 41), (17, 5, 3, 3), {"padding": 1}),
    ((3, 8, 40, 41), (16, 1, 3, 3), {"padding": 2}),
    ((2, 8, 4000), (8, 1, 5), {"padding": 2}),
    ((3, 8, 40, 41), (16, 8, 3, 3), {"padding": 1}),
    ((3, 8, 40, 41), (16, 4, 3, 3), {"stride": 2}),
    ((3, 8, 40, 41), (16, 8, 1, 1), {}),
]


@pytest.mark.parametrize(("images", "filters", "options"), LARGE)
def test_threads_change_nothing(images, filters, options):
    x, w = _randoms(images, filters, dtype=numgrad.float32)
    convolve = getattr(numgrad, f"conv{len(filters) - 2}d")

    def gradients():
        out = convolve(x, w, **options, groups=images[1] // filters[1])
        return [out.detach(), *numgrad.autograd.grad(out, (x, w), out.detach())]

    found, threads = gradients(), numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        wanted = gradients()
    finally:
        numba.set_num_threads(threads)
    assert all(numgrad.equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_only_gradients_that_are_needed_are_computed():
    x, w = _randoms((1, 1, 4, 4), (1, 1, 2, 2))
    with numgrad.profiler.profile() as profiled:
        numgrad.conv2d(x.detach(), w).sum().backward()
    with numgrad.profiler.profile() as both:
        numgrad.conv2d(x, w).sum().backward()
    assert len(profiled.events()) < len(both.events())


def test_attributes_of_a_node():
    x, w = _randoms((1, 1, 4, 4), (1, 1, 2, 2))
    node = numgrad.conv2d(x, w, padding=1).grad_fn
    assert node.name() == "ConvolutionBackward0"
    assert (node._saved_stride, node._saved_padding, node._saved_groups) == ((1, 1), (1, 1), 1)
    assert "_saved_needed" not in dir(node)


@pytest.mark.parametrize("value", [numgrad.nan, numgrad.inf])
@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_padding_does_not_spread_nan_or_infinity(case, value):
    padded_convolutions.check(*case, value, "cpu")


@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_nor_among_complex_numbers(case):
    padded_convolutions.check(*case, numgrad.nan, "cpu", numgrad.complex64)
