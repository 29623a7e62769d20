"""Steps of normalization of the channels of a batch, and of its gradients, on a GPU, as columns of a matrix.

A channel has ``inner`` neighbouring columns, and an example is a row.
"""

from __future__ import annotations

from numgrad_kernels.cuda import channel_columns as kernels

from ..plan import Buffer, Plan
from .launching import THREADS
from .memory import no_buffer, optional
from .reductions import fold_axis, set_moments, shared_out, variance_axis

#: Least number of elements for a thread that reads and writes four at a time.
_LEAST = 4


def normalized_columns(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, channels: int, inner: int, eps: float
) -> tuple[Buffer, Buffer, Buffer, Buffer]:
    """Return the buffers of normalized channels, of their means, of their scales, and of their variances."""
    dtype, width = x.dtype, channels * inner
    rows = x.size // width
    if inner == 1:
        variances, means = variance_axis(p, x, 1, rows, width, 0, False)
    else:
        variances, means = set_moments(p, x, width, rows, width, channels, inner, inner, 1)
    out, scales = p.new(x.size, dtype), p.new(channels, dtype)
    blocks, *shares = shared_out(width, rows, width, _LEAST)
    p.run(
        kernels.normalized_columns, dtype, x, rows, width, inner, *optional(weight, dtype), *optional(bias, dtype),
        variances, means, eps, *shares, out, scales, grid=(blocks, THREADS),
    )  # fmt: skip
    return out, means, scales, variances


def normalized_columns_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, inner: int, constant: bool
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the gradients with respect to ``x``, the weight and the bias."""
    dtype, channels = x.dtype, means.size
    width = channels * inner
    rows, out = x.size // width, p.new(x.size, dtype)
    blocks, *shares = shared_out(width, rows, width)
    pieces = shares[2]
    sums = p.new(2 * width * pieces, dtype)
    p.run(
        kernels.column_sums, dtype, grad, x, *optional(weight, dtype), means, scales, rows, width, inner, *shares, sums,
        out if constant else no_buffer(dtype), grid=(blocks, THREADS), CONSTANT=int(constant),
    )  # fmt: skip
    if inner * pieces > 1:
        sums = fold_axis(p, sums, 2 * channels, inner * pieces, 1, "sum", dtype)
    if not constant:
        blocks, *shares = shared_out(width, rows, width, _LEAST)
        p.run(
            kernels.columns_gradient, dtype, grad, x, rows, width, inner, *optional(weight, dtype), means, scales, sums,
            channels, *shares, out, grid=(blocks, THREADS),
        )  # fmt: skip
    return out, sums.part(0, channels), sums.part(channels, channels)
