"""What runs a function along an axis of tensors of one layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import reductions, scans, sorting

__all__ = ["axis_launcher"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module in (reductions, scans, sorting) for name in module.__all__
}


def axis_launcher(
    name: str, read: Callable[[Any], Any], type: Any, sizes: Sequence[int], *arguments: Any
) -> Callable[[Any], Any]:
    """What calls the function of this name on a tensor of which ``read`` gives a row of this type.

    The row is seen as ``sizes``, (outer, length, inner), and has more arguments after it.
    """
    function = _FUNCTIONS[name]
    return lambda tensor: function(read(tensor), *sizes, *arguments)
