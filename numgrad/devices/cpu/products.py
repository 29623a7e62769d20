"""Steps of matrix products: by BLAS, in pieces on the kernels' threads, or by NumPy if its functions are unknown."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from numgrad_kernels.cpu.products import dots, products, vector_products

from ...core.layout import Layout, layout_of, span
from .. import launches
from ..common import factor, product_sizes
from ..memory import or_empty
from ..plan import Buffer, Plan, TensorRef
from .blas import MANY, MANY_FOR_VECTORS, WORTHWHILE, blas_addresses, blas_name, one_thread_for
from .launching import empty
from .threads import PARALLEL_FROM

__all__ = ["blas_name", "product", "vector_product"]

#: Number of multiplications that take as long as one element of a pointwise kernel.
_MULTIPLICATIONS = 8

#: Rows and columns of a piece are multiples of these, the sizes of the blocks that BLAS computes in registers.
_ROWS, _COLUMNS = 4, 16

#: Number of multiplications in a piece for which BLAS does not copy the factors first.
_SMALL = 1 << 16


class _Cut(NamedTuple):
    """Division of the product of matrices of given shapes and strides into pieces.

    Attributes:
        numbers: plan of the kernel.
        shape: of the result.
        size: number of elements of the result.
        work: number of multiplications.
        one_thread: True if BLAS would otherwise use several threads.
        copies: for each factor, True if BLAS needs a copy of it.
    """

    numbers: np.ndarray
    shape: tuple[int, ...]
    size: int
    work: int
    one_thread: bool
    copies: tuple[bool, bool]


def product(
    p: Plan, left: TensorRef, right: TensorRef, transposed: tuple[bool, bool] = (False, False),
    bias: Buffer | None = None,
) -> Buffer:  # fmt: skip
    """Return the buffer of the product of two matrices, or two stacks of matrices, plus ``bias`` in each row.

    BLAS reads factors with contiguous rows or columns in place.  Other factors are copied.

    Args:
        left: of shape (m, k) or (b, m, k); if ``transposed[0]`` of shape (k, m) or (b, k, m).
        right: of shape (k, n) or (b, k, n); if ``transposed[1]`` of shape (n, k) or (b, n, k).
        transposed: True for factors that are transposed.
        bias: n elements.
    """
    dtype = left.type.numpy
    address = blas_addresses().get(dtype)
    cut = _cut(left.shape, left.layout.strides, right.shape, right.layout.strides, transposed)
    if cut.size == 1 and bias is None and cut.work:  # of one row and one column
        vectors = _as_vector(left, transposed[0]), _as_vector(right, not transposed[1])
        if vectors[0].layout.strides[0] and vectors[1].layout.strides[0]:
            return vector_product(p, *vectors)
    if address is None or not cut.work:
        return _by_numpy(p, left, right, transposed, bias, layout_of(left.type, cut.shape))
    x, y = p.packed(left) if cut.copies[0] else left, p.packed(right) if cut.copies[1] else right
    out = p.new(cut.size, dtype)
    p.run(
        products, dtype, address, cut.numbers, *p.strided(x), *p.strided(y), or_empty(bias, dtype), out,
        work=cut.work // _MULTIPLICATIONS, one_thread=cut.one_thread,
    )  # fmt: skip
    return out


def _as_vector(matrix: TensorRef, column: bool) -> TensorRef:
    """Return a matrix, or the only one of a stack, of one row or column as a vector."""
    dim = -2 if column else -1
    return matrix.viewed(layout_of(matrix.type, (matrix.shape[dim],), (matrix.layout.strides[dim],)))


@functools.lru_cache(maxsize=4096)
def _cut(left: Any, left_strides: Any, right: Any, right_strides: Any, transposed: tuple[bool, bool]) -> _Cut:
    count, m, n, k = product_sizes(left, right, transposed)
    first, second = factor(left, left_strides, transposed[0]), factor(right, right_strides, transposed[1])
    work = count * m * n * k
    rows, columns = _piece(count, m, n, k, second.transposed)
    numbers = np.array([count, m, n, k, *first[:3], *second[:3], rows, columns], np.int64)
    shape = (m, n) if len(left) == 2 else (count, m, n)
    return _Cut(numbers, shape, count * m * n, work, m * n * k > MANY, (first.copied, second.copied))


def _piece(count: int, m: int, n: int, k: int, transposed: bool) -> tuple[int, int]:
    """Return the rows and columns of a piece: a larger product has more pieces, for any number of threads.

    BLAS copies a second factor that is stored transposed element by element.  So such a factor is cut into pieces of
    whole columns, or into pieces so small that BLAS reads them in place.
    """
    work = count * m * n * k
    least = 1  # pieces
    if work >= PARALLEL_FROM * _MULTIPLICATIONS:
        least = -(-max(4 if count == 1 else 8, round(work ** (1 / 3)) // 64) // count)
    small = transposed and m * n * k <= _SMALL * 32
    if small:
        least = max(least, -(-m * n * k // _SMALL))
    weight = 4 if transposed and not small else 1
    rows, columns = max(m, 1), max(n, 1)
    while -(-m // rows) * -(-n // columns) < least and (rows > _ROWS or columns > _COLUMNS):
        if columns > _COLUMNS and (columns * weight >= rows or rows <= _ROWS):
            columns = -(-columns // (2 * _COLUMNS)) * _COLUMNS
        else:
            rows = -(-rows // (2 * _ROWS)) * _ROWS
    return rows, columns


def vector_product(p: Plan, left: TensorRef, right: TensorRef) -> Buffer:
    """Return the buffer of the product of a matrix, or a vector, and a vector.

    A kernel passes products of two vectors, and small ones with a matrix, to BLAS.  NumPy computes the others, by
    BLAS, and copies factors with gaps or repeated elements.
    """
    dtype, strides, (count,), (step,) = left.type.numpy, left.layout.strides, right.shape, right.layout.strides
    shape = left.shape[:-1]
    rows = shape[0] if shape else 1
    function, numbers, copied = (dots, [count, strides[-1], step], not strides[-1])
    if rows > 1:
        form = factor(left.shape, strides, False)
        function, numbers, copied = vector_products, [rows, count, form.step, form.transposed, step], form.copied
    address = blas_addresses("gemv" if rows > 1 else "dot").get(dtype)
    most = WORTHWHILE if rows == 1 else MANY_FOR_VECTORS
    if address is None or copied or not step or not 0 < rows * count <= most:
        return _by_numpy(p, left, right, (False, False), None, layout_of(left.type, shape))
    out = p.new(rows, dtype)
    factors = [Buffer(t.memory, span(t.shape, t.layout.strides), dtype, t.start) for t in (left, right)]
    one_thread = rows * count > MANY_FOR_VECTORS
    p.run(function, dtype, address, np.array(numbers, np.int64), *factors, out, one_thread=one_thread)
    return out


def _by_numpy(
    p: Plan, left: TensorRef, right: TensorRef, transposed: tuple[bool, bool], bias: Buffer | None, out: Layout
) -> Buffer:
    """Add the step in which NumPy computes a product of the layout ``out``, and return its buffer."""
    factors: list[Any] = []
    for tensor, transpose in zip((left, right), transposed, strict=True):
        factors += [*p.strided(tensor), tensor.layout, transpose]
    return p.contiguous(*p.host(_numpy_product, [out], out, *factors, bias))


def _numpy_product(
    out: Layout, x: Any, x_start: int, x_layout: Layout, transpose_x: bool, y: Any, y_start: int, y_layout: Layout,
    transpose_y: bool, bias: Any,
) -> tuple[np.ndarray]:  # fmt: skip
    left, right = _as_array(x, x_start, x_layout, transpose_x), _as_array(y, y_start, y_layout, transpose_y)
    buffer = empty(out.shape, out.type)
    result = buffer.reshape(out.shape)
    vector, inner = right.ndim == 1, left.shape[-1]
    rows, columns = (left.size // max(inner, 1), 1) if vector else (left.shape[-2], right.shape[-1])
    with one_thread_for(rows, inner, columns):
        if right.ndim < 3:
            (_observed_dot if launches.listeners else np.dot)(left, right, result)
        else:
            (_observed_matmul if launches.listeners else np.matmul)(_for_blas(left), _for_blas(right), result)
    if bias is not None:
        np.add(result, bias, out=result)
    return (buffer,)


def _as_array(memory: np.ndarray, start: int, layout: Layout, transpose: bool) -> np.ndarray:
    item = memory.itemsize
    if not layout.size:  # may begin after the memory
        start = 0
    array = np.ndarray(layout.shape, memory.dtype, memory, start * item, [step * item for step in layout.strides])
    return array.swapaxes(-1, -2) if transpose else array


@launches.by_numpy("numpy.dot")
def _observed_dot(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> np.ndarray:
    np.dot(left, right, out)
    return out


_observed_matmul = launches.by_numpy("numpy.matmul")(np.matmul)


def _for_blas(stack: np.ndarray) -> np.ndarray:
    """Return matrices with contiguous rows or columns: NumPy multiplies others slowly, without BLAS."""
    rows, columns = stack.shape[-2:]
    down, right = stack.strides[-2:]
    item = stack.itemsize
    if (right == item and down >= columns * item) or (down == item and right >= rows * item):
        return stack
    return np.ascontiguousarray(stack)
