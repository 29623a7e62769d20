"""``torch.backends.cudnn``: settings that are kept but have no effect, as numgrad does not use cuDNN."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..tensors.tensor import Tensor

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Return False."""
    return False


def version() -> None:
    """Return None, as numgrad does not use cuDNN."""


def is_acceptable(tensor: Tensor) -> bool:
    """Return False, as numgrad does not use cuDNN."""
    return False


@contextlib.contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Return a context manager that sets the module's variables to these values in the block."""
    settings = globals()
    changed = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: settings[name] for name in changed}
    settings.update(changed)
    try:
        yield
    finally:
        settings.update(before)
