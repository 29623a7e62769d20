"""Reductions over ranks: ``ReduceOp``, and MPI's operation for each of them and each dtype."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np

from ..core.halves import narrowed, widened
from ..core.types import dtype
from .mpi import mpi

__all__ = ["ReduceOp", "check_is_reduction", "operation_of"]


class ReduceOp(enum.Enum):
    """The function that a reduction applies to the tensors of all ranks.

    ``AVG`` is the sum divided by the number of ranks.  ``MIN`` and ``MAX`` propagate NaN.  For bools, ``SUM`` and
    ``MAX`` are *or*, ``PRODUCT`` and ``MIN`` are *and*.  Numbers of float16 and bfloat16 are combined in float32; each
    intermediate result is rounded to 16 bits.
    """

    SUM = "sum"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    AVG = "avg"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"

    def __str__(self) -> str:
        return self.name


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's class of the members


_FOR_NUMBERS = {
    ReduceOp.SUM: "SUM", ReduceOp.AVG: "SUM", ReduceOp.PRODUCT: "PROD", ReduceOp.MIN: "MIN", ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND", ReduceOp.BOR: "BOR", ReduceOp.BXOR: "BXOR",
}
_FOR_BOOLS = {
    ReduceOp.SUM: "LOR", ReduceOp.PRODUCT: "LAND", ReduceOp.MIN: "LAND", ReduceOp.MAX: "LOR", ReduceOp.BAND: "LAND",
    ReduceOp.BOR: "LOR", ReduceOp.BXOR: "LXOR",
}
#: Those that MPI cannot compute for some dtypes: it has no 16-bit numbers, and its minimum drops NaN.
_BY_NUMPY = {
    ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
}


def check_is_reduction(op: Any) -> None:
    """Raise TypeError unless a value is a ``ReduceOp``."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"a reduction is a ReduceOp, such as ReduceOp.SUM, not {op!r}")


def operation_of(op: ReduceOp, dtype: dtype) -> Any:
    """Return the MPI operation that computes a reduction of tensors of a dtype.

    Raises:
        TypeError: the reduction is not defined for the dtype, or ``op`` is none.
        ValueError: it is not defined for complex numbers.
    """
    check_is_reduction(op)  # first, because other values may have no hash
    return _operation_of(op, dtype)


@functools.cache
def _operation_of(op: ReduceOp, dtype: dtype) -> Any:
    if dtype.is_complex and op not in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT):
        raise ValueError(f"ReduceOp.{op} is not defined for complex tensors, such as those of {dtype}")
    bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    if (bitwise and dtype.differentiable) or (op is ReduceOp.AVG and not dtype.differentiable):
        raise TypeError(f"ReduceOp.{op} is not defined for {dtype}")
    if dtype.kind == "b":
        return getattr(mpi(), _FOR_BOOLS[op])
    if dtype.is_half or (dtype.is_floating_point and op in (ReduceOp.MIN, ReduceOp.MAX)):
        return _own_operation(_BY_NUMPY[op], dtype.numpy)
    return getattr(mpi(), _FOR_NUMBERS[op])


@functools.cache
def _own_operation(function: np.ufunc, dtype: np.dtype) -> Any:
    """Return an MPI operation that combines elements of a NumPy dtype by a commutative function."""

    def combine(source: memoryview, target: memoryview, datatype: Any) -> None:
        result = np.frombuffer(target, dtype)
        with np.errstate(all="ignore"):
            result[:] = narrowed(function(widened(np.frombuffer(source, dtype)), widened(result)), dtype)

    return mpi().Op.Create(combine, commute=True)
