"""Steps of decompositions by orthogonal matrices: eigenvalues, QR factors and singular values.

If LAPACK's addresses are unknown, NumPy computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import matrix_lanes as lanes
from numgrad_kernels.cpu import small_matrices as small

from ...core.layout import Ints, by_columns, layout_of, numel
from ...core.types import complex_of, real_of
from ..plan import Plan, TensorRef
from .lapack import Place, call_lapack, has_lapack
from .linear_algebra import as_integers, copied, fill_identities, fit_lanes, memory_of, readable, reported

__all__ = [
    "linalg_eig", "linalg_eigh", "linalg_eigvalsh", "linalg_geqrf", "linalg_qr", "linalg_svd", "linalg_svdvals",
]

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
    values = p.new_tensor(layout_of(type, (*batch, n)))
    if fit_lanes(A, count):
        V = p.new_tensor(by_columns(A.type, A.shape if job == "V" else (0, 0)))
        numbers, small_enough = p.new(count, np.dtype(np.int32)), float(np.finfo(dtype).eps) / 8
        p.run(
            lanes.eigenvalues_of_many, dtype, n, small_enough, *readable(p, A, turned=not lower), memory_of(values),
            memory_of(V), numbers, work=2 * count * n**3,
        )  # fmt: skip
        reported(p, as_integers(p, numbers, A, tuple(batch)), check, len(A.shape) > 2)
        return values, V
    if not has_lapack(dtype):
        return p.host(_numpy_eigh, (values.layout, by_columns(A.type, A.shape)), *_strided(p, A), lower)
    V = copied(p, A)
    info = call_lapack(
        p, "heevd" if dtype.kind == "c" else "syevd", count, {"job": job, "uplo": "UL"[lower], "n": n},
        {"x": n * n, "reals": n}, 9 * n**3 + 300 * n, memory_of(V), reals=memory_of(values),
    )
    reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    return values, V


def _strided(p: Plan, tensor: TensorRef) -> tuple[Any, ...]:
    return p.contiguous(tensor), tensor.shape


def _numpy_eigh(flat: np.ndarray, shape: Ints, lower: bool) -> tuple[np.ndarray, ...]:
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
            p, "geev", count, sizes, steps, work, memory_of(copied(p, A)), memory_of(values), memory_of(vectors),
            rwork=2 * n,
        )
    else:
        steps = {"x": n * n, "y": 2 * n, "imaginary": Place("y", n, 2 * n), "z": n * n}
        parts, columns = p.new(2 * count * n, dtype), p.new(A.size, dtype)
        info = call_lapack(p, "geev", count, sizes, steps, work, memory_of(copied(p, A)), parts, columns)
        p.run(small.conjugate_pairs, dtype, n, parts, columns, memory_of(values), memory_of(vectors), work=A.size)
    reported(p, as_integers(p, info, A, A.shape[:-2]), check, len(A.shape) > 2)
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
            fill_identities(p, Q, m, columns)
        if R.size:
            p.fill(memory_of(R), 0)
        return Q, R
    if not has_lapack(dtype):
        return p.host(_numpy_qr, (Q.layout, R.layout), *_strided(p, A), mode)
    factors, scales = linalg_geqrf(p, A)
    tau = memory_of(scales)
    p.backend.keep_triangle(p, _part(factors, columns, n), R, 0, False)
    if mode != "r":
        p.assign(_part(factors, m, least), _part(Q, m, least))
        routine = "ungqr" if dtype.kind == "c" else "orgqr"
        sizes = {"m": m, "k": columns, "r": least}
        call_lapack(p, routine, count, sizes, {"x": m * columns, "y": least}, 2 * m * n * least, memory_of(Q), tau)
    return Q, R


def linalg_geqrf(p: Plan, A: TensorRef) -> tuple[TensorRef, TensorRef]:
    """Return the QR factors of matrices as LAPACK's geqrf does."""
    *batch, m, n = A.shape
    least = min(m, n)
    factors, tau = copied(p, A), p.new_tensor(layout_of(A.type, (*batch, least)))
    sizes, steps = {"m": m, "n": n}, {"x": m * n, "y": least}
    arrays = memory_of(factors), memory_of(tau)
    call_lapack(p, "geqrf", numel(tuple(batch)), sizes, steps, 2 * m * n * least, *arrays)
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
                fill_identities(p, vectors, *vectors.shape[-2:])
        return U, S, Vh
    if not has_lapack(dtype):
        return p.host(_numpy_svd, (U.layout, S.layout, Vh.layout), *_strided(p, A), job)
    info = call_lapack(
        p, "gesdd", count, {"job": job, "m": m, "n": n, "ldz": max(height, 1)},
        {"x": m * n, "reals": least, "y": m * width, "z": height * n}, 20 * m * n * least + 300 * most,
        memory_of(copied(p, A)), memory_of(U), memory_of(Vh), memory_of(S), iwork=8 * least,
        rwork=max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least, 7 * least),
    )  # fmt: skip
    reported(p, as_integers(p, info, A, tuple(batch)), check, len(A.shape) > 2)
    return U, S, Vh


def _numpy_svd(flat: np.ndarray, shape: Ints, job: str) -> Sequence[np.ndarray]:
    if job == "N":
        values = np.linalg.svd(flat.reshape(shape), compute_uv=False)
        return np.empty(0, flat.dtype), values.ravel(), np.empty(0, flat.dtype)
    U, S, Vh = np.linalg.svd(flat.reshape(shape), job == "A")
    return np.ascontiguousarray(U.mT).ravel(), S.ravel(), np.ascontiguousarray(Vh.mT).ravel()
