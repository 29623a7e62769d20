"""Steps of normalization of rows, and of sets of channels, and of its gradients, on a GPU."""

from __future__ import annotations

from numgrad_kernels.cuda import normalization, planes
from numgrad_kernels.cuda.lines import write4_packed

from ..common import set_steps
from ..plan import Buffer, Plan
from .channel_columns import normalized_columns, normalized_columns_gradients
from .launching import MOST_BLOCKS, THREADS
from .lines import arranged, packed, power_of_two
from .memory import no_buffer, optional
from .reductions import fold_axis, set_moments, shared_out
from .reductions import packed as packed_rows

__all__ = [
    "channels_are_fused", "layer_norm_backward_rows", "layer_norm_gradients", "layer_norm_rows", "normalized_channels",
    "normalized_channels_gradients",
]

#: The gradients of weight and bias are summed in pieces: the largest number of pieces, and the fewest rows of a piece.
PIECES, LEAST = max(MOST_BLOCKS // 4, 2), 8

#: A block keeps the sums of a row in shared memory if the row has at most LONGEST bytes and at least SHORTEST elements;
#: for shorter rows, threads would be idle.
LONGEST, SHORTEST = 64 * THREADS, max(THREADS // 4, 4)


def layer_norm_rows(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, length: int, count: int, eps: float
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of ``count`` normalized rows of ``length`` elements, of their means, and of their scales.

    A normalized row has mean 0 and variance 1 before it is multiplied by ``weight`` and ``bias`` is added.  Its scale
    is ``1 / sqrt(variance + eps)``.
    """
    dtype = x.dtype
    *arrangement, _, blocks, threads = arranged(count, length)
    out, means, scales = [p.new(size, dtype) for size in (x.size, count, count)]
    p.run(
        normalization.layer_norm_rows, dtype, x, count, length, *optional(weight, dtype), *optional(bias, dtype), eps,
        *arrangement, out, means, scales, grid=(blocks, threads), aligned=packed(length),
    )  # fmt: skip
    return out, means, scales


def layer_norm_backward_rows(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> Buffer:
    """Return the buffer of the gradient with respect to ``x``."""
    dtype, count = x.dtype, means.size
    *arrangement, _, blocks, threads = arranged(count, length)
    out = p.new(x.size, dtype)
    p.run(
        normalization.layer_norm_backward_rows, dtype, grad, x, means, scales, count, length, *optional(weight, dtype),
        *arrangement, out, grid=(blocks, threads), aligned=packed(length),
    )  # fmt: skip
    return out


def layer_norm_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the gradients with respect to ``x``, the weight and the bias."""
    dtype, count = x.dtype, means.size
    pieces = min(PIECES, -(-count // LEAST))
    rows = -(-count // pieces) if pieces else 0
    pieces = -(-count // rows) if pieces else 0
    parts = p.new(pieces * 2 * length, dtype)
    if SHORTEST <= length <= LONGEST // dtype.itemsize:
        out = p.new(x.size, dtype)
        threads = min(THREADS, max(power_of_two(-(-length // 4)), 32))
        p.run(
            normalization.layer_norm_gradients, dtype, grad, x, means, scales, count, length, *optional(weight, dtype),
            rows, out, parts, grid=(pieces, threads), aligned=packed(length),
            KEPT=max(power_of_two(length), 4 * threads),
        )  # fmt: skip
    else:
        out = layer_norm_backward_rows(p, grad, x, means, scales, weight, length)
        columns = min(power_of_two(length), THREADS)
        strips = -(-length // columns)
        p.run(
            normalization.layer_norm_columns, dtype, grad, x, means, scales, count, length, rows, strips,
            THREADS // columns, columns.bit_length() - 1, parts, grid=(pieces * strips, THREADS),
        )  # fmt: skip
    sums = parts if pieces == 1 else fold_axis(p, parts, 1, pieces, 2 * length, "sum", dtype)
    return out, sums.part(0, length), sums.part(length, length)


#: Least number of elements of a channel of an example for kernels over rows of these: threads would be idle.
SHORTEST_PLANE = 8


def channels_are_fused(inner: int, across: bool) -> bool:
    """Return True if kernels normalize channels of ``inner`` elements; otherwise operations use reductions."""
    return across or inner >= SHORTEST_PLANE


def normalized_channels(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, channels: int, inner: int, sets: int,
    across: bool, eps: float,
) -> tuple[Buffer, Buffer, Buffer, Buffer]:
    """Return the buffers of normalized sets of channels, of the sets' means, of their scales, and of their variances.

    See the function of the CPU for the arguments.
    """
    dtype, count = x.dtype, x.size // inner
    out, scales = p.new(x.size, dtype), p.new(sets, dtype)
    if not x.size:
        return out, p.new(sets, dtype), scales, p.new(sets, dtype)
    if across and inner < SHORTEST_PLANE:
        return normalized_columns(p, x, weight, bias, channels, inner, eps)
    members, first, step = set_steps(channels, count, sets, across)
    variances, means = set_moments(p, x, count, inner, 1, sets, members, first, step)
    *arrangement, _, blocks, threads = arranged(count, inner)
    p.run(
        planes.normalized_planes, dtype, x, count, inner, *optional(weight, dtype), *optional(bias, dtype), variances,
        means, eps, channels, members, first, int(across), *arrangement, out, scales, grid=(blocks, threads),
        aligned=packed(inner),
    )  # fmt: skip
    return out, means, scales, variances


def normalized_channels_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, channels: int, inner: int,
    across: bool, constant: bool = False,
) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers of the gradients with respect to ``x``, the weight and the bias; see the function of the CPU.

    If means and scales are ``constant``, one kernel computes the gradient and the parts of the sums.
    """
    if x.size and across and inner < SHORTEST_PLANE:
        return normalized_columns_gradients(p, grad, x, means, scales, weight, inner, constant)
    dtype, count, sets = x.dtype, x.size // inner, means.size
    out, pieces, sums = p.new(x.size, dtype), 1, p.new(2 * count, dtype)
    if x.size:
        members, first, step = set_steps(channels, count, sets, across)
        sums_blocks, shift, depth, pieces, piece_size = shared_out(count, inner, 1)
        sums, aligned = p.new(2 * count * pieces, dtype), packed_rows(dtype, count, inner, 1)
        p.run(
            planes.plane_sums, dtype, grad, x, *optional(weight, dtype), means, scales, count, inner, channels, members,
            int(across), shift, depth, pieces, piece_size, sums, out if constant else no_buffer(dtype),
            grid=(sums_blocks, THREADS), aligned=aligned and {**aligned, "write4": write4_packed},
            CONSTANT=int(constant),
        )  # fmt: skip
    if x.size and not constant:
        of_sets = p.new(2 * sets, dtype)
        p.run(
            planes.set_means, dtype, sums, sets, count, pieces, *optional(weight, dtype), channels, members, first,
            step, float(members * inner), of_sets, grid=(-(-sets // (THREADS // min(THREADS, 32))), THREADS),
        )  # fmt: skip
        *arrangement, _, blocks, threads = arranged(count, inner)
        p.run(
            planes.planes_gradient, dtype, grad, x, count, inner, sets, *optional(weight, dtype), means, scales,
            of_sets, channels, members, int(across), *arrangement, out, grid=(blocks, threads), aligned=packed(inner),
        )  # fmt: skip
    if pieces > 1:
        sums = fold_axis(p, sums, 2 * count, pieces, 1, "sum", dtype)
    sums = fold_axis(p, sums, 2, count // channels, channels, "sum", dtype)
    return out, sums.part(0, channels), sums.part(channels, channels)
