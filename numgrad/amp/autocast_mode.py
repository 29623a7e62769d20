"""``autocast``: the context in which products run in float16 or bfloat16, and losses in float32."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..accelerator import is_available
from ..autograd.grad_mode import AUTOCAST, state
from ..core.types import bfloat16, dtype, float16
from ..tensors.tensor import Tensor

__all__ = [
    "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
]

#: The dtype of products on each kind of device, unless another is given.
_default = {"cpu": bfloat16, "cuda": float16}

_caches = True


class autocast:  # noqa: N801 - PyTorch's name
    """Context manager and decorator for mixed precision in this thread.

    Products and convolutions compute in a lower dtype, whatever floating-point dtype their operands have, and some
    other operations, such as losses, in float32.  PyTorch's lists for this kind of device say which.  Tensors of
    float64 are left alone.  Backward passes belong outside of the context.

    Args:
        device_type: "cpu" or "cuda".
        dtype: float16 or bfloat16, by default bfloat16 on the CPU and float16 on GPUs.  With another dtype, autocast is
            disabled, with a warning.
        enabled: False to switch autocast off within the block.  Without a GPU, it is False for "cuda", with a warning.
        cache_enabled: True to convert each leaf, such as a parameter, only once in the outermost block.

    Raises:
        RuntimeError: there is no such device type.
        ValueError: ``device_type`` is not a str, or ``dtype`` no dtype.

    Example:
        >>> import numgrad
        >>> x = numgrad.ones(2, 2)
        >>> with numgrad.autocast("cpu", dtype=numgrad.bfloat16):
        ...     y = x @ x
        >>> y
        tensor([[2., 2.],
                [2., 2.]], dtype=torch.bfloat16)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._caches = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not is_available():
            warnings.warn(
                "User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2
            )
            enabled = False
        if enabled and self.fast_dtype not in (float16, bfloat16):
            warnings.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtype of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[Any, Any]] = []

    def __enter__(self) -> autocast:
        self._before.append((state.autocast, state.autocast_casts))
        if not (self._caches and state.autocast_casts is not None):
            state.autocast_casts = {} if self._caches else None
        _switch({**state.autocast, self.device: self.fast_dtype if self._enabled else None})
        return self

    def __exit__(self, *error: object) -> None:
        before, state.autocast_casts = self._before.pop()
        _switch(before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return decorated


def _switch(dtypes: Any) -> None:
    """Make these the dtypes of products for the kinds of devices; None for those without autocast."""
    state.autocast = {device: dtype for device, dtype in dtypes.items() if dtype is not None}
    state.mode = state.mode | AUTOCAST if state.autocast else state.mode & ~AUTOCAST


@contextmanager
def autocast_again(dtypes: Any) -> Iterator[None]:
    """Run the block with the dtypes that ``state.autocast`` held at another time; it converts leaves anew."""
    before, casts = state.autocast, state.autocast_casts
    _switch(dtypes)
    state.autocast_casts = {} if _caches else None
    try:
        yield
    finally:
        state.autocast_casts = casts
        _switch(before)


def is_autocast_available(device_type: str) -> bool:
    """Return True if ``autocast`` supports this device type."""
    return device_type in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return True if autocast is enabled for this device type in this thread."""
    return state.autocast.get(device_type) is not None


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Enable or disable autocast for a device type in this thread."""
    _switch({**state.autocast, device_type: get_autocast_dtype(device_type) if enabled else None})


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the dtype that autocast uses for a device type, unless another one is given to it."""
    if not is_autocast_available(device_type):
        raise RuntimeError(f"unsupported autocast device_type '{device_type}'")
    return state.autocast.get(device_type) or _default[device_type]


def get_autocast_cpu_dtype() -> dtype:
    """Return ``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """Return ``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """Return ``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def clear_autocast_cache() -> None:
    """Do nothing: converted weights are not kept."""


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype that autocast uses for a device type, unless another one is given to it."""
    if not is_autocast_available(device_type):
        raise RuntimeError(f"unsupported autocast device_type '{device_type}'")
    _default[device_type] = dtype
    if is_autocast_enabled(device_type):
        _switch({**state.autocast, device_type: dtype})


def is_autocast_cache_enabled() -> bool:
    """Return True if autocast converts each leaf only once, unless it is made otherwise."""
    return _caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast converts each leaf only once, unless it is made otherwise."""
    global _caches
    _caches = enabled


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of a ``Function`` to run as autocast prescribes.

    Args:
        device_type: the kind of device.
        cast_inputs: the dtype of floating-point inputs within ``autocast``, which is then off; None to leave it on.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx, enabled = args[0], is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def _cast(value: Any, device_type: str, target: dtype) -> Any:
    """Return tensors, in collections too, in a dtype: those of floating-point numbers on a kind of device."""
    if isinstance(value, Tensor):
        applies = value.is_floating_point() and value.device.type == device_type and value.dtype.itemsize <= 4
        return value.to(target) if applies else value
    if isinstance(value, dict):
        return {key: _cast(each, device_type, target) for key, each in value.items()}
    if value.__class__ in (list, tuple):
        return type(value)([_cast(each, device_type, target) for each in value])
    return value


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorate the ``backward`` of a ``Function`` to run as its ``forward``, which :func:`custom_fwd` decorates."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorated
