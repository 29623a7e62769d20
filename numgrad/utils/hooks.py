"""What is there to hooks of all kinds: the handle that removes them, and pickling what has them."""

from ..autograd.hooks import RemovableHandle, unserializable_hook
from ..interop.interchange import warn_of_hooks as warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
