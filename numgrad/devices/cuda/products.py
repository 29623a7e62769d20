"""Matrix products on a GPU: by cuBLAS where it is at hand, else by numgrad's own kernels, as for integers always."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.products import SIDE, TILE, first, products, repeat_row, row_products

from ...core.layout import Layout, layout_of, numel
from .. import launches
from ..common import Factor, factor, factor_copier, product_sizes
from ..plan import pointwise_plan
from ..recording import on_gpu
from ..rows import DeviceRow
from . import cublas
from .launching import THREADS, blocks_for, launch
from .memory import empty_row, no_row, stream

__all__ = ["product_launcher", "vector_product_launcher"]

#: What stands in the kernel ``products`` for its constants, in the simulator: smaller tiles.
_SMALLER = {"SIDE": 2, "TILE": 8, "DEPTH": 2, "AREA": 18} if adapter.is_simulated() else {}
_SIDE, _TILE = _SMALLER.get("SIDE", SIDE), _SMALLER.get("TILE", TILE)

#: Products that a block of the kernel ``row_products`` sums at least, if there are so many, and sums made of a row.
_LENGTH = 8 * THREADS
_PARTS = 2 if adapter.is_simulated() else 512


def _steps(shape: tuple[int, ...], strides: tuple[int, ...], turned: bool) -> tuple[int, int, int]:
    """The steps from matrix to matrix, row to row and column to column."""
    down, right = strides[-2:]
    return strides[0] if len(shape) == 3 else 0, *((right, down) if turned else (down, right))


def product_launcher(
    left: Layout, right: Layout, turned: tuple[bool, bool] = (False, False)
) -> Callable[..., DeviceRow]:
    """What multiplies two matrices, or two stacks of matrices: ``launch(left, right, bias=None)`` returns a row.

    Args:
        left: of shape (m, k) or (b, m, k); if ``turned[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``turned[1]`` of shape (n, k) or (b, n, k).
        turned: which factors are transposed.

    The bias is a row of n elements that is added to each row of the result.  A factor whose rows or columns lie in one
    piece is given to cuBLAS as it lies, another is copied.
    """
    first, second = factor(left.shape, left.strides, turned[0]), factor(right.shape, right.strides, turned[1])
    steps = *_steps(left.shape, left.strides, turned[0]), *_steps(right.shape, right.strides, turned[1])
    sizes = matrices, m, n, k = product_sizes(left.shape, right.shape, turned)
    dtype, device, size = left.type.numpy, left.type.device.index, matrices * m * n

    def multiply(x: Any, y: Any, bias: DeviceRow | None = None) -> DeviceRow:
        out = empty_row(size, dtype, device)
        if not size:
            return out
        library = cublas.routines(dtype) if k else None
        if library is None:
            _by_kernel(sizes, steps, x, y, bias, out)
            return out
        if bias is not None:
            launch(repeat_row, dtype, bias, n, size, out, blocks=blocks_for(size))
        x, y, added = _for_cublas(x, first), _for_cublas(y, second), bias is not None
        on_gpu(_by_cublas, (library.gemm, *sizes, x, first, y, second, out, added), (out,))
        return out

    return multiply


def _by_cublas(routine: Any, *arguments: Any) -> None:
    """Call a routine of cuBLAS's, which tells of itself while somebody listens."""
    here = stream(next(value.device for value in arguments if value.__class__ is DeviceRow))
    (cublas.told_of(routine) if launches.gpu_listeners else routine)(here, *arguments)


def _by_kernel(
    sizes: tuple[int, int, int, int], steps: tuple[int, ...], left: Any, right: Any, bias: DeviceRow | None,
    out: DeviceRow,
) -> None:  # fmt: skip
    """The products of so many (m, k) and (k, n) matrices.

    ``steps`` are those of either factor from matrix to matrix, row to row and column to column.
    """
    matrices, m, n, k = sizes
    blocks = matrices * -(-m // _TILE) * -(-n // _TILE)
    launch(
        products, out.dtype, m, n, k, _first_of(left), *steps[:3], _first_of(right), *steps[3:],
        no_row(out.dtype) if bias is None else bias, bias is not None, out, blocks=blocks, threads=_SIDE * _SIDE,
        **_SMALLER,
    )  # fmt: skip


def _first_of(tensor: Any) -> DeviceRow:
    """The storage of a tensor from its first element on."""
    return tensor._storage[tensor._offset :] if tensor._offset else tensor._storage


def _for_cublas(tensor: Any, lies: Factor) -> DeviceRow:
    """The tensor's elements from the first on, if need be in a contiguous copy."""
    if lies.copied:
        return _copier(tensor._layout)(tensor)
    return _first_of(tensor)


@functools.lru_cache(maxsize=1024)
def _copier(layout: Layout) -> Any:
    """What copies tensors of this layout into rows."""
    program = factor_copier(layout.type.numpy)
    return pointwise_plan(program, [layout], [layout_of(layout.type, layout.shape)]).launcher()


def vector_product_launcher(left: Layout, right: Layout) -> Callable[..., DeviceRow]:
    """What multiplies a matrix, or a vector, and a vector of these layouts: ``launch(left, right)``, a row."""
    dtype, device, matrix = left.type.numpy, left.type.device.index, len(left.shape) > 1
    rows, k, along, step = numel(left.shape[:-1]), right.shape[0], left.strides[-1], right.strides[0]
    lies = factor(left.shape, left.strides, False) if matrix else None

    def multiply(x: Any, y: Any) -> DeviceRow:
        out = empty_row(rows, dtype, device)
        if not rows:
            return out
        library = cublas.routines(dtype) if k and step and (matrix or along) else None
        if library is None:
            _row_by_row(x, y, step, rows, k, out)
        elif lies is not None:
            given = _for_cublas(x, lies)
            on_gpu(_by_cublas, (library.gemv, rows, k, given, lies, _first_of(y), step, out), (out,))
        else:
            on_gpu(_by_cublas, (library.dot, k, _first_of(x), along, _first_of(y), step, out), (out,))
        return out

    return multiply


def _row_by_row(left: Any, right: Any, step: int, rows: int, k: int, out: DeviceRow) -> None:
    """The sums of products of rows, in parts where they are long, by numgrad's own kernels."""
    down, along = (0, *left._layout.strides)[-2:]
    if rows > 1 and along != 1:  # rows that are not read in one piece: better many at a time
        _by_kernel((1, rows, 1, k), (0, down, along, 0, step, 0), left, right, None, out)
        return
    dtype, parts = out.dtype, min(_PARTS, max(1, -(-k // (_LENGTH * rows))))
    sums = out if parts == 1 else empty_row(rows * parts, dtype, out.device)
    launch(
        row_products, dtype, _first_of(left), down, along, _first_of(right), step, k, parts, -(-k // parts), sums,
        blocks=rows * parts,
    )  # fmt: skip
    if parts > 1:
        launch(row_products, dtype, sums, parts, 1, sums, 0, parts, 1, parts, out, blocks=rows, multiplied=first)
