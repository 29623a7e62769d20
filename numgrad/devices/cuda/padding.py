"""Convolutions' results that multiplied padding's zeros with infinities or NaN, computed anew; see the CPU's."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels.cuda import padding

from ...core.layout import Ints
from ..padding import filter_numbers, window_numbers
from ..plan import Buffer, Plan
from .launching import THREADS, blocks_for
from .memory import no_row

__all__ = ["mend", "mend_weight"]

#: How many results of a line that has met padding a thread looks at, about.
_EACH = 16


def mend(
    p: Plan, image: Buffer, filters: Buffer, bias: Buffer | None, out: Buffer, shapes: tuple[Ints, Ints], *how: Any
) -> None:
    """Correct products of windows; threads look at no results but those that may have met padding."""
    numbers = window_numbers(*shapes, *how)
    columns, begin, stop = numbers[-3:]
    apart = max(columns - (stop - begin), -(-columns // _EACH))
    size = math.prod(shapes[1]) // columns * apart
    added: Any = no_row(image.dtype) if bias is None else bias
    p.run(
        padding.mend, image.dtype, image, filters, added, bias is not None, *numbers, size, apart, out,
        grid=(blocks_for(size), THREADS),
    )


def mend_weight(p: Plan, image: Buffer, grad: Buffer, out: Buffer, shapes: tuple[Ints, Ints], *how: Any) -> None:
    """Correct gradients of filters."""
    numbers = filter_numbers(*shapes, *how)
    p.run(
        padding.mend_weight, image.dtype, image, grad, *numbers, out.size, out, grid=(blocks_for(out.size), THREADS)
    )
