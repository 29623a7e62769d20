"""Which libraries may read the elements of a tensor that requires a gradient: those that draw, or show tables.

To NumPy, and to programs, such a tensor's elements are given only once it is detached, since a result computed from
them would have no gradient.  A picture has none anyway.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["read_only", "wanted_for_a_picture"]

_LIBRARIES = frozenset({"matplotlib", "mpl_toolkits", "narwhals", "pandas", "plotly", "_plotly_utils", "seaborn"})

#: What lies between such a library and its question: NumPy, the module ``copy``, and the modules that answer.
_BETWEEN = frozenset({"copy", "numpy", *[f"{__package__}.{name}" for name in ("_conversions", "_numpy", "_tensor")]})


def wanted_for_a_picture() -> bool:
    """Whether the tensor was asked, or given to NumPy, by one of these libraries and not by the program."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))  # a program may have set it to anything
        package = module.partition(".")[0]
        if package not in _BETWEEN and module not in _BETWEEN:
            return package in _LIBRARIES
        frame = frame.f_back
    return False


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, but not to be written to: what is drawn is no way into the memory of the graph."""
    view = array.view()
    view.flags.writeable = False
    return view
