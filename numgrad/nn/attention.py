"""``torch.nn.attention``: the choice of attention backends, which has no effect because there is one kernel."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

__all__ = ["SDPBackend", "sdpa_kernel"]


__path__: list[str] = []  # modules below it are importable: see ``interop.in_place_of_torch``


class SDPBackend(enum.IntEnum):
    """PyTorch's kinds of ``scaled_dot_product_attention``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Context manager that accepts a choice of attention backends and ignores it.

    Raises:
        TypeError: a backend is not an ``SDPBackend``.
    """
    allowed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not allowed or any(not isinstance(backend, SDPBackend) for backend in allowed):
        raise TypeError(f"sdpa_kernel expects SDPBackend or a sequence of them, but got {backends!r}")
    yield
