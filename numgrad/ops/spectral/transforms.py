"""The operations of discrete Fourier transforms, along one or several dimensions.

PyTorch's operations have the same names: real to complex numbers, complex to complex, and complex to real.  The
argument ``normalization`` is the code of the divisor: 0 stands for 1, 1 for the square root of the number of data
points, and 2 for this number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import devices
from ...core.layout import Layout, all_dims, contiguous_strides, layout_of
from ...core.types import complex_of, dtype, real_of, tensor_type
from ...tensors.tensor import Tensor
from ..pointwise.arithmetic import add
from ..pointwise.complexes import real
from ..shapes.padding import constant_pad
from ..shapes.parts import slice_backward, slice_op
from ..table.lookup import operation


def _transformed(input: Layout, dims: tuple[int, ...], length: int, dtype: dtype) -> Layout:
    """Return the layout of transforms whose last dimension has ``length`` numbers, with PyTorch's strides.

    Each transform is contiguous, and the transforms are in the memory order of the input.
    """
    batch, end = [*all_dims(input.shape)], len(input.shape)
    for first in all_dims(input.shape):  # the order that PyTorch gives to dimensions of equal strides
        while first < end and batch[first] in dims:
            end -= 1
            batch[first], batch[end] = batch[end], batch[first]
    order = [*sorted(batch[:end], key=lambda d: -input.strides[d]), *dims]
    shape = (*input.shape[: dims[-1]], length, *input.shape[dims[-1] + 1 :])
    steps = dict(zip(order, contiguous_strides(tuple([shape[d] for d in order])), strict=True))
    return layout_of(tensor_type(dtype, input.type.device), shape, tuple([steps[d] for d in range(len(shape))]))


def _by_stride(input: Layout, dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(dims, key=lambda d: -input.strides[d]))


def resized(input: Tensor, dims: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """Return the first elements along some dimensions, followed by zeros where there are too few."""
    rank = len(input._layout.shape)
    for dim, length in zip(dims, lengths, strict=True):
        missing = length - input._layout.shape[dim]
        if missing > 0:
            input = constant_pad(input, ((0, 0) * (rank - 1 - dim) + (0, missing) + (0, 0) * dim), 0)
        elif missing:
            input = slice_op(input, dim, 0, length, 1)
    return input


@operation("FftR2CBackward0", aten="_fft_r2c", linear=True, dims=["dims"], host=devices.fft_r2c)
def fft_r2c(input: Layout, dims: tuple[int, ...], normalization: int, onesided: bool) -> Any:
    length = input.shape[dims[-1]]
    order = (*_by_stride(input, dims[:-1]), dims[-1])
    return _transformed(input, order, length // 2 + 1 if onesided else length, complex_of(input.type.dtype))


@fft_r2c.gradient("input")
def _(grad, input_shape, dims, normalization, onesided):
    """``real(fft_c2c(resized(grad, input_shape), dims, normalization, False))``."""
    return real(fft_c2c(resized(grad, dims[-1:], (input_shape[dims[-1]],)), dims, normalization, False))


@operation("FftC2CBackward0", aten="_fft_c2c", linear=True, dims=["dims"], host=devices.fft_c2c)
def fft_c2c(input: Layout, dims: tuple[int, ...], normalization: int, forward: bool) -> Any:
    order = _by_stride(input, dims)
    return _transformed(input, order, input.shape[order[-1]], input.type.dtype)


@fft_c2c.gradient("input")
def _(grad, dims, normalization, forward):
    return fft_c2c(grad, dims, normalization, not forward)


@operation("FftC2RBackward0", aten="_fft_c2r", linear=True, dims=["dims"], host=devices.fft_c2r)
def fft_c2r(input: Layout, dims: tuple[int, ...], normalization: int, last_dim_size: int) -> Any:
    if len(dims) > 1:  # PyTorch transforms the last dimension on its own
        input = fft_c2c.prepare(input, dims[:-1], normalization, False)
    return _transformed(input, dims[-1:], last_dim_size, real_of(input.type.dtype))


@fft_c2r.gradient("input")
def _(grad, dims, normalization):
    """``fft_r2c(grad, dims, normalization, True)``, twice that where a number stands for its conjugate, too."""
    half = fft_r2c(grad, dims, normalization, True)
    shape, dim = half._layout.shape, dims[-1]
    stop = 1 + grad._layout.shape[dim] - shape[dim]
    return add(half, slice_backward(slice_op(half, dim, 1, stop, 1), shape, dim, 1, stop, 1))
