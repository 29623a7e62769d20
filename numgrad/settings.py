"""Settings made once at the start of a program: threads, precision of products, defaults for new tensors."""

from __future__ import annotations

from typing import Any

from .core.device import numbered, set_default_device, to_device
from .core.types import dtype, float32, float64, get_default_dtype, set_default_dtype
from .devices import cpu
from .devices.recording import state_read
from .tensors.tensor import Tensor

__all__ = [
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "init_num_threads",
    "is_warn_always_enabled", "set_default_tensor_type", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "typename",
]

_precision = "highest"
_warn_always = False
_interop_threads = 1


def set_num_threads(num: int) -> None:
    """Set the maximum number of threads of CPU operations, limited by Numba's (``NUMBA_NUM_THREADS``).

    The setting applies to the calling thread of the program.  Results do not depend on the number.

    Raises:
        RuntimeError: the number is not positive.
        TypeError: it is not an integer.

    Example:
        >>> import numgrad as torch
        >>> torch.set_num_threads(1)
        >>> torch.get_num_threads()
        1
    """
    cpu.set_threads(_positive("set_num_threads", num))


def get_num_threads() -> int:
    """Return the maximum number of threads of CPU operations."""
    state_read("the number of threads")
    return cpu.thread_count()


def init_num_threads() -> None:
    """Do nothing: threads start on first use."""


def set_num_interop_threads(num: int) -> None:
    """Store the number of operations to run concurrently; operations run one after another regardless.

    Raises:
        RuntimeError: the number is not positive.
        TypeError: it is not an integer.
    """
    global _interop_threads
    _interop_threads = _positive("set_num_interop_threads", num)


def get_num_interop_threads() -> int:
    """Return the number stored by :func:`set_num_interop_threads`, by default 1."""
    return _interop_threads


def _positive(function: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{function} expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError(f"{function} expects a positive integer, but got {number}")
    return number


def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision of float32 products: "highest", "high" or "medium".

    Products are computed in float32 regardless: less precise formats are faster only on some GPUs.

    Raises:
        RuntimeError: the precision is unknown.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"invalid precision {precision!r}: must be one of 'highest', 'high', 'medium'")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """Return the precision stored by :func:`set_float32_matmul_precision`, by default "highest"."""
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """Return False: flushing of denormal numbers to zero is not supported."""
    return False


def set_warn_always(b: bool) -> None:
    """Store the flag for repeating one-time warnings; Python's ``warnings`` filters decide about repetition."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """Return the flag stored by :func:`set_warn_always`."""
    return _warn_always


def set_default_tensor_type(t: Any) -> None:
    """Set dtype and device of tensors made from Python numbers to those of a type such as ``FloatTensor``.

    Args:
        t: the type, or its name, such as "torch.DoubleTensor" or "torch.cuda.FloatTensor".

    Raises:
        TypeError: it is not a type of floating-point tensors.
        ImportError, RuntimeError: it is a GPU type and there is no GPU; no setting is changed.
    """
    name = t if isinstance(t, str) else f"torch.{getattr(t, '__name__', '')}"
    *device, element = name.removeprefix("torch.").split(".")
    types: dict[str, dtype] = {"FloatTensor": float32, "DoubleTensor": float64, "Tensor": get_default_dtype()}
    if element not in types or device not in ([], ["cuda"]):
        raise TypeError(f"only floating-point types are supported as the default type, not {name}")
    chosen = numbered(to_device(device[0] if device else "cpu"))
    set_default_dtype(types[element])
    set_default_device(chosen)


def typename(obj: Any, /) -> str:
    """Return the name of an object's type: its module and class, or for a tensor, such as "torch.FloatTensor".

    Example:
        >>> import numgrad
        >>> numgrad.typename(numgrad.ones(2))
        'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) or (callable(obj) and hasattr(obj, "__qualname__")) else type(obj)
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"
