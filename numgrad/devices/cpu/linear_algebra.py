"""Steps of triangular factors and of systems of equations.

Small matrices are decomposed by kernels, and others by LAPACK.  If LAPACK's addresses are unknown, the kernels
decompose matrices of any size.  Many very small real matrices are decomposed in vector lanes.
"""

from __future__ import annotations

import numpy as np

from numgrad_kernels.cpu import matrix_lanes as lanes
from numgrad_kernels.cpu import small_matrices as small

from ...core.layout import Ints, by_columns, layout_of, numel
from ...core.types import int32, int64, real_of
from ..host_functions import raise_failed
from ..plan import Buffer, Plan, TensorRef
from .lapack import Place, call_lapack, has_lapack

__all__ = [
    "linalg_cholesky", "linalg_det", "linalg_inv", "linalg_ldl_factor", "linalg_ldl_solve", "linalg_lu_factor",
    "linalg_slogdet", "linalg_solve", "linalg_solve_triangular", "lu_permutation",
]

#: Rows of the largest matrices that the kernels decompose, rather than LAPACK.
SMALL = 16

#: Rows of the largest matrices whose loops are unrolled, and the least number of such matrices.
UNROLLED, MANY = 4, 256

#: Rows of the largest matrices that are decomposed in vector lanes, and the least number of such matrices.
IN_LANES, MANY_LANES = 8, 32

_INT32 = np.dtype(np.int32)


def transposed(tensor: TensorRef) -> TensorRef:
    """Return the view with the last two dimensions exchanged."""
    shape, strides = tensor.shape, tensor.layout.strides
    return tensor.viewed(
        layout_of(tensor.type, (*shape[:-2], *shape[:-3:-1]), (*strides[:-2], *strides[:-3:-1]))
    )


def copied(p: Plan, tensor: TensorRef, shape: Ints = (), columns: bool = True) -> TensorRef:
    """Return a copy of a tensor, broadcast, whose matrices are stored column by column, or row by row."""
    shape = shape or tensor.shape
    copy = p.new_tensor(by_columns(tensor.type, shape) if columns else layout_of(tensor.type, shape))
    p.assign(tensor, copy)
    return copy


def memory_of(tensor: TensorRef) -> Buffer:
    """Return all memory of a new tensor."""
    return Buffer(tensor.memory, tensor.size, tensor.type.numpy)


def as_integers(p: Plan, buffer: Buffer, like: TensorRef, shape: Ints) -> TensorRef:
    """Return integers as an int32 tensor."""
    type = like.type.with_dtype(int32)
    if buffer.dtype == _INT32:
        return p.tensor(buffer, type, shape)
    tensor = TensorRef(buffer.memory, layout_of(like.type.with_dtype(int64), shape), buffer.start)
    return p.tensor(p.contiguous(tensor, int32), type, shape)


def reported(p: Plan, info: TensorRef, check: str, batched: bool) -> TensorRef:
    """Return the reports, after a step that raises the error that the function ``check`` has for them, if any."""
    if check:
        p.call(raise_failed, p.contiguous(info), check, batched)
    return info


def _unrolled(n: int, count: int) -> int:
    """Return the number of rows if a kernel of its own for this number pays, and else 0."""
    return n if n <= UNROLLED and count >= MANY else 0


def _is_small(dtype: np.dtype, rows: int) -> bool:
    return rows <= SMALL or not has_lapack(dtype)


def fit_lanes(A: TensorRef, count: int, *others: TensorRef) -> bool:
    """Return True if ``count`` matrices, and others of so many right-hand sides, are decomposed in vector lanes."""
    return count >= MANY_LANES and A.type.numpy.kind == "f" and all(
        0 < size <= IN_LANES for tensor in (A, *others) for size in tensor.shape[-2:]
    )


def readable(p: Plan, tensor: TensorRef, shape: Ints = (), turned: bool = False) -> tuple[Buffer, int, int]:
    """Return matrices one after the other, and the steps from one row and from one column to the next.

    With ``turned``, the steps are those of the transposed matrices.
    """
    if shape and shape != tensor.shape:
        tensor = copied(p, tensor, shape, False)
    by_column = transposed(tensor).layout.contiguous
    buffer = p.contiguous(transposed(tensor) if by_column else tensor)
    steps = (1, tensor.shape[-2]) if by_column else (tensor.shape[-1], 1)
    return buffer, *(steps[::-1] if turned else steps)


# -- Cholesky ---------------------------------------------------------------------------------------------------------


def linalg_cholesky(p: Plan, A: TensorRef, upper: bool, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the Cholesky factors of matrices, of which one triangle is read, and the reports."""
    (*batch, n, _), dtype = A.shape, A.type.numpy
    count = numel(tuple(batch))
    if fit_lanes(A, count):
        L = p.new_tensor((layout_of if upper else by_columns)(A.type, A.shape))
        info, work = p.new(count, _INT32), count * n**3 // 16
        p.run(lanes.cholesky_of_many, dtype, n, *readable(p, A, turned=upper), memory_of(L), info, work=work)
        return L, reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    if _is_small(dtype, n):
        L = copied(p, A, columns=not upper)  # an upper triangle, row by row, is a lower one of the transpose
        info = p.new(count, _INT32)
        p.run(small.cholesky, dtype, n, memory_of(L), info, work=count * n**3 // 8, ROWS=_unrolled(n, count))
    else:
        L = p.new_tensor((layout_of if upper else by_columns)(A.type, A.shape))
        given = A if len(A.shape) == 2 else p.tensor(p.contiguous(A), A.type, A.shape)
        p.backend.keep_triangle(p, given, L, 0, not upper)  # LAPACK neither reads nor writes the other triangle
        info = call_lapack(p, "potrf", count, {"uplo": "L", "n": n}, {"x": n * n}, n**3 / 3, memory_of(L))
        if count:
            p.run(small.report_nan, dtype, n, memory_of(L), info, work=count)  # OpenBLAS accepts such pivots
    return L, reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)


# -- LU and systems of equations --------------------------------------------------------------------------------------


def _factored(p: Plan, x: TensorRef, m: int, n: int) -> tuple[Buffer, Buffer, Buffer]:
    """Replace (m, n) matrices, stored column by column, by their factors; return pivots for LAPACK, pivots and reports.

    LAPACK's pivots follow its reports in the first buffer.  The kernels return their int32 pivots twice.
    """
    dtype, least = x.type.numpy, min(m, n)
    count = numel(x.shape[:-2])
    if _is_small(dtype, max(m, n)):
        pivots, info = p.new(count * least, _INT32), p.new(count, _INT32)
        rows = _unrolled(n, count) if m == n else 0
        p.run(small.lu, dtype, m, n, memory_of(x), pivots, info, work=count * m * n * least // 8, ROWS=rows)
        return pivots, pivots, info
    numbers = p.new(count * (1 + least), np.dtype(np.int64))
    info = call_lapack(
        p, "getrf", count, {"m": m, "n": n}, {"x": m * n, "pivots": Place("numbers", count, least)}, m * n * least,
        memory_of(x), numbers=numbers,
    )
    return numbers, numbers.part(count, count * least), info


def linalg_lu_factor(p: Plan, A: TensorRef, check: str) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the LU factors of matrices, in one matrix each, the pivots and the reports."""
    *batch, m, n = A.shape
    LU = copied(p, A)
    _, pivots, info = _factored(p, LU, m, n)
    return (
        LU, as_integers(p, pivots, A, (*batch, min(m, n))),
        reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2),
    )


def linalg_solve(p: Plan, A: TensorRef, B: TensorRef, left: bool, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the solutions of ``A @ X = B``, or of ``X @ A = B``, and the reports."""
    vectors = len(B.shape) == 1 or B.shape == A.shape[:-1]
    if vectors:
        B = B.viewed(layout_of(B.type, (*B.shape, 1), (*B.layout.strides, 0)))
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X, reports = (_solved_in_lanes if fit_lanes(A, numel(batch), B) else _factored_and_solved)(p, A, B, batch, left)
    if A.shape[:-2] != batch:
        steps = layout_of(A.type, batch).strides[len(batch) - len(A.shape) + 2 :]
        own = reports.viewed(layout_of(reports.type, A.shape[:-2], steps))
        reports = p.tensor(p.contiguous(own), reports.type, own.shape)
    reported(p, reports, check, len(A.shape) > 2)
    if not vectors:
        return X, reports
    X = X.viewed(layout_of(X.type, X.shape[:-1]))
    return copied(p, X) if len(X.shape) > 1 else X, reports  # PyTorch's strides


def _solved_in_lanes(p: Plan, A: TensorRef, B: TensorRef, batch: Ints, left: bool) -> tuple[TensorRef, TensorRef]:
    n, shape = A.shape[-1], (*batch, *B.shape[-2:])
    X = p.new_tensor(by_columns(B.type, shape) if left else layout_of(B.type, shape))
    info = p.new(numel(batch), _INT32)
    p.run(
        lanes.solve_many, A.type.numpy, n, B.shape[-1 if left else -2], *readable(p, A, (*batch, n, n), not left),
        *readable(p, B, shape, not left), memory_of(X), info, work=X.size * n // 16,
    )  # fmt: skip
    return X, as_integers(p, info, A, batch)


def _factored_and_solved(p: Plan, A: TensorRef, B: TensorRef, batch: Ints, left: bool) -> tuple[TensorRef, TensorRef]:
    # For ``X @ A = B``, rows take the place of columns: the transpose of the system.  LAPACK also solves the transpose
    # of a system, so that large matrices that are stored row by row need not be transposed.
    n = A.shape[-1]
    by_rows = left and not _is_small(A.type.numpy, n) and not transposed(A).layout.contiguous
    matrices = copied(p, A, (*batch, n, n), left and not by_rows)
    X = copied(p, B, (*batch, *B.shape[-2:]), left)
    numbers, _, info = _factored(p, matrices, n, n)
    reports = as_integers(p, info, A, batch)
    _substitute(p, matrices, numbers, X, n, B.shape[-1 if left else -2], by_rows)  # reports again
    return X, reports


def _substitute(
    p: Plan, factors: TensorRef, pivots: Buffer, X: TensorRef, n: int, columns: int, turned: bool = False
) -> None:
    """Add the step that replaces right-hand sides by solutions; ``pivots`` are the first result of ``_factored``.

    With ``turned``, LAPACK solves the systems of the transposed matrices.
    """
    dtype, count = X.type.numpy, numel(X.shape[:-2])
    if not columns:
        return
    if pivots.dtype == _INT32:
        p.run(
            small.substitute, dtype, n, columns, memory_of(factors), pivots, memory_of(X),
            work=count * n * n * columns // 8, ROWS=_unrolled(n, count),
        )  # fmt: skip
        return
    call_lapack(
        p, "getrs", count, {"trans": "NT"[turned], "n": n, "k": columns},
        {"x": n * n, "pivots": Place("numbers", count, n), "y": n * columns}, 2 * n * n * columns, memory_of(factors),
        memory_of(X), numbers=pivots,
    )  # fmt: skip


def linalg_inv(p: Plan, A: TensorRef, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the inverses of matrices, and the reports."""
    *batch, n, _ = A.shape
    count = numel(tuple(batch))
    if fit_lanes(A, count):
        X, info = p.new_tensor(by_columns(A.type, A.shape)), p.new(count, _INT32)
        p.run(
            lanes.solve_many, A.type.numpy, n, n, *readable(p, A), p.new(0, A.type.numpy), 0, 0, memory_of(X), info,
            work=A.size * n // 16,
        )
        return X, reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    factors = copied(p, A)
    numbers, pivots, info = _factored(p, factors, n, n)
    reports = as_integers(p, info, A, tuple(batch))
    if numbers.dtype == _INT32:
        X = p.new_tensor(by_columns(A.type, A.shape))
        fill_identities(p, X, n, n)
        _substitute(p, factors, pivots, X, n, n)
    else:
        X = factors
        call_lapack(
            p, "getri", count, {"n": n}, {"x": n * n, "pivots": Place("numbers", count, n)}, 2 * n**3, memory_of(X),
            numbers=numbers,
        )  # fmt: skip
    return X, reported(p, reports, check, len(A.shape) > 2)


def fill_identities(p: Plan, out: TensorRef, rows: int, columns: int) -> None:
    p.run(small.identities, out.type.numpy, rows, columns, memory_of(out), work=out.size)


def linalg_det(p: Plan, A: TensorRef) -> TensorRef:
    """Return the determinants of matrices."""
    out, n = p.new_tensor(layout_of(A.type, A.shape[:-2])), A.shape[-1]
    if fit_lanes(A, out.size):
        p.run(lanes.determinants_of_many, A.type.numpy, n, readable(p, A)[0], memory_of(out), work=A.size * n // 16)
        return out
    factors, pivots = _lu_of(p, A)
    p.run(small.determinants, A.type.numpy, n, memory_of(factors), pivots, memory_of(out), work=A.size)
    return out


def linalg_slogdet(p: Plan, A: TensorRef) -> tuple[TensorRef, TensorRef]:
    """Return the signs of determinants, and the logarithms of their absolute values."""
    factors, pivots = _lu_of(p, A)
    signs = p.new_tensor(layout_of(A.type, A.shape[:-2]))
    logarithms = p.new_tensor(layout_of(A.type.with_dtype(real_of(A.type.dtype)), A.shape[:-2]))
    p.run(
        small.log_determinants, A.type.numpy, A.shape[-1], memory_of(factors), pivots, memory_of(signs),
        memory_of(logarithms), work=A.size,
    )
    return signs, logarithms


def _lu_of(p: Plan, A: TensorRef) -> tuple[TensorRef, Buffer]:
    """Return the LU factors of the transposes of square matrices, and the int32 pivots."""
    n = A.shape[-1]
    factors = copied(p, A, columns=False)
    _, pivots, _ = _factored(p, factors, n, n)
    return factors, p.contiguous(as_integers(p, pivots, A, (numel(A.shape[:-1]),)))


def check_pivots(pivots: np.ndarray, rows: int) -> None:
    """Raise an error unless all pivots of LU factors are from 1 to ``rows``.

    Raises:
        RuntimeError: a pivot is another number, with which the kernel would write to other memory.
    """
    if pivots.size and not 1 <= pivots.min() <= pivots.max() <= rows:
        bound = "greater or equal to 1" if pivots.min() < 1 else "smaller or equal to LU.size(-2)"
        raise RuntimeError(
            f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?"
        )


def lu_permutation(p: Plan, pivots: TensorRef, rows: int) -> TensorRef:
    """Return the permutations of ``rows`` rows that the exchanges of ``pivots`` make."""
    *batch, count = pivots.shape
    out = p.new(numel(tuple(batch)) * rows, np.dtype(np.int64))
    p.call(check_pivots, p.contiguous(pivots), rows)
    p.run(small.permutations, np.dtype(np.int64), rows, count, p.contiguous(pivots), out, work=out.size)
    return p.tensor(out, pivots.type.with_dtype(int64), (*batch, rows))


def linalg_solve_triangular(
    p: Plan, A: TensorRef, B: TensorRef, upper: bool, left: bool, unitriangular: bool
) -> TensorRef:
    """Return the solutions of ``A @ X = B``, or of ``X @ A = B``, with triangular matrices."""
    n, dtype = A.shape[-1], A.type.numpy
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X = copied(p, B, (*batch, *B.shape[-2:]), left)
    columns, count = X.size // max(n * numel(batch), 1), numel(batch)
    matrices = A if A.shape[:-2] == batch else copied(p, A, (*batch, n, n), False)
    by_column = transposed(matrices).layout.contiguous
    factors = p.contiguous(transposed(matrices) if by_column else matrices)
    upper_stored, turned = upper == by_column, left != by_column
    if not X.size:
        return X
    if _is_small(dtype, n):
        p.run(
            small.triangular, dtype, n, columns, upper_stored, unitriangular, turned, factors, memory_of(X),
            work=count * n * n * columns // 8,
        )
        return X
    letters: dict[str, int | str] = {
        "side": "L", "uplo": "LU"[upper_stored], "trans": "NT"[turned], "diag": "NU"[unitriangular],
        "m": n, "n": columns, "lda": n,
    }
    call_lapack(p, "trsm", count, letters, {"x": n * n, "y": n * columns}, n * n * columns, factors, memory_of(X))
    return X


# -- LDL --------------------------------------------------------------------------------------------------------------


def linalg_ldl_factor(
    p: Plan, A: TensorRef, hermitian: bool, check: str
) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the LDL factors of symmetric or Hermitian matrices, whose lower triangle is read, pivots and reports."""
    (*batch, n, _), dtype = A.shape, A.type.numpy
    count = numel(tuple(batch))
    LD, numbers = copied(p, A), p.new(count * (1 + n), np.dtype(np.int64))
    info = call_lapack(
        p, "hetrf" if hermitian and dtype.kind == "c" else "sytrf", count, {"uplo": "L", "n": n},
        {"x": n * n, "pivots": Place("numbers", count, n)}, n**3 / 3, memory_of(LD), numbers=numbers,
    )
    reports = reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    p.backend.keep_triangle(p, LD, LD, 0, True)
    return LD, as_integers(p, numbers.part(count, count * n), A, (*batch, n)), reports


def check_ldl_pivots(pivots: np.ndarray, n: int) -> None:
    """Raise an error unless the pivots of LDL factors are such that LAPACK stays within the matrices.

    Raises:
        RuntimeError: a size is not from 1 to ``n``, or a negative pivot, of a block of two rows, has no second one.
    """
    by_matrix = pivots.reshape(-1, n)
    valid = bool(((np.abs(by_matrix) >= 1) & (np.abs(by_matrix) <= n)).all())
    begun = np.zeros(len(by_matrix), np.bool_)  # True after the first row of a block
    for negative in by_matrix.T < 0:
        valid = valid and not (begun & ~negative).any()
        begun = negative & ~begun
    if not valid or begun.any():
        raise RuntimeError("torch.linalg.ldl_solve: Expected pivots to be those that torch.linalg.ldl_factor returns")


def linalg_ldl_solve(p: Plan, LD: TensorRef, pivots: TensorRef, B: TensorRef, hermitian: bool) -> TensorRef:
    """Return the solutions of systems whose matrices have these LDL factors."""
    n, dtype = LD.shape[-1], LD.type.numpy
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    count, columns = numel(batch), B.shape[-1]
    X = copied(p, B, (*batch, n, columns))
    if not X.size:
        return X
    numbers = p.new(count * (1 + n), np.dtype(np.int64))
    type = pivots.type.with_dtype(int64)
    p.assign(pivots, TensorRef(numbers.memory, layout_of(type, (*batch, n)), count))
    p.call(check_ldl_pivots, numbers.part(count, count * n), n)
    call_lapack(
        p, "hetrs" if hermitian and dtype.kind == "c" else "sytrs", count, {"uplo": "L", "n": n, "k": columns},
        {"x": n * n, "pivots": Place("numbers", count, n), "y": n * columns}, 2 * n * n * columns,
        memory_of(copied(p, LD, (*batch, n, n))), memory_of(X), numbers=numbers,
    )  # fmt: skip
    return X
