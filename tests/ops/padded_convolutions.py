"""Convolutions of numbers that are not finite, and their gradients, against sums without padding, for every device."""

import itertools

import numpy as np

import numgrad

#: Images' and filters' shapes, stride, padding, dilation and groups.
CASES = [
    ((2, 1, 6), (2, 1, 3), 1, 0, 1, 1), ((2, 2, 7), (2, 2, 3), 1, 1, 1, 1), ((1, 2, 40), (2, 1, 3), 2, 2, 2, 2),
    ((2, 2, 5, 6), (2, 2, 3, 3), 1, 1, 1, 1), ((1, 4, 5, 4), (4, 2, 3, 2), 2, 1, 1, 2),
    ((1, 2, 4, 5), (2, 1, 3, 3), 1, 2, 2, 2), ((1, 1, 3, 4, 3), (2, 1, 2, 3, 2), 1, 1, 1, 1),
]  # fmt: skip


def check(images, filters, stride, padding, dilation, groups, value, device, dtype=numgrad.float32):
    """Compare results and gradients where one element of the images, filters or gradients is ``value``."""
    dims, how = len(images) - 2, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    steps = np.array(images[2:]) + 2 * padding - dilation * (np.array(filters[2:]) - 1) - 1
    shapes = images, filters, (images[0], filters[0], *(steps // stride + 1))
    rng = np.random.default_rng(0)
    correlate = getattr(numgrad.nn.functional, f"conv{dims}d")
    spread = getattr(numgrad.nn.functional, f"conv_transpose{dims}d")
    for number, last in itertools.product(range(3), (False, True)):
        arrays = [rng.integers(-9, 10, shape) + 0.5 for shape in shapes]
        arrays[number].flat[-1 if last else 0] = value
        bias = np.arange(2.0 * filters[0])[::2]
        expected = _sums(*arrays, bias, **how)
        x, weight, grad, bias = (numgrad.tensor(a, dtype=dtype, device=device) for a in (*arrays, bias))
        bias = numgrad.stack([bias, bias], 1)[:, 0]  # a view whose elements are apart
        x.requires_grad_(), weight.requires_grad_()
        out = correlate(x, weight, bias, **how)
        found = out.detach(), *numgrad.autograd.grad(out, (x, weight), grad)
        found += (spread(grad, weight.detach(), output_padding=tuple((steps % stride).tolist()), **how),)
        for one, other in zip(found, (*expected, expected[1]), strict=True):
            np.testing.assert_allclose(one.cpu().numpy(), other, 1e-5)


def _sums(x, weight, grad, bias, stride, padding, dilation, groups):
    """The convolution and its gradients for images and filters, element by element."""
    out = np.zeros(grad.shape) + bias.reshape(-1, *[1] * (x.ndim - 2))
    of_x, of_weight = np.zeros(x.shape), np.zeros(weight.shape)
    for (n, o, *position), (c, *tap) in itertools.product(np.ndindex(grad.shape), np.ndindex(weight.shape[1:])):
        place = np.array(position) * stride + np.array(tap) * dilation - padding
        if (place >= 0).all() and (place < x.shape[2:]).all():
            at = n, o // (len(weight) // groups) * weight.shape[1] + c, *place
            out[n, o, *position] += weight[o, c, *tap] * x[at]
            of_x[at] += grad[n, o, *position] * weight[o, c, *tap]
            of_weight[o, c, *tap] += grad[n, o, *position] * x[at]
    return out, of_x, of_weight
