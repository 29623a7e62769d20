"""Matrix products, by NumPy's BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["matmul"]


def matmul(left: Any, right: Any, out: Any) -> None:
    """The matrix product of two tensors (or stacks of matrices) into a third, by NumPy's BLAS."""
    np.matmul(left._array(), right._array(), out=out._array())
