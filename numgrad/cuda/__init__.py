"""The GPU: there is none to compute on yet, and programs that ask first go on with the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._missing import missing_from

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available() -> bool:
    """Whether numgrad can compute on a GPU: not yet."""
    return False


def device_count() -> int:
    """The number of GPUs that numgrad can compute on."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the current GPU's random numbers: does nothing where there is none, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all GPUs: does nothing where there is none, as in PyTorch."""


def empty_cache() -> None:
    """Give freed memory of the GPU back: does nothing where there is none, as in PyTorch."""


def synchronize() -> None:
    """Wait for the GPU.

    Raises:
        RuntimeError: there is none.
    """
    raise RuntimeError("numgrad computes on 'cpu': it has no device 'cuda' yet to wait for")


if not TYPE_CHECKING:
    __getattr__ = missing_from(globals(), "cuda")
