"""Modules without the random numbers of their initialization."""

from __future__ import annotations

import inspect
from typing import Any

from ...random import fork_rng
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Return ``module_cls(*args, **kwargs)`` whose parameters have arbitrary values and draw no random numbers.

    The generators continue as if the module had not been made.

    Raises:
        RuntimeError: the class is not one of modules, or takes no ``device``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.utils.skip_init(numgrad.nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)
