"""Steps on a GPU that recompute the results of convolutions that multiplied zeros of the padding by infinities or NaN.
"""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels.cuda import padding

from ...core.layout import Ints
from ..padding import filter_numbers, window_numbers
from ..plan import Buffer, Plan
from .memory import optional

__all__ = ["mend", "mend_weight"]

#: Approximate number of results that a thread checks, in a line that meets padding.
_EACH = 16


def mend(
    p: Plan, image: Buffer, filters: Buffer, bias: Buffer | None, out: Buffer, shapes: tuple[Ints, Ints], *geometry: Any
) -> None:
    """Add the step that corrects products of windows; threads check only results of windows that may meet padding."""
    numbers = window_numbers(*shapes, *geometry)
    columns, begin, stop = numbers[-3:]
    apart = max(columns - (stop - begin), -(-columns // _EACH))
    size = math.prod(shapes[1]) // columns * apart
    operands = image, filters, *optional(bias, image.dtype), *numbers, size, apart, out
    p.run(padding.mend, image.dtype, *operands, work=size)


def mend_weight(p: Plan, image: Buffer, grad: Buffer, out: Buffer, shapes: tuple[Ints, Ints], *geometry: Any) -> None:
    """Add the step that corrects gradients of filters."""
    numbers = filter_numbers(*shapes, *geometry)
    p.run(padding.mend_weight, image.dtype, image, grad, *numbers, out.size, out, work=out.size)
