"""Matrix products, by BLAS: in pieces on the kernels' own threads where its functions are known, else by NumPy."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu.products import dots, products, vector_products

from ...core.layout import Layout, layout_of, span
from .. import launches
from ..common import factor, product_sizes
from ..memory import no_row
from ..plan import Buffer, Plan, TensorRef
from .blas import MANY, MANY_FOR_VECTORS, blas_addresses, blas_name, one_thread_for
from .launching import empty
from .threads import PARALLEL_FROM

__all__ = ["blas_name", "product", "vector_product"]

#: A product of so many multiplications takes as long as a pointwise kernel over one element.
_MULTIPLICATIONS = 8

#: Rows and columns of a piece are multiples of these, the sizes of the blocks that BLAS computes in registers.
_ROWS, _COLUMNS = 4, 16

#: Multiplications in a piece that BLAS computes without copying the factors first.
_SMALL = 1 << 16


class _Cut(NamedTuple):
    """How to multiply matrices of given shapes and strides, in pieces."""

    numbers: np.ndarray  # the kernel's plan
    shape: tuple[int, ...]  # of the result
    size: int  # elements of it
    work: int  # multiplications
    one_thread: bool  # whether BLAS would otherwise use several
    copies: tuple[bool, bool]  # of the factors that BLAS cannot read as they lie


def product(
    p: Plan, left: TensorRef, right: TensorRef, turned: tuple[bool, bool] = (False, False), bias: Buffer | None = None
) -> Buffer:
    """The product of two matrices, or two stacks of matrices, with ``bias`` added to each of its rows.

    Args:
        left: of shape (m, k) or (b, m, k); if ``turned[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``turned[1]`` of shape (n, k) or (b, n, k).
        bias: n elements.

    A factor whose rows or columns lie in one piece is given to BLAS as it lies, another is copied.
    """
    dtype = left.type.numpy
    address = blas_addresses().get(dtype)
    cut = _cut(left.shape, left.layout.strides, right.shape, right.layout.strides, turned)
    if address is None or not cut.work:
        return _by_numpy(p, left, right, turned, bias, layout_of(left.type, cut.shape))
    x, y = [p.packed(one) if copy else one for one, copy in zip((left, right), cut.copies, strict=True)]
    out = p.new(cut.size, dtype)
    p.run(
        products, dtype, address, cut.numbers, *p.strided(x), *p.strided(y), no_row(dtype) if bias is None else bias,
        out, work=cut.work // _MULTIPLICATIONS, one_thread=cut.one_thread,
    )  # fmt: skip
    return out


@functools.lru_cache(maxsize=4096)
def _cut(left: Any, left_strides: Any, right: Any, right_strides: Any, turned: tuple[bool, bool]) -> _Cut:
    count, m, n, k = product_sizes(left, right, turned)
    first, second = factor(left, left_strides, turned[0]), factor(right, right_strides, turned[1])
    work = count * m * n * k
    rows, columns = _piece(count, m, n, k, second.turned)
    numbers = np.array([count, m, n, k, *first[:3], *second[:3], rows, columns], np.int64)
    shape = (m, n) if len(left) == 2 else (count, m, n)
    return _Cut(numbers, shape, count * m * n, work, m * n * k > MANY, (first.copied, second.copied))


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


def vector_product(p: Plan, left: TensorRef, right: TensorRef) -> Buffer:
    """The product of a matrix, or a vector, and a vector.

    Small ones are given to BLAS as they lie.  NumPy has BLAS multiply others, or copies them first, if they lie with
    gaps or repeat an element.
    """
    dtype, strides, (count,), (step,) = left.type.numpy, left.layout.strides, right.shape, right.layout.strides
    shape = left.shape[:-1]
    rows = shape[0] if shape else 1
    function, numbers, copied = (dots, [count, strides[-1], step], not strides[-1])
    if rows > 1:
        lies = factor(left.shape, strides, False)
        function, numbers, copied = vector_products, [rows, count, lies.step, lies.turned, step], lies.copied
    address = blas_addresses("gemv" if rows > 1 else "dot").get(dtype)
    if address is None or copied or not step or not 0 < rows * count <= MANY_FOR_VECTORS:
        return _by_numpy(p, left, right, (False, False), None, layout_of(left.type, shape))
    out = p.new(rows, dtype)
    given = [Buffer(one.memory, span(one.shape, one.layout.strides), dtype, one.start) for one in (left, right)]
    p.run(function, dtype, address, np.array(numbers, np.int64), *given, out)
    return out


def _by_numpy(
    p: Plan, left: TensorRef, right: TensorRef, turned: tuple[bool, bool], bias: Buffer | None, out: Layout
) -> Buffer:
    """A product of this layout that NumPy computes."""
    given: list[Any] = []
    for one, turn in zip((left, right), turned, strict=True):
        given += [*p.strided(one), one.layout, turn]
    return p.contiguous(*p.host(_of_memory, [out], out, *given, bias))


def _of_memory(
    out: Layout, x: Any, x_start: int, left: Layout, turn_left: bool, y: Any, y_start: int, right: Layout,
    turn_right: bool, bias: Any,
) -> tuple[np.ndarray]:  # fmt: skip
    one, other = _as_array(x, x_start, left, turn_left), _as_array(y, y_start, right, turn_right)
    return (_multiplied(out, one, other, bias),)


def _as_array(memory: np.ndarray, start: int, layout: Layout, turned: bool) -> np.ndarray:
    item = memory.itemsize
    array = np.ndarray(layout.shape, memory.dtype, memory, start * item, [step * item for step in layout.strides])
    return array.swapaxes(-1, -2) if turned else array


def _multiplied(layout: Layout, one: np.ndarray, other: np.ndarray, bias: Any) -> np.ndarray:
    row = empty(layout.shape, layout.type)
    out = row.reshape(layout.shape)
    if other.ndim == 1:
        with one_thread_for(one.size // max(one.shape[-1], 1), one.shape[-1], 1):
            (_dot_told if launches.listeners else np.dot)(one, other, out)
        return row
    with one_thread_for(one.shape[-2], one.shape[-1], other.shape[-1]):
        if one.ndim == 2:
            (_dot_told if launches.listeners else np.dot)(one, other, out)
        else:
            (_matmul_told if launches.listeners else np.matmul)(_for_blas(one), _for_blas(other), out)
    if bias is not None:
        np.add(out, bias, out=out)
    return row


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
