"""What runs a function along an axis of tensors of one layout: bound to a kernel where there are few elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import scans, sorting
from .reductions import extreme_axis, fold_axis, logsumexp_axis, norm_axis, variance_axis
from .scans import extremes_so_far, scan_axis
from .sorting import kth_axis, median_axis, mode_axis, sort_axis

__all__ = ["axis_launcher"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module in (scans, sorting) for name in module.__all__
}

#: Those that are bound to a kernel, and so are told how to read a tensor, and the dtype of that.
_BOUND: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        extreme_axis, extremes_so_far, fold_axis, kth_axis, logsumexp_axis, median_axis, mode_axis, norm_axis,
        scan_axis, sort_axis, variance_axis,
    )
}


def axis_launcher(
    name: str, read: Callable[[Any], Any], type: Any, sizes: Sequence[int], *arguments: Any
) -> Callable[[Any], Any]:
    """What calls the function of this name on a tensor of which ``read`` gives a row of this type.

    The row is seen as ``sizes``, (outer, length, inner), and has more arguments after it.
    """
    if name in _BOUND:
        return _BOUND[name](read, type.numpy, *sizes, *arguments)
    function = _FUNCTIONS[name]
    return lambda tensor: function(read(tensor), *sizes, *arguments)
