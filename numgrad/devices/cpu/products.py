"""Matrix products, by BLAS: in pieces on the kernels' own threads where its functions are known, else by NumPy."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from numgrad_kernels.cpu.products import products
from numgrad_kernels.source import module_text
from numgrad_kernels.store import Kernel

from .. import launches
from ..compiling import compile_kernel
from ..factors import factor, product_sizes
from ..memory import empty_row, no_row, out_of_memory
from .blas import MANY, blas_name, gemm_addresses, one_thread, one_thread_for
from .launching import empty
from .threads import PARALLEL_FROM, worth_threads

__all__ = ["add_to", "blas_name", "matrix_product", "product"]

#: A product of so many multiplications takes as long as a pointwise kernel over one element.
_MULTIPLICATIONS = 8

#: Rows and columns of a piece are multiples of these, the sizes of the blocks that BLAS computes in registers.
_ROWS, _COLUMNS = 4, 16

#: Multiplications in a piece that BLAS computes without copying the factors first.
_SMALL = 1 << 16


class _Plan(NamedTuple):
    """How to multiply matrices of given shapes and strides."""

    numbers: np.ndarray  # what the kernel asks for
    shape: tuple[int, ...]  # of the result
    size: int  # elements of it
    work: int  # multiplications
    one_thread: bool  # whether BLAS must be told not to use several
    copies: tuple[bool, bool]  # which factors BLAS cannot read as they lie


def matrix_product(left: Any, right: Any, turned: tuple[bool, bool] = (False, False), bias: Any = None) -> np.ndarray:
    """The product, as one row, of two matrices, or the products of two stacks of matrices.

    Args:
        left: of shape (m, k) or (b, m, k); if ``turned[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``turned[1]`` of shape (n, k) or (b, n, k).
        bias: a row of n elements that is added to each row of the result.

    A factor whose rows or columns lie in one piece is given to BLAS as it lies, another is copied.
    """
    kind = left._layout.type.numpy
    address = gemm_addresses().get(kind)
    plan = _plan(left._layout.shape, left._layout.strides, right._layout.shape, right._layout.strides, turned)
    if address is None or not plan.work:
        return _by_numpy(left, right, turned, plan.shape, bias)
    try:
        out = empty_row(plan.size, kind)
    except RuntimeError:
        raise out_of_memory(plan.shape, kind) from None
    x, x_start, y, y_start = left._storage, left._offset, right._storage, right._offset
    if plan.copies[0]:
        x, x_start = np.ascontiguousarray(left._array()).reshape(-1), 0
    if plan.copies[1]:
        y, y_start = np.ascontiguousarray(right._array()).reshape(-1), 0
    run = _kernel(kind, worth_threads(plan.work // _MULTIPLICATIONS)).entry
    arguments = address, plan.numbers, x, x_start, y, y_start, no_row(kind) if bias is None else bias, out
    if plan.one_thread:
        with one_thread():
            run(*arguments)
    else:
        run(*arguments)
    return out


@functools.cache
def _kernel(kind: np.dtype, parallel: bool) -> Kernel:
    row, plan = (types.Array(from_dtype(np.dtype(each)), 1, "C") for each in (kind, np.int64))
    arguments = types.int64, plan, row, types.int64, row, types.int64, row, row
    return compile_kernel("products", lambda: module_text(products, kind), arguments, parallel=parallel)


@functools.lru_cache(maxsize=4096)
def _plan(left: Any, left_strides: Any, right: Any, right_strides: Any, turned: tuple[bool, bool]) -> _Plan:
    count, m, n, k = product_sizes(left, right, turned)
    first, second = factor(left, left_strides, turned[0]), factor(right, right_strides, turned[1])
    work = count * m * n * k
    rows, columns = _piece(count, m, n, k, second.turned)
    numbers = np.array([count, m, n, k, *first[:3], *second[:3], rows, columns], np.int64)
    shape = (m, n) if len(left) == 2 else (count, m, n)
    return _Plan(numbers, shape, count * m * n, work, m * n * k > MANY, (first.copied, second.copied))


def _piece(count: int, m: int, n: int, k: int, turned: bool) -> tuple[int, int]:
    """The rows and columns of a piece of a product: the larger it is, the more pieces, but whatever the threads.

    BLAS copies a second factor that lies transposed element by element, so it is cut where each column is in one piece
    only, or into pieces so small that BLAS reads them as they lie.
    """
    work = count * m * n * k
    wanted = 1
    if work >= PARALLEL_FROM * _MULTIPLICATIONS:
        wanted = -(-max(4 if count == 1 else 8, round(work ** (1 / 3)) // 64) // count)
    small = turned and m * n * k <= _SMALL * 32
    if small:
        wanted = max(wanted, -(-m * n * k // _SMALL))
    weight = 4 if turned and not small else 1
    rows, columns = max(m, 1), max(n, 1)
    while -(-m // rows) * -(-n // columns) < wanted and (rows > _ROWS or columns > _COLUMNS):
        if columns > _COLUMNS and (columns * weight >= rows or rows <= _ROWS):
            columns = -(-columns // (2 * _COLUMNS)) * _COLUMNS
        else:
            rows = -(-rows // (2 * _ROWS)) * _ROWS
    return rows, columns


def _by_numpy(left: Any, right: Any, turned: tuple[bool, bool], shape: tuple[int, ...], bias: Any) -> np.ndarray:
    out = empty(shape, left._layout.type)
    one, other = (
        array.swapaxes(-1, -2) if swap else array
        for array, swap in zip((left._array(), right._array()), turned, strict=True)
    )
    with one_thread_for(one.shape[-2], one.shape[-1], other.shape[-1]):
        if len(shape) == 2:
            (_dot_told if launches.listeners else np.dot)(one, other, out.reshape(shape))
        else:
            (_matmul_told if launches.listeners else np.matmul)(_for_blas(one), _for_blas(other), out.reshape(shape))
    if bias is not None:
        result = out.reshape(shape)
        np.add(result, bias, out=result)
    return out


def product(left: Any, right: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The product, as one row, of two vectors, or of a matrix and a vector.

    A transposed matrix is given to BLAS as it lies; one with gaps is copied.
    """
    out = empty(shape, left._layout.type)
    one, other = left._array(), right._array()
    with one_thread_for(one.size // max(one.shape[-1], 1), one.shape[-1], 1):
        (_dot_told if launches.listeners else np.dot)(one, other, out.reshape(shape))
    return out


@launches.by_numpy("numpy.dot")
def _dot_told(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> np.ndarray:
    np.dot(one, other, out)
    return out


_matmul_told = launches.by_numpy("numpy.matmul")(np.matmul)


def add_to(product: Any, input: Any) -> None:
    """Add a tensor, which may have to be broadcast, to one of few elements in place."""
    out = product._array()
    np.add(out, input._array(), out=out)


def _for_blas(stack: np.ndarray) -> np.ndarray:
    """The matrices with rows or columns in one piece: of others NumPy makes products without BLAS, and slowly."""
    rows, columns = stack.shape[-2:]
    down, right = stack.strides[-2:]
    item = stack.itemsize
    if (right == item and down >= columns * item) or (down == item and right >= rows * item):
        return stack
    return np.ascontiguousarray(stack)
