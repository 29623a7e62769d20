"""``torch.distributed``, as in a PyTorch built without it: programs that check find it unavailable."""

from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later

__all__ = ["is_available", "is_initialized"]

__path__: list[str] = []  # modules below it are importable: see ``interop.in_place_of_torch``


def is_available() -> bool:
    """Return False: distributed computation is not available."""
    return False


def is_initialized() -> bool:
    """Return False: there is no process group."""
    return False


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "distributed")
