"""``autocast``: a context in which PyTorch computes in float16 or bfloat16, which numgrad has not."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..accelerator import is_available
from ..core.types import float32

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled"]


class autocast:  # noqa: N801 - PyTorch's name
    """A context, or decorator, for mixed precision; without effect unless it is enabled.

    Args:
        device_type: "cpu" or "cuda".
        dtype: in which to compute; float32 asks for nothing.
        enabled: whether to compute in it.  For a GPU where there is none it is switched off, with a warning.
        cache_enabled: taken because PyTorch takes it.

    Raises:
        NotImplementedError: it is enabled: there is no float16 and no bfloat16 yet.
        RuntimeError: there is no such device.
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
    """Whether ``autocast`` takes this type of device."""
    return device_type in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """False: what is computed in another dtype than its operands' is refused."""
    return False


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """For the ``forward`` of a ``Function``: itself, since there is no dtype to cast its inputs from."""
    return fwd if fwd is not None else lambda function: function


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """For the ``backward`` of a ``Function``: itself."""
    return bwd if bwd is not None else lambda function: function
