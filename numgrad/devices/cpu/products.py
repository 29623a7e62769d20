"""Matrix products, by BLAS: in pieces on the kernels' own threads where its functions are known, else by NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu.products import dots, products, vector_products

from ...core.layout import Layout, layout_of, span
from .. import launches
from ..common import factor, factor_copier, product_sizes
from ..memory import LARGE, no_row
from ..plan import pointwise_plan
from ..recording import by_host
from .blas import MANY, MANY_FOR_VECTORS, blas_addresses, blas_name, one_thread, one_thread_for
from .launching import empty, kernel_for
from .threads import PARALLEL_FROM

__all__ = ["blas_name", "product_launcher", "vector_product_launcher"]

_INT64 = np.dtype(np.int64)

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


def product_launcher(
    left: Layout, right: Layout, turned: tuple[bool, bool] = (False, False)
) -> Callable[..., np.ndarray]:
    """What multiplies two matrices, or two stacks of matrices, of these layouts: ``launch(left, right, bias=None)``.

    The product is one row; ``bias`` is a row that is added to each row of it.

    Args:
        left: of shape (m, k) or (b, m, k); if ``turned[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``turned[1]`` of shape (n, k) or (b, n, k).

    A factor whose rows or columns lie in one piece is given to BLAS as it lies, another is copied.
    """
    dtype = left.type.numpy
    address = blas_addresses().get(dtype)
    plan = _plan(left.shape, left.strides, right.shape, right.strides, turned)
    if address is None or not plan.work:
        return lambda x, y, bias=None: _by_numpy(
            left.type, plan.shape, _as_array(x, turned[0]), _as_array(y, turned[1]), bias
        )
    rows = dtype, int, dtype, int, dtype, dtype
    kernel_of = kernel_for(products, dtype, (int, _INT64, *rows), plan.work // _MULTIPLICATIONS)
    numbers, size, elements, none = plan.numbers, plan.size, plan.work // _MULTIPLICATIONS, no_row(dtype)
    new, kernel = np.empty, None

    def launch(x: Any, y: Any, bias: np.ndarray = none) -> np.ndarray:
        nonlocal kernel
        if kernel is None:
            kernel = kernel_of()
        out = new(size, dtype)
        kernel.entry(address, numbers, x._storage, x._offset, y._storage, y._offset, bias, out)
        return out

    def launch_large(x: Any, y: Any, bias: np.ndarray = none) -> np.ndarray:
        out = empty(plan.shape, left.type)
        row, start, other, other_start = x._storage, x._offset, y._storage, y._offset
        if plan.copies[0]:
            row, start = factor_copy(left)(x), 0
        if plan.copies[1]:
            other, other_start = factor_copy(right)(y), 0
        run = kernel_of().entry
        arguments = address, numbers, row, start, other, other_start, bias, out
        if plan.one_thread:
            with one_thread():
                run(*arguments)
        else:
            run(*arguments)
        return out

    large = elements >= PARALLEL_FROM or plan.one_thread or size * dtype.itemsize >= LARGE
    return launch_large if large or any(plan.copies) else launch


@functools.lru_cache(maxsize=1024)
def factor_copy(layout: Layout) -> Callable[[Any], np.ndarray]:
    """What copies tensors of this layout into rows."""
    program = factor_copier(layout.type.numpy)
    return pointwise_plan(program, [layout], [layout_of(layout.type, layout.shape)]).launcher()


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


def _as_array(tensor: Any, turned: bool) -> np.ndarray:
    return tensor._place().swapaxes(-1, -2) if turned else tensor._place()


@by_host
def _by_numpy(type: Any, shape: tuple[int, ...], one: np.ndarray, other: np.ndarray, bias: Any) -> np.ndarray:
    out = empty(shape, type)
    with one_thread_for(one.shape[-2], one.shape[-1], other.shape[-1]):
        if len(shape) == 2:
            (_dot_told if launches.listeners else np.dot)(one, other, out.reshape(shape))
        else:
            (_matmul_told if launches.listeners else np.matmul)(_for_blas(one), _for_blas(other), out.reshape(shape))
    if bias is not None:
        result = out.reshape(shape)
        np.add(result, bias, out=result)
    return out


def vector_product_launcher(left: Layout, right: Layout) -> Callable[..., np.ndarray]:
    """What multiplies a matrix, or a vector, and a vector of these layouts: ``launch(left, right)``, a row.

    Small ones are given to BLAS as they lie.  NumPy has BLAS multiply others, or copies them first, if they lie with
    gaps or repeat an element.
    """
    dtype, shape, (count,), (step,) = left.type.numpy, left.shape[:-1], right.shape, right.strides
    rows = shape[0] if shape else 1
    function, numbers, copied = (dots, [count, left.strides[-1], step], not left.strides[-1])
    if rows > 1:
        lies = factor(left.shape, left.strides, False)
        function, numbers, copied = vector_products, [rows, count, lies.step, lies.turned, step], lies.copied
    address = blas_addresses("gemv" if rows > 1 else "dot").get(dtype)
    if address is None or copied or not step or not 0 < rows * count <= MANY_FOR_VECTORS:
        return lambda x, y: _vectors_by_numpy(left.type, shape, x._place(), y._place())
    kernel_of = kernel_for(function, dtype, (int, _INT64, dtype, dtype, dtype), 0)
    plan, first, second = np.array(numbers, np.int64), span(left.shape, left.strides), span(right.shape, right.strides)
    new, kernel = np.empty, None

    def launch(x: Any, y: Any) -> np.ndarray:
        nonlocal kernel
        if kernel is None:
            kernel = kernel_of()
        out, row, other = new(rows, dtype), x._storage, y._storage
        if row.size != first:
            row = row[x._offset : x._offset + first]
        if other.size != second:
            other = other[y._offset : y._offset + second]
        kernel.entry(address, plan, row, other, out)
        return out

    return launch


@by_host
def _vectors_by_numpy(type: Any, shape: tuple[int, ...], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    out = empty(shape, type)
    with one_thread_for(one.size // max(one.shape[-1], 1), one.shape[-1], 1):
        (_dot_told if launches.listeners else np.dot)(one, other, out.reshape(shape))
    return out


@launches.by_numpy("numpy.dot")
def _dot_told(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> np.ndarray:
    np.dot(one, other, out)
    return out


_matmul_told = launches.by_numpy("numpy.matmul")(np.matmul)


def _for_blas(stack: np.ndarray) -> np.ndarray:
    """The matrices with rows or columns in one piece: of others NumPy makes products without BLAS, and slowly."""
    rows, columns = stack.shape[-2:]
    down, right = stack.strides[-2:]
    item = stack.itemsize
    if (right == item and down >= columns * item) or (down == item and right >= rows * item):
        return stack
    return np.ascontiguousarray(stack)
