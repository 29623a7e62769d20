"""Steps of matrix products on a GPU: by cuBLAS, or by numgrad's kernels if it is unavailable and for integers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.products import SIDE, TILE, first, products, row_products

from ...core.layout import Ints, Layout, layout_of, numel
from .. import launches
from ..buffers import DeviceBuffer
from ..common import Factor, factor, product_sizes, row_adder
from ..plan import Buffer, Plan, TensorRef
from ..recording import on_gpu, repeatable
from . import cublas
from .launching import THREADS
from .memory import optional, stream

__all__ = ["product", "vector_product"]

#: Constants of the kernel ``products`` in the simulator: smaller tiles.
_SMALLER: dict[str, Any] = {"SIDE": 2, "TILE": 8, "DEPTH": 2, "AREA": 18} if adapter.is_simulated() else {}
_SIDE, _TILE = _SMALLER.get("SIDE", SIDE), _SMALLER.get("TILE", TILE)

#: Least number of products that a block of the kernel ``row_products`` sums, and greatest number of sums of a row.
_LENGTH = 8 * THREADS
_PARTS = 2 if adapter.is_simulated() else 512


def _steps(layout: Layout, transposed: bool) -> tuple[int, int, int]:
    """Return the strides from matrix to matrix, row to row and column to column."""
    down, right = layout.strides[-2:]
    return layout.strides[0] if len(layout.shape) == 3 else 0, *((right, down) if transposed else (down, right))


def product(
    p: Plan, left: TensorRef, right: TensorRef, transposed: tuple[bool, bool] = (False, False),
    bias: Buffer | None = None,
) -> Buffer:  # fmt: skip
    """Return the buffer of the product of two matrices, or two stacks of matrices, plus ``bias`` in each row.

    cuBLAS reads factors with contiguous rows or columns in place.  Other factors are copied.

    Args:
        left: of shape (m, k) or (b, m, k); if ``transposed[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``transposed[1]`` of shape (n, k) or (b, n, k).
        transposed: True for factors that are transposed.
        bias: n elements.
    """
    matrices, m, n, _ = product_sizes(left.shape, right.shape, transposed)
    out = p.new(matrices * m * n, left.type.numpy)
    product_into(p, left, right, transposed, bias, out)
    return out


def product_into(
    p: Plan, left: TensorRef, right: TensorRef, transposed: tuple[bool, bool], bias: Buffer | None, out: Buffer
) -> None:
    """Add the steps that write a product to a buffer; see :func:`product` for the arguments."""
    factors = list(zip((left, right), transposed, strict=True))
    sizes = matrices, m, n, k = product_sizes(left.shape, right.shape, transposed)
    dtype, size = left.type.numpy, matrices * m * n
    library = cublas.routines(dtype) if size and k else None
    if library is None:
        _by_kernel(p, sizes, [_steps(tensor.layout, turn) for tensor, turn in factors], left, right, bias, out)
        return
    operands = itertools.chain(*[_for_cublas(p, tensor, turn) for tensor, turn in factors])
    p.call(_by_cublas, library.gemm, *sizes, *operands, out)
    if bias is not None:  # a pointwise step, which compiled programs merge with those that follow
        rows = p.tensor(out, left.type, (matrices * m, n))
        p.pointwise(row_adder(dtype), [rows, expanded(bias, left.type, rows.shape, (1,))], rows)


def expanded(bias: Buffer, type: Any, shape: Ints, dims: Ints) -> TensorRef:
    """Return a view of a bias, which lies along ``dims``, expanded to a shape."""
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(dims):
        strides[dim] = step
        step *= shape[dim]
    return TensorRef(bias.memory, layout_of(type, shape, tuple(strides)), bias.start)


def _by_cublas(routine: Any, *arguments: Any) -> None:
    """Put a routine of cuBLAS, which writes the last of the buffers among its arguments, on the current stream."""
    written = [argument for argument in arguments if argument.__class__ is DeviceBuffer][-1:]
    on_gpu(_call, (routine, *arguments), written)


@repeatable
def _call(routine: Any, *arguments: Any) -> None:
    """Call a routine of cuBLAS, and notify the listeners."""
    current = stream(next(argument.device for argument in arguments if argument.__class__ is DeviceBuffer))
    (cublas.observed(routine) if launches.gpu_listeners else routine)(current, *arguments)


def _by_kernel(
    p: Plan, sizes: tuple[int, int, int, int], steps: Sequence[tuple[int, int, int]], left: TensorRef,
    right: TensorRef, bias: Buffer | None, out: Buffer,
) -> None:  # fmt: skip
    """Add the step in which numgrad's kernel multiplies (m, k) and (k, n) matrices.

    ``sizes`` are the number of matrices, m, n and k.  ``steps`` are the strides of each factor from matrix to matrix,
    row to row and column to column.
    """
    matrices, m, n, k = sizes
    blocks = matrices * -(-m // _TILE) * -(-n // _TILE)
    p.run(
        products, out.dtype, m, n, k, p.onward(left), *steps[0], p.onward(right), *steps[1],
        *optional(bias, out.dtype), out, grid=(blocks, _SIDE * _SIDE), **_SMALLER,
    )  # fmt: skip


def _for_cublas(p: Plan, tensor: TensorRef, transposed: bool) -> tuple[Buffer, Factor]:
    """Return the buffer of a factor from its first element on, copied if necessary, and its arrangement."""
    arrangement = factor(tensor.shape, tensor.layout.strides, transposed)
    return p.contiguous(tensor) if arrangement.copied else p.onward(tensor), arrangement


def vector_product(p: Plan, left: TensorRef, right: TensorRef) -> Buffer:
    """Return the buffer of the product of a matrix, or a vector, and a vector."""
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
    """Add the steps in which numgrad's kernels sum the products of rows, in parts where they are long."""
    (down, along), (step,) = (0, *left.layout.strides)[-2:], right.layout.strides
    if rows > 1 and along != 1:  # many rows at a time are faster if rows are not contiguous
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
