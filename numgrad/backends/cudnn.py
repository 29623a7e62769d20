"""``torch.backends.cudnn``: numgrad does without cuDNN, and what is set here is remembered only."""

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
    """False."""
    return False


def version() -> None:
    """None: there is no cuDNN."""


def is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN would take the tensor: False."""
    return False


@contextlib.contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """A context in which the module's variables have these values."""
    own = globals()
    given = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: own[name] for name in given}
    own.update(given)
    try:
        yield
    finally:
        own.update(before)
