"""Matrix products on a GPU: by cuBLAS where it is at hand, else by numgrad's own kernels, as for integers always."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.products import SIDE, TILE, first, products, repeat_row, row_products

from ...core.layout import Layout, numel
from .. import launches
from ..common import Factor, factor, product_sizes
from ..plan import Buffer, Plan, TensorRef
from ..recording import on_gpu
from ..rows import DeviceRow
from . import cublas
from .launching import THREADS, blocks_for
from .memory import no_row, stream

__all__ = ["product", "vector_product"]

#: What stands in the kernel ``products`` for its constants, in the simulator: smaller tiles.
_SMALLER: dict[str, Any] = {"SIDE": 2, "TILE": 8, "DEPTH": 2, "AREA": 18} if adapter.is_simulated() else {}
_SIDE, _TILE = _SMALLER.get("SIDE", SIDE), _SMALLER.get("TILE", TILE)

#: Products that a block of the kernel ``row_products`` sums at least, if there are so many, and sums made of a row.
_LENGTH = 8 * THREADS
_PARTS = 2 if adapter.is_simulated() else 512


def _steps(layout: Layout, turned: bool) -> tuple[int, int, int]:
    """The steps from matrix to matrix, row to row and column to column."""
    down, right = layout.strides[-2:]
    return layout.strides[0] if len(layout.shape) == 3 else 0, *((right, down) if turned else (down, right))


def product(
    p: Plan, left: TensorRef, right: TensorRef, turned: tuple[bool, bool] = (False, False), bias: Buffer | None = None
) -> Buffer:
    """The product of two matrices, or two stacks of matrices, with ``bias`` added to each of its rows.

    Args:
        left: of shape (m, k) or (b, m, k); if ``turned[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``turned[1]`` of shape (n, k) or (b, n, k).
        turned: which factors are transposed.
        bias: n elements.

    A factor whose rows or columns lie in one piece is given to cuBLAS as it lies, another is copied.
    """
    matrices, m, n, _ = product_sizes(left.shape, right.shape, turned)
    out = p.new(matrices * m * n, left.type.numpy)
    product_into(p, left, right, turned, bias, out)
    return out


def product_into(
    p: Plan, left: TensorRef, right: TensorRef, turned: tuple[bool, bool], bias: Buffer | None, out: Buffer
) -> None:
    """The same, written to a buffer."""
    steps = [_steps(one.layout, turn) for one, turn in zip((left, right), turned, strict=True)]
    sizes = matrices, m, n, k = product_sizes(left.shape, right.shape, turned)
    dtype, size = left.type.numpy, matrices * m * n
    library = cublas.routines(dtype) if size and k else None
    if library is None:
        _by_kernel(p, sizes, steps, left, right, bias, out)
        return
    if bias is not None:
        p.run(repeat_row, dtype, bias, n, size, out, grid=(blocks_for(size), THREADS))
    (x, first), (y, second) = [_for_cublas(p, one, turn) for one, turn in zip((left, right), turned, strict=True)]
    p.call(_by_cublas, library.gemm, *sizes, x, first, y, second, out, bias is not None)


def _by_cublas(routine: Any, *arguments: Any) -> None:
    """Put a routine of cuBLAS's, which writes the last of the rows among its arguments, on the current stream."""
    written = [one for one in arguments if one.__class__ is DeviceRow][-1:]
    on_gpu(_call, (routine, *arguments), written)


def _call(routine: Any, *arguments: Any) -> None:
    """Call a routine of cuBLAS's, which tells of itself while somebody listens."""
    here = stream(next(value.device for value in arguments if value.__class__ is DeviceRow))
    (cublas.told_of(routine) if launches.gpu_listeners else routine)(here, *arguments)


def _by_kernel(
    p: Plan, sizes: tuple[int, int, int, int], steps: Sequence[tuple[int, int, int]], left: TensorRef,
    right: TensorRef, bias: Buffer | None, out: Buffer,
) -> None:  # fmt: skip
    """The products of so many (m, k) and (k, n) matrices.

    ``steps`` are those of either factor from matrix to matrix, row to row and column to column.
    """
    matrices, m, n, k = sizes
    blocks = matrices * -(-m // _TILE) * -(-n // _TILE)
    p.run(
        products, out.dtype, m, n, k, p.onward(left), *steps[0], p.onward(right), *steps[1],
        no_row(out.dtype) if bias is None else bias, bias is not None, out, grid=(blocks, _SIDE * _SIDE), **_SMALLER,
    )  # fmt: skip


def _for_cublas(p: Plan, tensor: TensorRef, turned: bool) -> tuple[Buffer, Factor]:
    """The elements from the first on, if need be in a contiguous copy, and how they lie."""
    lies = factor(tensor.shape, tensor.layout.strides, turned)
    return p.contiguous(tensor) if lies.copied else p.onward(tensor), lies


def vector_product(p: Plan, left: TensorRef, right: TensorRef) -> Buffer:
    """The product of a matrix, or a vector, and a vector."""
    dtype, matrix, along, step = left.type.numpy, len(left.shape) > 1, left.layout.strides[-1], right.layout.strides[0]
    rows, k = numel(left.shape[:-1]), right.shape[0]
    out, y = p.new(rows, dtype), p.onward(right)
    library = cublas.routines(dtype) if rows and k and step and (matrix or along) else None
    if library is None:
        _row_by_row(p, left, right, rows, k, out)
    elif matrix:
        p.call(_by_cublas, library.gemv, rows, k, *_for_cublas(p, left, False), y, step, out)
    else:
        p.call(_by_cublas, library.dot, k, p.onward(left), along, y, step, out)
    return out


def _row_by_row(p: Plan, left: TensorRef, right: TensorRef, rows: int, k: int, out: Buffer) -> None:
    """The sums of products of rows, in parts where they are long, by numgrad's own kernels."""
    (down, along), (step,) = (0, *left.layout.strides)[-2:], right.layout.strides
    if rows > 1 and along != 1:  # rows that are not read in one piece: better many at a time
        _by_kernel(p, (1, rows, 1, k), ((0, down, along), (0, step, 0)), left, right, None, out)
        return
    dtype, parts = out.dtype, min(_PARTS, max(1, -(-k // (_LENGTH * max(rows, 1)))))
    sums = out if parts == 1 else p.new(rows * parts, dtype)
    p.run(
        row_products, dtype, p.onward(left), down, along, p.onward(right), step, k, parts, -(-k // parts), sums,
        grid=(rows * parts, THREADS),
    )  # fmt: skip
    if parts > 1:
        p.run(
            row_products, dtype, sums, parts, 1, sums, 0, parts, 1, parts, out, grid=(rows, THREADS), multiplied=first
        )
