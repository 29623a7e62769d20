"""What runs a function along an axis of tensors of one layout: bound to a kernel where there are few elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numgrad_kernels.cpu.reductions import ROWS

from . import reductions, scans, sorting
from .threads import PARALLEL_FROM

__all__ = ["axis_launcher"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module in (reductions, scans, sorting) for name in module.__all__
}

#: What binds some of them, given how to read a tensor and the dtype of that; None if these arguments are not for it.
_BINDERS: dict[str, Callable[..., Any]] = {
    "extreme_axis": reductions.bound_extreme_axis,
    "extremes_so_far": scans.bound_extremes_so_far,
    "fold_axis": reductions.bound_fold_axis,
    "logsumexp_axis": reductions.bound_logsumexp_axis,
    "norm_axis": reductions.bound_norm_axis,
    "scan_axis": scans.bound_scan_axis,
    "sort_axis": sorting.bound_sort_axis,
    "variance_axis": reductions.bound_variance_axis,
}


def axis_launcher(
    name: str, read: Callable[[Any], Any], type: Any, sizes: Sequence[int], *arguments: Any
) -> Callable[[Any], Any]:
    """What calls the function of this name on a tensor of which ``read`` gives a row of this type.

    The row is seen as ``sizes``, (outer, length, inner), and has more arguments after it.
    """
    outer, length, inner = sizes
    launch = None
    few = 0 < outer * length * inner < PARALLEL_FROM and (inner == 1 or length <= ROWS)
    if few and name in _BINDERS:
        launch = _BINDERS[name](read, type.numpy, *sizes, *arguments)
    if launch is None:
        function = _FUNCTIONS[name]
        return lambda tensor: function(read(tensor), *sizes, *arguments)
    return launch
