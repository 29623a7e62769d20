"""The largest element of each window of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import extremes

from ..memory import empty_row
from .launching import launch

__all__ = ["max_pool_launcher"]


def lowest(kind: np.dtype) -> float:
    """The number that nothing of this dtype is less than."""
    return -np.inf if kind.kind == "f" else int(np.iinfo(kind).min)


def max_pool_launcher(type: Any, sizes: Sequence[int], work: int, count: int) -> Callable[[Any], tuple[Any, Any]]:
    """What finds the largest elements of ``count`` windows, and their indices in the images: ``launch(row)``.

    ``sizes`` are three numbers each, one for each dimension: of the images, the windows, their strides, paddings and
    dilations, and how many windows there are.  ``work`` is how many elements all windows have.
    """
    kind = type.numpy

    def run(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, indices = empty_row(count, kind), empty_row(count, np.dtype(np.int64))
        if count:
            launch(extremes.max_pool, kind, flat, *sizes, lowest(kind), out, indices, size=work)
        return out, indices

    return run
