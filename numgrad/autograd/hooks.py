"""What all hooks have in common: the handle that removes them, and what they may return."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import ref

from .checks import is_tensor

#: The hooks of one kind at one place, by the number of their handle, in the order they are called in.
Hooks = OrderedDict[int, Callable[..., Any]]

_ids = itertools.count()


class RemovableHandle:
    """Returned by everything that registers a hook; ``remove()`` takes the hook out again.

    Also a context manager that removes the hook at the end.  It does not keep the hooks alive: once what they were
    registered on is gone, removing does nothing.

    Args:
        hooks_dict: the dictionary (an OrderedDict) that has, or will have, the hook under the handle's ``id``.
        extra_dict: a dictionary, or several, that have something of the same ``id`` to be removed along.
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None):
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = next(number for number in _ids if number not in hooks_dict)  # one from a pickle has its own
        extras = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self.extra_dict_ref = tuple([ref(extra) for extra in extras])

    def remove(self) -> None:
        """Take the hook out; doing so twice is no error."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            entries = reference()
            if entries is not None:
                entries.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple([reference() for reference in self.extra_dict_ref])

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks_dict, self.id, *extras = state
        self.hooks_dict_ref = _reference(hooks_dict)
        self.extra_dict_ref = tuple([_reference(extra) for extra in (extras[0] if extras else ())])

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def _reference(entries: Any) -> ref[Any]:
    return ref(OrderedDict() if entries is None else entries)  # None stands for what is gone


def add_hook(
    hooks: Hooks, hook: Callable[..., Any], *, prepend: bool = False, marks: Sequence[OrderedDict[int, bool]] = ()
) -> RemovableHandle:
    """Add a hook after those there are, or before; ``marks`` are what to note its number in, too."""
    handle = RemovableHandle(hooks, extra_dict=list(marks))
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for mark in marks:
        mark[handle.id] = True
    return handle


def hook_name(hook: Any) -> str:
    """What a hook is called in messages."""
    return getattr(hook, "__name__", None) or repr(hook)


def check_replacement(gradient: Any, replaced: Any, hook: Any) -> None:
    """Raise unless what a hook returned may take the place of ``gradient``; both may be None, for no gradient.

    Raises:
        TypeError: it is no tensor.
        RuntimeError: it has another dtype, device or shape, or there was no gradient.
    """
    if replaced is None:
        return
    if gradient is None:
        raise RuntimeError(f"can't replace a None gradient with a non-None value (hook '{hook_name(hook)}')")
    if not is_tensor(replaced):
        raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}' (hook '{hook_name(hook)}')")
    if replaced._layout.type is not gradient._layout.type:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {gradient._layout.type.name} got "
            f"{replaced._layout.type.name})"
        )
    if replaced._layout.shape != gradient._layout.shape:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the size of value: {list(gradient.shape)} to "
            f"{list(replaced.shape)}"
        )


_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(hook: _Hook) -> _Hook:
    """Mark a hook as one that need not be stored with its tensor: pickling that does not warn of it."""
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return hook


def is_unserializable(hook: Any) -> bool:
    """Whether a hook was marked by :func:`unserializable_hook`."""
    return hasattr(hook, "__torch_unserializable__")
