"""Samples of convolutions and of their gradients for images and filters."""

import numpy as np
from ops.sampling import FLOATS, sample, without

without("convolution_op convolution_input convolution_weight", "0-d")


def _pairs(images, filters, out, stride, padding, dilation, groups):
    """Which elements of an image, a filter and a result go together: for each position of a filter, three indices."""
    channels = filters[1]
    for o, c, *k in np.ndindex(filters):
        image = [slice(None), o // (filters[0] // groups) * channels + c]
        result = [slice(None), o]
        for size, extent, at, s, p, d in zip(images[2:], out[2:], k, stride, padding, dilation, strict=True):
            inside = [i for i in range(extent) if 0 <= i * s + at * d - p < size]
            result.append(inside)
            image.append([i * s + at * d - p for i in inside])
        yield tuple(image), (o, c, *k), tuple(result)


def _outer(index):
    """The index of all combinations of the positions in it."""
    return (index[0], index[1], *np.ix_(*index[2:]))


def _convolution(x, weight, bias, stride, padding, dilation, groups):
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    extents = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes]
    out = np.zeros((x.shape[0], weight.shape[0], *extents), x.dtype)
    for image, filter, result in _pairs(x.shape, weight.shape, out.shape, stride, padding, dilation, groups):
        out[_outer(result)] += weight[filter] * x[_outer(image)]
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(stride))


def _of_images(grad, weight, size, *how):
    out = np.zeros((grad.shape[0], how[-1] * weight.shape[1], *size), grad.dtype)
    for image, filter, result in _pairs(out.shape, weight.shape, grad.shape, *how):
        out[_outer(image)] += weight[filter] * grad[_outer(result)]
    return out


def _of_filters(grad, x, kernel, *how):
    out = np.zeros((grad.shape[1], x.shape[1] // how[-1], *kernel), grad.dtype)
    for image, filter, result in _pairs(x.shape, out.shape, grad.shape, *how):
        out[filter] += (grad[_outer(result)] * x[_outer(image)]).sum()
    return out


for _images, _filters, _out, _how in (
    ((2, 2, 4), (3, 2, 2), (2, 3, 3), ((1,), (0,), (1,), 1)),
    ((2, 2, 5, 4), (4, 1, 3, 2), (2, 4, 3, 1), ((2, 2), (1, 0), (1, 2), 2)),
    ((0, 1, 3, 3), (1, 1, 2, 2), (0, 1, 2, 2), ((1, 1), (0, 0), (1, 1), 1)),
):
    for _bias in (None, (_filters[0],)):
        _dtypes = FLOATS if len(_images) == 3 and _bias else ("float64",)
        sample("convolution_op", _convolution, _images, _filters, _bias, args=_how, dtypes=_dtypes)
    sample("convolution_input", _of_images, _out, _filters, args=(_images[2:], *_how), dtypes=("float64",))
    sample("convolution_weight", _of_filters, _out, _images, args=(_filters[2:], *_how), dtypes=("float64",))
