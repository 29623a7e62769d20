"""Convolutions' results that multiplied padding's zeros with infinities or NaN, computed anew; see the kernels."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels.cpu import padding

from ...core.layout import Ints
from ..memory import no_row
from ..padding import filter_numbers, window_numbers
from ..plan import Buffer, Plan

__all__ = ["mend", "mend_weight"]


def mend(
    p: Plan, image: Buffer, filters: Buffer, bias: Buffer | None, out: Buffer, shapes: tuple[Ints, Ints], *how: Any
) -> None:
    """Correct products of windows; ``shapes`` are those of the images and of the results, see ``window_numbers``."""
    added: Any = no_row(image.dtype) if bias is None else bias
    given = image, filters, added, bias is not None, *window_numbers(*shapes, *how)
    p.run(padding.mend, image.dtype, *given, out, work=math.prod(shapes[1]) // 8)


def mend_weight(p: Plan, image: Buffer, grad: Buffer, out: Buffer, shapes: tuple[Ints, Ints], *how: Any) -> None:
    """Correct gradients of filters; ``shapes`` are those of the images and of ``grad``, see ``filter_numbers``."""
    numbers = filter_numbers(*shapes, *how)
    p.run(padding.mend_weight, image.dtype, image, grad, *numbers, out, work=out.size)
