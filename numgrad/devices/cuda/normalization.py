"""Layer normalization of rows, and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import normalization

from ..plan import on_memory
from ..rows import DeviceRow
from . import executing
from .launching import MOST_BLOCKS, THREADS, launch
from .lines import arranged, packed, power_of_two
from .memory import empty_row, optional
from .reductions import fold_axis

__all__ = [
    "layer_norm_backward_launcher", "layer_norm_gradients_launcher", "layer_norm_launcher",
    "plane_norm_gradients_launcher", "plane_norm_launcher",
]

#: Pieces whose sums for weight and bias are added up at the end, at most, and the rows of one at least.
PIECES, LEAST = max(MOST_BLOCKS // 4, 2), 8

#: Bytes of a row whose sums a block keeps in shared memory, at most, and its elements at least: otherwise, threads
#: would have nothing to do.
LONGEST, SHORTEST = 64 * THREADS, max(THREADS // 4, 4)


def layer_norm_launcher(
    type: Any, size: int, length: int, count: int, eps: float
) -> Callable[..., tuple[DeviceRow, DeviceRow, DeviceRow]]:
    """What makes ``count`` rows of ``length`` elements ones of mean 0 and variance 1, times ``weight``, plus ``bias``.

    ``launch(flat, weight, bias)`` returns them, the mean of each row, and 1 by the square root of its variance and
    ``eps``.
    """
    dtype = type.numpy
    columns, depth, shift, _, blocks, threads = arranged(count, length)

    def launched(
        flat: DeviceRow, weight: DeviceRow | None, bias: DeviceRow | None
    ) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
        out, means, scales = [empty_row(number, dtype, flat.device) for number in (size, count, count)]
        given = *optional(weight, dtype), *optional(bias, dtype)
        launch(
            normalization.layer_norm_rows, dtype, flat, count, length, *given, float(eps), columns, depth, shift, out,
            means, scales, blocks=blocks, threads=threads, **packed(length, flat, out, given[0], given[2]),
        )  # fmt: skip
        return out, means, scales

    return launched


def layer_norm_backward_launcher(type: Any, size: int, length: int) -> Callable[..., DeviceRow]:
    """What computes the gradient for what is normalized: ``launch(grad, flat, means, scales, weight)``."""

    def launched(
        grad: DeviceRow, flat: DeviceRow, means: DeviceRow, scales: DeviceRow, weight: DeviceRow | None
    ) -> DeviceRow:
        out = empty_row(size, type.numpy, flat.device)
        if size:
            columns, depth, shift, _, blocks, threads = arranged(means.size, length)
            given = optional(weight, flat.dtype)
            launch(
                normalization.layer_norm_backward_rows, type.numpy, grad, flat, means, scales, means.size, length,
                *given, columns, depth, shift, out, blocks=blocks, threads=threads,
                **packed(length, grad, flat, out, given[0]),
            )  # fmt: skip
        return out

    return launched


def layer_norm_gradients_launcher(
    type: Any, size: int, length: int, count: int
) -> Callable[..., tuple[DeviceRow, DeviceRow, DeviceRow]]:
    """What computes the gradients for what is normalized, ``count`` rows, for the weight and for the bias.

    It is called like that of :func:`layer_norm_backward_launcher`.
    """
    dtype = type.numpy
    pieces = min(PIECES, -(-count // LEAST))
    rows = -(-count // pieces) if pieces else 0
    pieces = -(-count // rows) if pieces else 0
    backward = layer_norm_backward_launcher(type, size, length)

    def launched(
        grad: DeviceRow, flat: DeviceRow, means: DeviceRow, scales: DeviceRow, weight: DeviceRow | None
    ) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
        parts = empty_row(pieces * 2 * length, dtype, flat.device)
        if SHORTEST <= length <= LONGEST // dtype.itemsize and count:
            out = empty_row(size, dtype, flat.device)
            given = optional(weight, flat.dtype)
            threads = min(THREADS, max(power_of_two(-(-length // 4)), 32))
            launch(
                normalization.layer_norm_gradients, dtype, grad, flat, means, scales, count, length, *given, rows, out,
                parts, blocks=pieces, threads=threads, KEPT=max(power_of_two(length), 4 * threads),
                **packed(length, grad, flat, out, given[0]),
            )  # fmt: skip
        else:
            out = backward(grad, flat, means, scales, weight)
            columns = min(power_of_two(length), THREADS)
            strips = -(-length // columns)
            launch(
                normalization.layer_norm_columns, dtype, grad, flat, means, scales, count, length, rows, strips,
                THREADS // columns, columns.bit_length() - 1, parts, blocks=pieces * strips,
            )  # fmt: skip
        sums = parts
        if pieces != 1:
            sums = on_memory(
                executing, parts.device, fold_axis, [(parts.size, dtype)], 1, pieces, 2 * length, "sum", dtype
            )(parts)
        return out, sums[:length], sums[length:]

    return launched


def plane_norm_launcher(*geometry: Any) -> None:
    """None, like the next: what it computes are other launches here; see the CPU's."""


def plane_norm_gradients_launcher(*geometry: Any) -> None:
    """None."""
