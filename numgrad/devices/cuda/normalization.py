"""Layer normalization of rows, and its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import normalization

from ..rows import DeviceRow
from .launching import MOST_BLOCKS, THREADS, launch
from .lines import arranged, packed, power_of_two
from .memory import empty_row, no_row
from .reductions import fold_axis

__all__ = [
    "layer_norm_backward_launcher", "layer_norm_gradients", "layer_norm_gradients_launcher", "layer_norm_launcher",
    "layer_norm_rows", "layer_norm_rows_backward",
]

#: Pieces whose sums for weight and bias are added up at the end, at most, and the rows of one at least.
PIECES, LEAST = max(MOST_BLOCKS // 4, 2), 8

#: Bytes of a row whose sums a block keeps in shared memory, at most, and its elements at least: otherwise, threads
#: would have nothing to do.
LONGEST, SHORTEST = 64 * THREADS, max(THREADS // 4, 4)


def _optional(*rows: DeviceRow | None, like: DeviceRow) -> list[Any]:
    """What a kernel is told of rows that need not be: each, and whether there is one."""
    given: list[Any] = []
    for row in rows:
        given += [no_row(like.dtype), 0] if row is None else [row, 1]
    return given


def layer_norm_launcher(type: Any, size: int, length: int) -> Callable[..., DeviceRow]:
    """What computes :func:`layer_norm_rows`: ``launch(flat, weight, bias, eps, means, scales)``."""
    return lambda flat, weight, bias, eps, *rows: layer_norm_rows(flat, length, weight, bias, eps, *rows)


def layer_norm_backward_launcher(type: Any, size: int, length: int) -> Callable[..., DeviceRow]:
    """What computes :func:`layer_norm_rows_backward`: ``launch(grad, flat, means, scales, weight)``."""
    return lambda grad, flat, means, scales, weight: layer_norm_rows_backward(
        grad, flat, means, scales, length, weight
    )


def layer_norm_gradients_launcher(
    type: Any, size: int, length: int, count: int
) -> Callable[..., tuple[DeviceRow, DeviceRow, DeviceRow]]:
    """What computes :func:`layer_norm_gradients`: ``launch(grad, flat, means, scales, weight)``."""
    return lambda grad, flat, means, scales, weight: layer_norm_gradients(
        grad, flat, means, scales, length, weight, type
    )


def layer_norm_rows(
    flat: DeviceRow, length: int, weight: DeviceRow | None, bias: DeviceRow | None, eps: float, means: DeviceRow,
    scales: DeviceRow,
) -> DeviceRow:
    """Each row of ``length`` elements with mean 0 and variance 1, times ``weight``, plus ``bias``.

    ``means`` and ``scales`` are filled with the mean of each row and 1 by the square root of its variance and ``eps``.
    """
    kind, lines = flat.dtype, means.size
    out = empty_row(flat.size, kind, flat.device)
    columns, depth, shift, _, blocks, threads = arranged(lines, length)
    given = _optional(weight, bias, like=flat)
    launch(
        normalization.layer_norm_rows, kind, flat, lines, length, *given, float(eps), columns, depth, shift, out, means,
        scales, blocks=blocks, threads=threads, **packed(length, flat, out, given[0], given[2]),
    )  # fmt: skip
    return out


def layer_norm_rows_backward(
    grad: DeviceRow, flat: DeviceRow, means: DeviceRow, scales: DeviceRow, length: int, weight: DeviceRow | None
) -> DeviceRow:
    """The gradient of :func:`layer_norm_rows` for what is normalized."""
    kind, lines = flat.dtype, means.size
    out = empty_row(flat.size, kind, flat.device)
    if flat.size:
        columns, depth, shift, _, blocks, threads = arranged(lines, length)
        given = _optional(weight, like=flat)
        launch(
            normalization.layer_norm_backward_rows, kind, grad, flat, means, scales, lines, length, *given, columns,
            depth, shift, out, blocks=blocks, threads=threads, **packed(length, grad, flat, out, given[0]),
        )  # fmt: skip
    return out


def layer_norm_gradients(
    grad: DeviceRow, flat: DeviceRow, means: DeviceRow, scales: DeviceRow, length: int, weight: DeviceRow | None,
    type: Any,
) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
    """The gradients of :func:`layer_norm_rows` for what is normalized, for the weight and for the bias."""
    kind, lines = flat.dtype, means.size
    pieces = min(PIECES, -(-lines // LEAST))
    rows = -(-lines // pieces) if pieces else 0
    pieces = -(-lines // rows) if pieces else 0
    parts = empty_row(pieces * 2 * length, kind, flat.device)
    if SHORTEST <= length <= LONGEST // kind.itemsize and lines:
        out = empty_row(flat.size, kind, flat.device)
        given = _optional(weight, like=flat)
        threads = min(THREADS, max(power_of_two(-(-length // 4)), 32))
        kept = max(power_of_two(length), 4 * threads)
        launch(
            normalization.layer_norm_gradients, kind, grad, flat, means, scales, lines, length, *given, rows, out,
            parts, blocks=pieces, threads=threads, KEPT=kept, **packed(length, grad, flat, out, given[0]),
        )  # fmt: skip
    else:
        out = layer_norm_rows_backward(grad, flat, means, scales, length, weight)
        columns = min(power_of_two(length), THREADS)
        strips = -(-length // columns)
        launch(
            normalization.layer_norm_columns, kind, grad, flat, means, scales, lines, length, rows, strips,
            THREADS // columns, columns.bit_length() - 1, parts, blocks=pieces * strips,
        )  # fmt: skip
    sums = parts if pieces == 1 else fold_axis(parts, 1, pieces, 2 * length, "sum", type)
    return out, sums[:length], sums[length:]
