"""What programs set once at their start: threads, how exactly products are computed, what tensors are made by default.
"""

from __future__ import annotations

from typing import Any

from .core.device import numbered, set_default_device, to_device
from .core.tensor import Tensor
from .core.types import dtype, float32, float64, get_default_dtype, set_default_dtype
from .devices import cpu
from .devices.recording import state_read

__all__ = [
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "init_num_threads",
    "is_warn_always_enabled", "set_default_tensor_type", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "typename",
]

_precision = "highest"
_warn_always = False
_interop_threads = 1


def set_num_threads(num: int) -> None:
    """Have operations on the CPU use so many threads at most, and no more than Numba has (``NUMBA_NUM_THREADS``).

    It holds for the thread of the program that calls it.  Results do not depend on the number.

    Raises:
        RuntimeError: it is not positive.
        TypeError: it is no integer.

    Example:
        >>> import numgrad as torch
        >>> torch.set_num_threads(1)
        >>> torch.get_num_threads()
        1
    """
    cpu.set_threads(_positive("set_num_threads", num))


def get_num_threads() -> int:
    """How many threads operations on the CPU use at most."""
    state_read("the number of threads")
    return cpu.thread_count()


def init_num_threads() -> None:
    """Nothing: the threads start when they are first needed."""


def set_num_interop_threads(num: int) -> None:
    """Remember how many operations are to run at once; they run one after another, whatever it says.

    Raises:
        RuntimeError: it is not positive.
        TypeError: it is no integer.
    """
    global _interop_threads
    _interop_threads = _positive("set_num_interop_threads", num)


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was told, 1 unless it was called."""
    return _interop_threads


def _positive(function: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{function} expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError(f"{function} expects a positive integer, but got {number}")
    return number


def set_float32_matmul_precision(precision: str) -> None:
    """Remember how exactly products of float32 are wanted: "highest", "high" or "medium".

    They are computed in float32, whatever it says: less exact formats are faster on some GPUs only.

    Raises:
        RuntimeError: it is none of these.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision!r} is no precision: it must be one of 'highest', 'high', 'medium'")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was told, "highest" unless it was called."""
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """False: the smallest numbers are never replaced by zero, and it cannot be asked for."""
    return False


def set_warn_always(b: bool) -> None:
    """Remember whether warnings that come once are to come each time; Python's ``warnings`` filters decide that."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told."""
    return _warn_always


def set_default_tensor_type(t: Any) -> None:
    """Have tensors made from Python numbers be of the dtype, and on the device, of a type such as ``FloatTensor``.

    Args:
        t: the type, or its name, such as "torch.DoubleTensor" or "torch.cuda.FloatTensor".

    Raises:
        TypeError: it is no type of floating-point tensors.
        ImportError, RuntimeError: it is a GPU's, and there is none; nothing has changed then.
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
    """The name of an object's type: of a tensor such as "torch.FloatTensor", else that of its class and module."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) or (callable(obj) and hasattr(obj, "__qualname__")) else type(obj)
    module = getattr(cls, "__module__", None)
    return cls.__qualname__ if module in (None, "builtins") else f"{module}.{cls.__qualname__}"
