"""Steps that recompute the results of convolutions that multiplied zeros of the padding by infinities or NaN."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels.cpu import padding

from ...core.layout import Ints
from ..memory import or_empty
from ..padding import filter_numbers, window_numbers
from ..plan import Buffer, Plan

__all__ = ["mend", "mend_weight"]


def mend(
    p: Plan, image: Buffer, filters: Buffer, bias: Buffer | None, out: Buffer, shapes: tuple[Ints, Ints], *geometry: Any
) -> None:
    """Add the step that corrects products of windows.

    ``shapes`` are those of the images and of the results; see ``window_numbers`` for them and the other arguments.
    """
    operands = image, filters, or_empty(bias, image.dtype), bias is not None, *window_numbers(*shapes, *geometry)
    p.run(padding.mend, image.dtype, *operands, out, work=math.prod(shapes[1]) // 8)


def mend_weight(p: Plan, image: Buffer, grad: Buffer, out: Buffer, shapes: tuple[Ints, Ints], *geometry: Any) -> None:
    """Add the step that corrects gradients of filters.

    ``shapes`` are those of the images and of ``grad``; see ``filter_numbers`` for them and the other arguments.
    """
    numbers = filter_numbers(*shapes, *geometry)
    p.run(padding.mend_weight, image.dtype, image, grad, *numbers, out, work=out.size)
