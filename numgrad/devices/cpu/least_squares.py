"""Steps of least-squares solutions: by QR factors, or, where a rank depends on them, by singular values."""

from __future__ import annotations

import numpy as np

from ...core.layout import Ints, by_columns, layout_of, numel
from ...core.types import int64, real_of
from ..dense import solution_by_svd
from ..plan import Plan, TensorRef
from .lapack import Place, call_lapack, has_lapack
from .linear_algebra import as_integers, copied, memory_of, reported

__all__ = ["linalg_lstsq"]


def linalg_lstsq(
    p: Plan, A: TensorRef, B: TensorRef, rcond: float | None, driver: str
) -> tuple[TensorRef, TensorRef, TensorRef]:
    """Return the solutions, the ranks and the singular values.

    The drivers "gels", which finds no ranks, and "gelsy" find no singular values either: theirs are zeros.
    """
    m, n, columns = *A.shape[-2:], B.shape[-1]
    batch, real = np.broadcast_shapes(A.shape[:-2], B.shape[:-2]), A.type.with_dtype(real_of(A.type.dtype))
    out = layout_of(A.type, (*batch, n, columns))
    layouts = layout_of(A.type.with_dtype(int64), A.shape[:-2]), layout_of(real, (*A.shape[:-2], min(m, n)))
    tolerance = max(m, n) * float(np.finfo(A.type.numpy).eps) if rcond is None else rcond
    by_svd = driver not in ("gels", "gelsy") or (driver == "gelsy" and rcond is not None)
    if by_svd or not (has_lapack(A.type.numpy) and m and n and out.size):
        contiguous = p.contiguous(A), A.shape, p.contiguous(B), B.shape
        return p.host(_by_svd, (out, *layouts), *contiguous, tolerance)
    count, rows = numel(batch), max(m, n)
    Y = p.new_tensor(by_columns(A.type, (*batch, rows, columns)))
    p.fill(memory_of(Y), 0)
    p.assign(B, _top(Y, (*batch, m, columns)))
    matrices, numbers = copied(p, A, (*batch, m, n)), p.new(count * (2 + n), np.dtype(np.int64))
    p.fill(numbers, 0)
    sizes: dict[str, int | str] = {"trans": "N", "m": m, "n": n, "k": columns, "ldy": rows}
    steps: dict[str, int | Place] = {"x": m * n, "y": rows * columns}
    reals = p.new(1, real.numpy)
    p.fill(reals, tolerance)
    if driver == "gelsy":
        del sizes["trans"]
        steps |= {"pivots": Place("numbers", count, n), "rank": Place("numbers", count * (1 + n), 1)}
        steps["rcond"] = Place("reals")
    info = call_lapack(
        p, driver, count, sizes, steps, 4 * m * n * min(m, n), memory_of(matrices), memory_of(Y), reals=reals,
        numbers=numbers, rwork=2 * n,
    )
    reported(p, as_integers(p, info, A, batch), "torch.linalg.lstsq" if driver == "gels" else "", len(batch) > 0)
    X, (ranks, values) = p.new_tensor(out), map(p.new_tensor, layouts)
    p.assign(_top(Y, out.shape), X)
    found = layout_of(ranks.type, ranks.shape, _steps_within(A.shape[:-2], batch))
    p.assign(TensorRef(numbers.memory, found, count * (1 + n)), ranks)
    p.fill(memory_of(values), 0)
    return X, ranks, values


def _top(tensor: TensorRef, shape: Ints) -> TensorRef:
    """Return the first rows of matrices."""
    return tensor.viewed(layout_of(tensor.type, shape, tensor.layout.strides))


def _steps_within(shape: Ints, batch: Ints) -> Ints:
    """Return the steps with which a tensor of this shape reads the first of equal elements of a contiguous batch."""
    steps = [numel(batch[place + 1 :]) for place in range(len(batch))][len(batch) - len(shape) :]
    return tuple(steps)


def _by_svd(A: np.ndarray, shape: Ints, B: np.ndarray, other: Ints, rcond: float) -> tuple[np.ndarray, ...]:
    return tuple([result.ravel() for result in solution_by_svd(A.reshape(shape), B.reshape(other), rcond)])
