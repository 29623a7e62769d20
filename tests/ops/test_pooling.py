"""Pooling, and images in other sizes: cases that samples of a few elements do not cover."""

import numpy as np
import pytest

import numgrad
from numgrad.nn import functional


def test_a_window_of_padding_alone():
    out, indices = numgrad.nn.functional.max_pool2d(numgrad.ones(1, 1, 1), 2, 1, 1, 2, return_indices=True)
    assert (out.item(), indices.item()) == (float("-inf"), 0)  # where PyTorch's index is out of range


def test_more_windows_than_one_thread_takes():
    x = numgrad.rand(8, 16, 64, 64)
    out, indices = numgrad.nn.functional.max_pool2d(x, 2, return_indices=True)
    np.testing.assert_array_equal(out, x.numpy().reshape(8, 16, 32, 2, 32, 2).max((3, 5)))
    picked = np.take_along_axis(x.numpy().reshape(8, 16, -1), indices.numpy().reshape(8, 16, -1), 2)
    np.testing.assert_array_equal(out.reshape(8, 16, -1), picked)


def test_gradients_of_each_example():
    x = numgrad.rand(3, 2, 5, 5)
    found = numgrad.vmap(numgrad.func.grad(lambda image: numgrad.max_pool2d(image, 2).square().sum()))(x)
    leaf = x.clone().requires_grad_()
    numgrad.max_pool2d(leaf, 2).square().sum().backward()
    assert numgrad.equal(found, leaf.grad)


LINES, IMAGES, VOLUMES = (3, 2, 4, 8), (3, 2, 4, 8, 8), (3, 1, 4, 4, 4, 4)


def _unpooled(x):
    return functional.max_unpool2d(*functional.max_pool2d(x, 2, return_indices=True), 2)


@pytest.mark.parametrize(("shape", "function"), [
    (LINES, lambda x: functional.avg_pool1d(x, 2)), (IMAGES, lambda x: functional.avg_pool2d(x, 3, 2, 1)),
    (VOLUMES, lambda x: functional.avg_pool3d(x, 2)), (LINES, lambda x: functional.adaptive_avg_pool1d(x, 3)),
    (IMAGES, lambda x: functional.adaptive_avg_pool2d(x, (3, 5))), (IMAGES, _unpooled),
    (LINES, lambda x: functional.adaptive_max_pool1d(x, 3)), (IMAGES, lambda x: functional.lp_pool2d(x, 2, 2)),
    (IMAGES, lambda x: functional.interpolate(x, 5, mode="bicubic", antialias=True)),
    (IMAGES, lambda x: functional.pad(x, (1, 2, -1, 1), "reflect")), (IMAGES, lambda x: numgrad.pixel_shuffle(x, 2)),
    (IMAGES, lambda x: functional.channel_shuffle(x, 2)),
    (IMAGES, lambda x: functional.grid_sample(x, x[:, :2, :3, :2] * 2 - 1, align_corners=False)),
])  # fmt: skip
def test_functions_of_images_for_each_example(shape, function):
    x = numgrad.rand(shape, dtype=numgrad.float64)
    np.testing.assert_allclose(numgrad.vmap(function)(x), numgrad.stack([function(one) for one in x]), 1e-12, 1e-12)

    def loss(x):
        return function(x).square().sum()

    each = numgrad.stack([numgrad.func.grad(loss)(one) for one in x])
    np.testing.assert_allclose(numgrad.vmap(numgrad.func.grad(loss))(x), each, 1e-12, 1e-12)


def test_means_of_many_windows():
    x = numgrad.rand(8, 16, 64, 64)  # more than one thread takes
    np.testing.assert_allclose(functional.avg_pool2d(x, 2), x.numpy().reshape(8, 16, 32, 2, 32, 2).mean((3, 5)), 1e-6)


def test_means_of_ones_are_ones():
    for kernel in (3, 7, 10):
        assert (functional.avg_pool2d(numgrad.ones(1, 1, 20, 20), kernel, 1) == 1).all()


def test_an_index_that_leads_outside_leaves_nothing_behind():
    with pytest.raises(RuntimeError, match=r"Found an invalid max index: 9 \(output volumes are of size 2x2\)"):
        functional.max_unpool2d(numgrad.ones(1, 1, 1), numgrad.full((1, 1, 1), 9), 2)


def test_adaptive_pooling_returns_indices():
    out, indices = numgrad.adaptive_max_pool1d(numgrad.tensor([[1.0, 3.0, 2.0]]), 1)  # as in PyTorch
    assert (out.item(), indices.item()) == (3, 1)


def test_how_many_ratios_fractional_pooling_takes():
    cube = numgrad.ones(1, 8, 8, 8)
    in_two, in_three = functional.fractional_max_pool2d, functional.fractional_max_pool3d
    assert in_three(cube, 2, output_ratio=(0.5, 0.25, 0.5, 0.9)).shape == (1, 4, 2, 4)  # as PyTorch
    for pool, ratios in [(in_three, (0.5, 0.5)), (in_two, (0.5, 0.5, 0.5))]:
        with pytest.raises(ValueError, match=f"of them, not {len(ratios)}"):
            pool(cube, 2, output_ratio=ratios)
