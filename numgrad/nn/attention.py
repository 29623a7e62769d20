"""``torch.nn.attention``: which kind of attention may be chosen; there is one kernel, and it is taken in any case."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

__all__ = ["SDPBackend", "sdpa_kernel"]


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
    """A context in which these kinds of attention are wanted: without effect.

    Raises:
        TypeError: one of them is no ``SDPBackend``.
    """
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not wanted or any(not isinstance(one, SDPBackend) for one in wanted):
        raise TypeError(f"sdpa_kernel expects SDPBackend or a sequence of them, but got {backends!r}")
    yield
