"""``functional_call`` under its older name, and the context manager that it is made of."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

from ...func import functional_call as _newer
from ...func.functional_call import replaced
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Any], args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call :func:`numgrad.func.functional_call`, with a warning that this name is deprecated."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning, stacklevel=2,
    )  # fmt: skip
    return _newer(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Any], *, tie_weights: bool = False, strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:  # fmt: skip
    """Return a context in which a module has these tensors instead of its parameters and buffers.

    The name is PyTorch's, and libraries use it.  ``stack_weights`` has no effect: the module's own tensors always
    return in the reverse order.
    """
    return replaced(module, parameters_and_buffers, tie_weights, strict)
