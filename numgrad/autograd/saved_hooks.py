"""Context managers that decide in which form tensors are saved for backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from .grad_mode import SAVED_HOOKS, state
from .operations import operations
from .saved import check_hooks


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Within the ``with`` block, what is saved for backward is what ``pack_hook(tensor)`` returns.

    When backward needs the tensor, ``unpack_hook`` is given that and must return a tensor with the same content.
    Hooks of nested blocks are not combined: the innermost pair is used.  They hold in this thread only.  A pack hook
    may not change the tensor that it is given.

    Raises:
        TypeError: a hook cannot be called.
        RuntimeError: hooks are disabled here (see :func:`disable_saved_tensors_hooks`).

    Example:
        >>> import numgrad
        >>> saved = []
        >>> def pack(tensor):
        ...     saved.append(tensor)
        ...     return len(saved) - 1
        >>> a = numgrad.ones(3, requires_grad=True)
        >>> with numgrad.autograd.graph.saved_tensors_hooks(pack, saved.__getitem__):
        ...     b = a * a
        >>> len(saved)
        2
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        check_hooks(self.pack_hook, self.unpack_hook)
        if state.saved_hooks_refused is not None:
            raise RuntimeError(state.saved_hooks_refused)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        state.mode |= SAVED_HOOKS

    def __exit__(self, *exception: Any) -> None:
        pairs = list(reversed(state.saved_hooks))
        own = self.pack_hook, self.unpack_hook
        if own in pairs:  # or else the block was left already, as when a hook that entered it ended
            pairs.remove(own)  # not simply the last: blocks may end in any order
        state.saved_hooks = tuple(reversed(pairs))
        if not state.saved_hooks:
            state.mode &= ~SAVED_HOOKS


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Within the ``with`` block, tensors are saved as copies in the CPU's memory, and come back when needed.

    Args:
        pin_memory: copy tensors of a GPU into pinned memory, and back without waiting.
        device_type: the kind of device that ``pin_memory`` is for.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor: Any) -> tuple[Any, Any]:
            if not tensor.is_cuda:
                return tensor.device, operations.clone(tensor)
            kept = tensor.to("cpu", non_blocking=pin_memory)  # then it lies in pinned memory
            return tensor.device, kept

        super().__init__(pack, lambda kept: kept[1].to(kept[0], non_blocking=pin_memory))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within the ``with`` block, saved-tensor hooks raise a RuntimeError with this message.

    Raises:
        RuntimeError: with the message, if hooks are in force already.
    """
    if state.saved_hooks:
        raise RuntimeError(error_message)
    before = state.saved_hooks_refused
    state.saved_hooks_refused = error_message
    try:
        yield
    finally:
        state.saved_hooks_refused = before


class _Handle:
    """Stands in a node for the tensor that it saved."""

    __slots__ = ("__weakref__",)


def _memory(tensor: Any) -> int:
    """The address of a tensor's memory, which several storages may share (of two tensors made of one NumPy array)."""
    return tensor.data_ptr() - tensor._offset * tensor.element_size()


class AllowMutationContext:
    """What is saved in the block: the ``original`` tensors and, for those that were changed, the ``cloned`` ones."""

    def __init__(self) -> None:
        self.original: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Any] = WeakKeyDictionary()
        self._on_memory: dict[int, WeakSet[_Handle]] = {}

    def clear(self) -> None:
        """Forget everything; what was recorded can no longer be gone through backward."""
        self.original.clear()
        self.cloned.clear()
        self._on_memory.clear()

    def _pack(self, tensor: Any) -> _Handle:
        handle = _Handle()
        self.original[handle] = tensor
        self._on_memory.setdefault(_memory(tensor), WeakSet()).add(handle)
        return handle

    def _unpack(self, handle: _Handle) -> Any:
        kept = self.cloned if handle in self.cloned else self.original
        if handle not in kept:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return kept[handle]

    def _before_write(self, target: Any) -> None:
        """Copy what was saved on the memory of ``target``, which is about to be changed."""
        copies: dict[int, Any] = {}  # a tensor that was saved several times is copied once
        for handle in self._on_memory.pop(_memory(target), ()):
            tensor = self.original.pop(handle)
            if id(tensor) not in copies:
                copies[id(tensor)] = operations.clone(tensor.detach())
            self.cloned[handle] = copies[id(tensor)]


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[AllowMutationContext]:
    """Within the ``with`` block, a tensor saved for backward is copied before it is changed in place.

    So backward finds it as it was, where it would otherwise raise an error.  Forward and backward must both run in the
    block: what it keeps is dropped at its end.

    Raises:
        RuntimeError: such a block is already open in this thread.
    """
    if state.before_write is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = AllowMutationContext()
    with saved_tensors_hooks(context._pack, context._unpack):
        state.before_write = context._before_write
        try:
            yield context
        finally:
            state.before_write = None
            context.clear()
