"""Handle that removes a hook, and hooks in pickles."""

from ..autograd.hooks import RemovableHandle, unserializable_hook
from ..interop.interchange import warn_of_hooks as warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
