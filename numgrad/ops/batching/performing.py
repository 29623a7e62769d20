"""Which function does a call under ``vmap``, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.function_tangents import FunctionCall
from ..batches import Batched
from ..overwriting import OverwriteCall
from ..transforms import ChangeCall, GeneralCall, PointwiseCall, ShapeCall
from .calls import change, general, overwrite, pointwise, reshape_in_place
from .functions import batched_function

__all__ = ["perform"]

#: How calls of each kind are done; any other sees to the examples itself.
_BY_KIND: dict[type, Callable[..., Any]] = {
    PointwiseCall: pointwise, GeneralCall: general, ChangeCall: change, OverwriteCall: overwrite,
    ShapeCall: reshape_in_place, FunctionCall: batched_function,
}


def perform(call: Any, level: Batched) -> Any:
    """Do a call for all examples of a level of ``vmap``."""
    by_kind = _BY_KIND.get(call.__class__)
    return call.run() if by_kind is None else by_kind(call, level)
