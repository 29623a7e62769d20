"""Steps of decompositions and of systems of equations.

Small matrices are decomposed by kernels, and others by LAPACK.  If LAPACK's addresses are unknown, the kernels
decompose matrices of any size, and NumPy computes what they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import small_matrices as small

from ...core.layout import Ints, by_columns, layout_of, numel
from ...core.types import complex_of, int32, int64, real_of
from ..host_functions import raise_failed
from ..plan import Buffer, Plan, TensorRef
from .lapack import Place, call_lapack, has_lapack

__all__ = [
    "linalg_cholesky", "linalg_det", "linalg_eig", "linalg_eigh", "linalg_eigvalsh", "linalg_geqrf", "linalg_inv",
    "linalg_ldl_factor", "linalg_ldl_solve", "linalg_lu_factor", "linalg_qr", "linalg_slogdet", "linalg_solve",
    "linalg_solve_triangular", "linalg_svd", "linalg_svdvals", "lu_permutation",
]

#: Rows of the largest matrices that the kernels decompose, rather than LAPACK.
SMALL = 16

#: Rows of the largest matrices whose loops are unrolled, and the least number of such matrices.
UNROLLED, MANY = 4, 256

_INT32 = np.dtype(np.int32)


def transposed(tensor: TensorRef) -> TensorRef:
    """Return the view with the last two dimensions exchanged."""
    shape, strides = tensor.shape, tensor.layout.strides
    return tensor.viewed(
        layout_of(tensor.type, (*shape[:-2], *shape[:-3:-1]), (*strides[:-2], *strides[:-3:-1]))
    )


def _copied(p: Plan, tensor: TensorRef, shape: Ints = (), columns: bool = True) -> TensorRef:
    """Return a copy of a tensor, broadcast, whose matrices are stored column by column, or row by row."""
    shape = shape or tensor.shape
    copy = p.new_tensor(by_columns(tensor.type, shape) if columns else layout_of(tensor.type, shape))
    p.assign(tensor, copy)
    return copy


def _all(tensor: TensorRef) -> Buffer:
    """Return all memory of a new tensor."""
    return Buffer(tensor.memory, tensor.size, tensor.type.numpy)


def _integers(p: Plan, buffer: Buffer, like: TensorRef, shape: Ints) -> TensorRef:
    """Return integers as an int32 tensor."""
    type = like.type.with_dtype(int32)
    if buffer.dtype == _INT32:
        return p.tensor(buffer, type, shape)
    tensor = TensorRef(buffer.memory, layout_of(like.type.with_dtype(int64), shape), buffer.start)
    return p.tensor(p.contiguous(tensor, int32), type, shape)


def _reported(p: Plan, info: TensorRef, check: str, batched: bool) -> TensorRef:
    """Return the reports, after a step that raises the error that the function ``check`` has for them, if any."""
    if check:
        p.call(raise_failed, p.contiguous(info), check, batched)
    return info


def _unrolled(n: int, count: int) -> int:
    """Return the number of rows if a kernel of its own for this number pays, and else 0."""
    return n if n <= UNROLLED and count >= MANY else 0


def _is_small(dtype: np.dtype, rows: int) -> bool:
    return rows <= SMALL or not has_lapack(dtype)


# -- Cholesky ---------------------------------------------------------------------------------------------------------


def linalg_cholesky(p: Plan, A: TensorRef, upper: bool, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the Cholesky factors of matrices, of which one triangle is read, and the reports."""
    (*batch, n, _), dtype = A.shape, A.type.numpy
    count = numel(tuple(batch))
    L = _copied(p, A, columns=not upper)  # an upper triangle, row by row, is a lower one of the transpose
    if _is_small(dtype, n):
        info = p.new(count, _INT32)
        p.run(small.cholesky, dtype, n, _all(L), info, work=count * n**3 // 8, ROWS=_unrolled(n, count))
    else:
        info = call_lapack(p, "potrf", count, {"uplo": "L", "n": n}, {"x": n * n}, n**3 / 3, _all(L))
        p.backend.keep_triangle(p, L, L, 0, not upper)
    return L, _reported(p, _integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)


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
        p.run(small.lu, dtype, m, n, _all(x), pivots, info, work=count * m * n * least // 8, ROWS=rows)
        return pivots, pivots, info
    numbers = p.new(count * (1 + least), np.dtype(np.int64))
    info = call_lapack(
        p, "getrf", count, {"m": m, "n": n}, {"x": m * n, "pivots": Place("numbers", count, least)}, m * n * least,
        _all(x), numbers=numbers,
    )
    return numbers, numbers.part(count, count * least), info


def linalg_lu_factor(p: Plan, A: TensorRef, check: str) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the LU factors of matrices, in one matrix each, the pivots and the reports."""
    *batch, m, n = A.shape
    LU = _copied(p, A)
    _, pivots, info = _factored(p, LU, m, n)
    return (
        LU, _integers(p, pivots, A, (*batch, min(m, n))),
        _reported(p, _integers(p, info, A, tuple(batch)), check, len(A.shape) > 2),
    )


def linalg_solve(p: Plan, A: TensorRef, B: TensorRef, left: bool, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the solutions of ``A @ X = B``, or of ``X @ A = B``, and the reports."""
    vectors = len(B.shape) == 1 or B.shape == A.shape[:-1]
    if vectors:
        B = B.viewed(layout_of(B.type, (*B.shape, 1), (*B.layout.strides, 0)))
    n = A.shape[-1]
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    # For ``X @ A = B``, rows take the place of columns: the transpose of the system.
    matrices = _copied(p, A, (*batch, n, n), left)
    X = _copied(p, B, (*batch, *B.shape[-2:]), left)
    columns = B.shape[-1] if left else B.shape[-2]
    numbers, _, info = _factored(p, matrices, n, n)
    reports = _integers(p, info, A, batch)
    _substitute(p, matrices, numbers, X, n, columns)  # LAPACK reports again
    _reported(p, reports, check, len(A.shape) > 2)
    if not vectors:
        return X, reports
    X = X.viewed(layout_of(X.type, X.shape[:-1]))
    return _copied(p, X) if len(X.shape) > 1 else X, reports  # PyTorch's strides


def _substitute(p: Plan, factors: TensorRef, pivots: Buffer, X: TensorRef, n: int, columns: int) -> None:
    """Add the step that replaces right-hand sides by solutions; ``pivots`` are the first result of ``_factored``."""
    dtype, count = X.type.numpy, numel(X.shape[:-2])
    if not columns:
        return
    if pivots.dtype == _INT32:
        p.run(
            small.substitute, dtype, n, columns, _all(factors), pivots, _all(X), work=count * n * n * columns // 8,
            ROWS=_unrolled(n, count),
        )  # fmt: skip
        return
    call_lapack(
        p, "getrs", count, {"trans": "N", "n": n, "k": columns},
        {"x": n * n, "pivots": Place("numbers", count, n), "y": n * columns}, 2 * n * n * columns, _all(factors),
        _all(X), numbers=pivots,
    )  # fmt: skip


def linalg_inv(p: Plan, A: TensorRef, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the inverses of matrices, and the reports."""
    *batch, n, _ = A.shape
    count = numel(tuple(batch))
    factors = _copied(p, A)
    numbers, pivots, info = _factored(p, factors, n, n)
    reports = _integers(p, info, A, tuple(batch))
    if numbers.dtype == _INT32:
        X = p.new_tensor(by_columns(A.type, A.shape))
        _identities(p, X, n, n)
        _substitute(p, factors, pivots, X, n, n)
    else:
        X = factors
        call_lapack(
            p, "getri", count, {"n": n}, {"x": n * n, "pivots": Place("numbers", count, n)}, 2 * n**3, _all(X),
            numbers=numbers,
        )  # fmt: skip
    return X, _reported(p, reports, check, len(A.shape) > 2)


def _identities(p: Plan, out: TensorRef, rows: int, columns: int) -> None:
    p.run(small.identities, out.type.numpy, rows, columns, _all(out), work=out.size)


def linalg_det(p: Plan, A: TensorRef) -> TensorRef:
    """Return the determinants of matrices."""
    factors, pivots = _lu_of(p, A)
    out = p.new_tensor(layout_of(A.type, A.shape[:-2]))
    p.run(small.determinants, A.type.numpy, A.shape[-1], _all(factors), pivots, _all(out), work=A.size)
    return out


def linalg_slogdet(p: Plan, A: TensorRef) -> tuple[TensorRef, TensorRef]:
    """Return the signs of determinants, and the logarithms of their absolute values."""
    factors, pivots = _lu_of(p, A)
    signs = p.new_tensor(layout_of(A.type, A.shape[:-2]))
    logarithms = p.new_tensor(layout_of(A.type.with_dtype(real_of(A.type.dtype)), A.shape[:-2]))
    p.run(
        small.log_determinants, A.type.numpy, A.shape[-1], _all(factors), pivots, _all(signs), _all(logarithms),
        work=A.size,
    )
    return signs, logarithms


def _lu_of(p: Plan, A: TensorRef) -> tuple[TensorRef, Buffer]:
    """Return the LU factors of the transposes of square matrices, and the int32 pivots."""
    n = A.shape[-1]
    factors = _copied(p, A, columns=False)
    _, pivots, _ = _factored(p, factors, n, n)
    return factors, p.contiguous(_integers(p, pivots, A, (numel(A.shape[:-1]),)))


def lu_permutation(p: Plan, pivots: TensorRef, rows: int) -> TensorRef:
    """Return the permutations of ``rows`` rows that the exchanges of ``pivots`` make."""
    *batch, count = pivots.shape
    out = p.new(numel(tuple(batch)) * rows, np.dtype(np.int64))
    p.run(small.permutations, np.dtype(np.int64), rows, count, p.contiguous(pivots), out, work=out.size)
    return p.tensor(out, pivots.type.with_dtype(int64), (*batch, rows))


def linalg_solve_triangular(
    p: Plan, A: TensorRef, B: TensorRef, upper: bool, left: bool, unitriangular: bool
) -> TensorRef:
    """Return the solutions of ``A @ X = B``, or of ``X @ A = B``, with triangular matrices."""
    n, dtype = A.shape[-1], A.type.numpy
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    X = _copied(p, B, (*batch, *B.shape[-2:]), left)
    columns, count = X.size // max(n * numel(batch), 1), numel(batch)
    matrices = A if A.shape[:-2] == batch else _copied(p, A, (*batch, n, n), False)
    by_column = transposed(matrices).layout.contiguous
    factors = p.contiguous(transposed(matrices) if by_column else matrices)
    upper_stored, turned = upper == by_column, left != by_column
    if not X.size:
        return X
    if _is_small(dtype, n):
        p.run(
            small.triangular, dtype, n, columns, upper_stored, unitriangular, turned, factors, _all(X),
            work=count * n * n * columns // 8,
        )
        return X
    letters: dict[str, int | str] = {
        "side": "L", "uplo": "LU"[upper_stored], "trans": "NT"[turned], "diag": "NU"[unitriangular],
        "m": n, "n": columns, "lda": n,
    }
    call_lapack(p, "trsm", count, letters, {"x": n * n, "y": n * columns}, n * n * columns, factors, _all(X))
    return X


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def linalg_eigh(p: Plan, A: TensorRef, lower: bool, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the eigenvalues, in ascending order, and the eigenvectors of Hermitian matrices."""
    return _hermitian(p, A, lower, check, "V")


def linalg_eigvalsh(p: Plan, A: TensorRef, lower: bool, check: str) -> TensorRef:
    """Return the eigenvalues of Hermitian matrices, in ascending order."""
    return _hermitian(p, A, lower, check, "N")[0]


def _hermitian(p: Plan, A: TensorRef, lower: bool, check: str, job: str) -> tuple[TensorRef, TensorRef]:
    (*batch, n, _), dtype = A.shape, A.type.numpy
    count, type = numel(tuple(batch)), A.type.with_dtype(real_of(A.type.dtype))
    if not has_lapack(dtype):
        layouts = layout_of(type, (*batch, n)), by_columns(A.type, A.shape)
        return p.host(_numpy_eigh, layouts, *_strided(p, A), lower, check, len(A.shape) > 2)
    V, values = _copied(p, A), p.new_tensor(layout_of(type, (*batch, n)))
    info = call_lapack(
        p, "heevd" if dtype.kind == "c" else "syevd", count, {"job": job, "uplo": "UL"[lower], "n": n},
        {"x": n * n, "reals": n}, 9 * n**3 + 300 * n, _all(V), reals=_all(values),
    )
    _reported(p, _integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    return values, V


def _strided(p: Plan, tensor: TensorRef) -> tuple[Any, ...]:
    return p.contiguous(tensor), tensor.shape


def _numpy_eigh(flat: np.ndarray, shape: Ints, lower: bool, check: str, batched: bool) -> tuple[np.ndarray, ...]:
    values, vectors = np.linalg.eigh(flat.reshape(shape), "L" if lower else "U")
    return values.ravel(), np.ascontiguousarray(vectors.mT).ravel()


def linalg_eig(p: Plan, A: TensorRef, check: str) -> tuple[TensorRef, TensorRef]:
    """Return the complex eigenvalues and eigenvectors of matrices."""
    n, dtype, type = A.shape[-1], A.type.numpy, A.type.with_dtype(complex_of(real_of(A.type.dtype)))
    layouts = layout_of(type, A.shape[:-1]), by_columns(type, A.shape)
    if not has_lapack(dtype):
        return p.host(_numpy_eig, layouts, *_strided(p, A))
    count = numel(A.shape[:-2])
    values, vectors = map(p.new_tensor, layouts)
    sizes: dict[str, int | str] = {"no": "N", "job": "V", "n": n}
    work = 25 * n**3 + 300 * n
    if dtype.kind == "c":
        steps: Any = {"x": n * n, "y": n, "z": n * n}
        info = call_lapack(
            p, "geev", count, sizes, steps, work, _all(_copied(p, A)), _all(values), _all(vectors), rwork=2 * n
        )
    else:
        steps = {"x": n * n, "y": 2 * n, "imaginary": Place("y", n, 2 * n), "z": n * n}
        parts, columns = p.new(2 * count * n, dtype), p.new(A.size, dtype)
        info = call_lapack(p, "geev", count, sizes, steps, work, _all(_copied(p, A)), parts, columns)
        p.run(small.conjugate_pairs, dtype, n, parts, columns, _all(values), _all(vectors), work=A.size)
    _reported(p, _integers(p, info, A, A.shape[:-2]), check, len(A.shape) > 2)
    return values, vectors


def _numpy_eig(flat: np.ndarray, shape: Ints) -> tuple[np.ndarray, ...]:
    kind = np.result_type(flat.dtype, np.complex64)
    values, vectors = [part.astype(kind) for part in np.linalg.eig(flat.reshape(shape))]
    return values.ravel(), np.ascontiguousarray(vectors.mT).ravel()


# -- QR and singular values -------------------------------------------------------------------------------------------


def linalg_qr(p: Plan, A: TensorRef, mode: str) -> tuple[TensorRef, TensorRef]:
    """Return matrices Q with orthonormal columns and upper triangular R; without elements Q in mode "r"."""
    (*batch, m, n), dtype = A.shape, A.type.numpy
    count, least = numel(tuple(batch)), min(A.shape[-2:])
    columns = m if mode == "complete" else least
    Q = p.new_tensor(layout_of(A.type, (0,)) if mode == "r" else by_columns(A.type, (*batch, m, columns)))
    R = p.new_tensor(by_columns(A.type, (*batch, columns, n)))
    if not least:
        if mode != "r" and Q.size:
            _identities(p, Q, m, columns)
        if R.size:
            p.fill(_all(R), 0)
        return Q, R
    if not has_lapack(dtype):
        return p.host(_numpy_qr, (Q.layout, R.layout), *_strided(p, A), mode)
    factors, scales = linalg_geqrf(p, A)
    tau = _all(scales)
    p.backend.keep_triangle(p, _part(factors, columns, n), R, 0, False)
    if mode != "r":
        p.assign(_part(factors, m, least), _part(Q, m, least))
        routine = "ungqr" if dtype.kind == "c" else "orgqr"
        sizes = {"m": m, "k": columns, "r": least}
        call_lapack(p, routine, count, sizes, {"x": m * columns, "y": least}, 2 * m * n * least, _all(Q), tau)
    return Q, R


def linalg_geqrf(p: Plan, A: TensorRef) -> tuple[TensorRef, TensorRef]:
    """Return the QR factors of matrices as LAPACK's geqrf does."""
    *batch, m, n = A.shape
    least = min(m, n)
    factors, tau = _copied(p, A), p.new_tensor(layout_of(A.type, (*batch, least)))
    steps = {"x": m * n, "y": least}
    call_lapack(p, "geqrf", numel(tuple(batch)), {"m": m, "n": n}, steps, 2 * m * n * least, _all(factors), _all(tau))
    return factors, tau


def _part(tensor: TensorRef, rows: int, columns: int) -> TensorRef:
    """Return the view of the first rows and columns."""
    return tensor.viewed(layout_of(tensor.type, (*tensor.shape[:-2], rows, columns), tensor.layout.strides))


def _numpy_qr(flat: np.ndarray, shape: Ints, mode: str) -> tuple[np.ndarray, ...]:
    Q, R = np.linalg.qr(flat.reshape(shape), "complete" if mode == "complete" else "reduced")
    return np.ascontiguousarray(Q[..., : 0 if mode == "r" else None].mT).ravel(), np.ascontiguousarray(R.mT).ravel()


def linalg_svd(p: Plan, A: TensorRef, full_matrices: bool, check: str) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the singular vectors and values of matrices: ``U``, ``S`` in descending order, and ``Vh``."""
    return _singular(p, A, "SA"[full_matrices], check)


def linalg_svdvals(p: Plan, A: TensorRef, check: str) -> TensorRef:
    """Return the singular values of matrices, in descending order."""
    return _singular(p, A, "N", check)[1]


def _singular(p: Plan, A: TensorRef, job: str, check: str) -> tuple[TensorRef, TensorRef, TensorRef]:
    (*batch, m, n), dtype = A.shape, A.type.numpy
    count, least, most = numel(tuple(batch)), min(A.shape[-2:]), max(A.shape[-2:])
    width, height = {"A": (m, n), "S": (least, least), "N": (0, 0)}[job]
    U, Vh = [p.new_tensor(by_columns(A.type, (*batch, *size))) for size in ((m, width), (height, n))]
    S = p.new_tensor(layout_of(A.type.with_dtype(real_of(A.type.dtype)), (*batch, least)))
    if not least:
        for vectors in (U, Vh):
            if vectors.size:
                _identities(p, vectors, *vectors.shape[-2:])
        return U, S, Vh
    if not has_lapack(dtype):
        return p.host(_numpy_svd, (U.layout, S.layout, Vh.layout), *_strided(p, A), job)
    info = call_lapack(
        p, "gesdd", count, {"job": job, "m": m, "n": n, "ldz": max(height, 1)},
        {"x": m * n, "reals": least, "y": m * width, "z": height * n}, 20 * m * n * least + 300 * most,
        _all(_copied(p, A)), _all(U), _all(Vh), _all(S), iwork=8 * least,
        rwork=max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least, 7 * least),
    )  # fmt: skip
    _reported(p, _integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    return U, S, Vh


def _numpy_svd(flat: np.ndarray, shape: Ints, job: str) -> Sequence[np.ndarray]:
    if job == "N":
        values = np.linalg.svd(flat.reshape(shape), compute_uv=False)
        return np.empty(0, flat.dtype), values.ravel(), np.empty(0, flat.dtype)
    U, S, Vh = np.linalg.svd(flat.reshape(shape), job == "A")
    return np.ascontiguousarray(U.mT).ravel(), S.ravel(), np.ascontiguousarray(Vh.mT).ravel()


# -- LDL --------------------------------------------------------------------------------------------------------------


def linalg_ldl_factor(
    p: Plan, A: TensorRef, hermitian: bool, check: str
) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the LDL factors of symmetric or Hermitian matrices, whose lower triangle is read, pivots and reports."""
    (*batch, n, _), dtype = A.shape, A.type.numpy
    count = numel(tuple(batch))
    LD, numbers = _copied(p, A), p.new(count * (1 + n), np.dtype(np.int64))
    info = call_lapack(
        p, "hetrf" if hermitian and dtype.kind == "c" else "sytrf", count, {"uplo": "L", "n": n},
        {"x": n * n, "pivots": Place("numbers", count, n)}, n**3 / 3, _all(LD), numbers=numbers,
    )
    reports = _reported(p, _integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    p.backend.keep_triangle(p, LD, LD, 0, True)
    return LD, _integers(p, numbers.part(count, count * n), A, (*batch, n)), reports


def linalg_ldl_solve(p: Plan, LD: TensorRef, pivots: TensorRef, B: TensorRef, hermitian: bool) -> TensorRef:
    """Return the solutions of systems whose matrices have these LDL factors."""
    n, dtype = LD.shape[-1], LD.type.numpy
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    count, columns = numel(batch), B.shape[-1]
    X = _copied(p, B, (*batch, n, columns))
    if not X.size:
        return X
    numbers = p.new(count * (1 + n), np.dtype(np.int64))
    type = pivots.type.with_dtype(int64)
    p.assign(pivots, TensorRef(numbers.memory, layout_of(type, (*batch, n)), count))
    call_lapack(
        p, "hetrs" if hermitian and dtype.kind == "c" else "sytrs", count, {"uplo": "L", "n": n, "k": columns},
        {"x": n * n, "pivots": Place("numbers", count, n), "y": n * columns}, 2 * n * n * columns,
        _all(_copied(p, LD, (*batch, n, n))), _all(X), numbers=numbers,
    )  # fmt: skip
    return X
