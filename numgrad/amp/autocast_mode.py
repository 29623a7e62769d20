"""``autocast``, the context in which PyTorch computes in float16 or bfloat16; numgrad has neither."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..accelerator import is_available
from ..core.types import float32

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled"]


class autocast:  # noqa: N801 - PyTorch's name
    """Context manager and decorator for mixed precision, which has no effect.

    Args:
        device_type: "cpu" or "cuda".
        dtype: the dtype of computations; only float32 is supported.
        enabled: True to compute in ``dtype``.  Without a GPU, it is False for "cuda", with a warning.
        cache_enabled: accepted for compatibility with PyTorch.

    Raises:
        NotImplementedError: it is enabled for another dtype than float32.
        RuntimeError: there is no such device type.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        if enabled and device_type == "cuda" and not is_available():
            warnings.warn(
                "User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2
            )
            enabled = False
        if enabled and dtype is not float32:
            raise NotImplementedError(
                "numgrad computes in float32 and float64; mixed precision needs float16 or bfloat16, which it has not "
                "yet: leave autocast out, or pass enabled=False"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return decorated


def is_autocast_available(device_type: str) -> bool:
    """Return True if ``autocast`` supports this device type."""
    return device_type in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return False, because operations compute in the dtype of their operands."""
    return False


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of a ``Function``: return it unchanged, because inputs are never cast."""
    return fwd if fwd is not None else lambda function: function


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorate the ``backward`` of a ``Function``: return it unchanged."""
    return bwd if bwd is not None else lambda function: function
