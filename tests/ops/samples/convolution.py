"""Samples of convolutions, of their gradients for images and filters, and of windows as columns."""

import math

import numpy as np
from ops.sampling import FLOATS, sample, without

without("convolution_op convolution_input convolution_weight conv_transpose_op im2col_op col2im_op", "0-d")


def _pairs(images, filters, out, stride, padding, dilation, groups):
    """Return which elements of an image, a filter and a result belong together: three indices per filter position."""
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


def _transposed(x, weight, bias, stride, padding, extra, dilation, groups):
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, extra, dilation, strict=True)
    size = [(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, e, d in sizes]
    out = _of_images(x, weight, size, stride, padding, dilation, groups)
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(stride))


def _identity(channels, kernel, dtype):
    """A filter for each channel and element of a window, which gives that element."""
    return np.eye(channels * math.prod(kernel), dtype=dtype).reshape(-1, channels, *kernel)


def _unfolded(x, kernel, dilation, padding, stride):
    images = x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])
    filters = _identity(x.shape[-3], kernel, x.dtype)
    out = _convolution(images, filters, None, stride, padding, dilation, 1)
    return out.reshape(*x.shape[:-3], out.shape[1], math.prod(out.shape[2:]))


def _folded(x, size, kernel, dilation, padding, stride):
    filters = _identity(x.shape[-2] // math.prod(kernel), kernel, x.dtype)
    each_dim = zip(size, kernel, dilation, padding, stride, strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in each_dim]
    grad = x.reshape(math.prod(x.shape[:-2]), x.shape[-2], *counts)
    return _of_images(grad, filters, size, stride, padding, dilation, 1).reshape(*x.shape[:-2], filters.shape[1], *size)


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

for _images, _filters, _channels, _how in (
    ((2, 2, 4), (2, 3, 2), 3, ((2,), (1,), (1,), (1,), 1)),
    ((2, 4, 2, 3), (4, 1, 3, 2), 2, ((2, 1), (1, 0), (0, 1), (1, 2), 2)),
    ((0, 1, 2, 2), (1, 1, 2, 2), 1, ((1, 1), (0, 0), (0, 0), (1, 1), 1)),
):
    for _bias in (None, (_channels,)):
        sample("conv_transpose_op", _transposed, _images, _filters, _bias, args=_how, dtypes=("float64",))

for _shape, _how in (
    ((2, 3, 4, 5), ((2, 3), (1, 2), (0, 1), (2, 1))), ((2, 5, 4), ((3, 3), (1, 1), (1, 1), (1, 2))),
    ((0, 1, 3, 3), ((2, 2), (1, 1), (0, 0), (1, 1))),
):
    sample("im2col_op", _unfolded, _shape, args=_how, dtypes=("float64",))
for _shape, _size, _how in (
    ((2, 12, 6), (4, 5), ((2, 3), (1, 2), (0, 1), (2, 1))), ((18, 10), (5, 4), ((3, 3), (1, 1), (1, 1), (1, 2))),
    ((0, 4, 4), (3, 3), ((2, 2), (1, 1), (0, 0), (1, 1))),
):
    sample("col2im_op", _folded, _shape, args=(_size, *_how), dtypes=("float64",))
