"""The largest elements of windows: what samples of a few elements do not show."""

import numgrad


def test_a_window_of_padding_alone():
    out, indices = numgrad.nn.functional.max_pool2d(numgrad.ones(1, 1, 1), 2, 1, 1, 2, return_indices=True)
    assert (out.item(), indices.item()) == (float("-inf"), 0)  # where PyTorch's index leads outside


def test_more_windows_than_one_thread_takes():
    x = numgrad.rand(8, 16, 64, 64)
    out, indices = numgrad.nn.functional.max_pool2d(x, 2, return_indices=True)
    assert numgrad.equal(out, x.unflatten(3, (32, 2)).unflatten(2, (32, 2)).amax((3, 5)))
    assert numgrad.equal(x.flatten(2).gather(2, indices.flatten(2)), out.flatten(2))


def test_gradients_of_each_example():
    x = numgrad.rand(3, 2, 5, 5)
    found = numgrad.vmap(numgrad.func.grad(lambda image: numgrad.max_pool2d(image, 2).square().sum()))(x)
    leaf = x.clone().requires_grad_()
    numgrad.max_pool2d(leaf, 2).square().sum().backward()
    assert numgrad.equal(found, leaf.grad)
