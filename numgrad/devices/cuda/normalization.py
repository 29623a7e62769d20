"""Layer normalization of rows, and its gradients."""

from __future__ import annotations

from typing import Any

from numgrad_kernels.cuda import normalization

from ..plan import Buffer, Plan
from .launching import MOST_BLOCKS, THREADS
from .lines import arranged, packed, power_of_two
from .memory import optional
from .reductions import fold_axis

__all__ = [
    "layer_norm_backward_rows", "layer_norm_gradients", "layer_norm_rows", "normalized_planes",
    "normalized_planes_gradients",
]

#: Pieces whose sums for weight and bias are added up at the end, at most, and the rows of one at least.
PIECES, LEAST = max(MOST_BLOCKS // 4, 2), 8

#: Bytes of a row whose sums a block keeps in shared memory, at most, and its elements at least: otherwise, threads
#: would have nothing to do.
LONGEST, SHORTEST = 64 * THREADS, max(THREADS // 4, 4)


def layer_norm_rows(
    p: Plan, x: Buffer, weight: Buffer | None, bias: Buffer | None, length: int, count: int, eps: float
) -> tuple[Buffer, Buffer, Buffer]:
    """``count`` rows of ``length`` elements with mean 0 and variance 1, times ``weight``, plus ``bias``.

    Besides these: the mean of each row, and 1 by the square root of its variance and ``eps``.
    """
    dtype = x.dtype
    columns, depth, shift, _, blocks, threads = arranged(count, length)
    out, means, scales = [p.new(size, dtype) for size in (x.size, count, count)]
    p.run(
        normalization.layer_norm_rows, dtype, x, count, length, *optional(weight, dtype), *optional(bias, dtype), eps,
        columns, depth, shift, out, means, scales, grid=(blocks, threads), aligned=packed(length),
    )  # fmt: skip
    return out, means, scales


def layer_norm_backward_rows(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> Buffer:
    """The gradient for what is normalized."""
    dtype, count = x.dtype, means.size
    columns, depth, shift, _, blocks, threads = arranged(count, length)
    out = p.new(x.size, dtype)
    p.run(
        normalization.layer_norm_backward_rows, dtype, grad, x, means, scales, count, length, *optional(weight, dtype),
        columns, depth, shift, out, grid=(blocks, threads), aligned=packed(length),
    )  # fmt: skip
    return out


def layer_norm_gradients(
    p: Plan, grad: Buffer, x: Buffer, means: Buffer, scales: Buffer, weight: Buffer | None, length: int
) -> tuple[Buffer, Buffer, Buffer]:
    """The gradients for what is normalized, for the weight and for the bias."""
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


def normalized_planes(*arguments: Any) -> None:
    """None, like the next: there are other steps for it here; see the CPU's."""


def normalized_planes_gradients(*arguments: Any) -> None:
    """None."""
