"""``vmap`` under PyTorch's older, private names, which programs for batches of gradients still use."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .func import vmap as _newer


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Call :func:`numgrad.vmap`, with a warning that this name is deprecated."""
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning, stacklevel=2
    )
    return _newer(func, in_dims, out_dims)


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    return _newer(func, in_dims, out_dims)
