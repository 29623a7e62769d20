"""Which dtype an operation computes in: PyTorch's rules of type promotion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._types import bool_, dtype, get_default_dtype, int64

__all__ = ["number_dtype", "promote_types", "result_dtype"]


def promote_types(first: dtype, second: dtype) -> dtype:
    """The smallest dtype that both can be converted to: the higher category's, or within one the larger."""
    if first is second:
        return first
    if first.category != second.category:
        return first if first.category > second.category else second
    return dtype.of_numpy[np.promote_types(first.numpy, second.numpy)]


def number_dtype(value: Any) -> dtype:
    """The dtype that a Python number stands for."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else get_default_dtype()


def result_dtype(operands: Iterable[Any]) -> dtype:
    """The dtype in which tensors and Python numbers meet.

    Tensors with dimensions decide.  A 0-d tensor, and after it a number, only counts if it is of a higher
    category (bool, integer, floating point).
    """
    by_rank: list[dtype | None] = [None, None, None]  # numbers, 0-d tensors, tensors with dimensions
    for operand in operands:
        if isinstance(operand, bool | int | float):
            rank, kind = 0, number_dtype(operand)
        else:
            rank, kind = (2 if operand._shape else 1), operand._type.dtype
        present = by_rank[rank]
        by_rank[rank] = kind if present is None else promote_types(present, kind)
    found = [kind for kind in reversed(by_rank) if kind is not None]
    result = found[0]
    for kind in found[1:]:
        if kind.category > result.category:
            result = kind
    return result
