"""The largest elements of windows: what samples of a few elements do not show."""

import numpy as np

import numgrad


def test_a_window_of_padding_alone():
    out, indices = numgrad.nn.functional.max_pool2d(numgrad.ones(1, 1, 1), 2, 1, 1, 2, return_indices=True)
    assert (out.item(), indices.item()) == (float("-inf"), 0)  # where PyTorch's index leads outside


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
