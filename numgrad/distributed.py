"""``torch.distributed``, as where PyTorch was built without it: programs that ask are told that there is none."""

from typing import TYPE_CHECKING

from .core.missing import found_later as _found_later

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether several processes can compute together: False."""
    return False


def is_initialized() -> bool:
    """Whether they do: False."""
    return False


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "distributed")
