"""Hooks of tensors and nodes: handles that remove them, execution, and checks of their results."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import ref

from ..core.types import contiguous_format
from .accumulation import accumulating
from .checks import is_tensor

#: Hooks keyed by the ``id`` of their handle, in calling order.
Hooks = OrderedDict[int, Callable[..., Any]]

_ids = itertools.count()

#: The number of rare changes, and that number plus the number of changes of modules' attributes.
_changes = [0, 0]


def rare_changes() -> int:
    """Return the number of hooks added, of tensors given other memory, and of modules given another class.

    While the number stays the same, the search for such changes can be skipped.
    """
    return _changes[0]


def note_rare_change() -> None:
    """Count one more rare change."""
    _changes[0] += 1
    _changes[1] += 1


def module_changes() -> int:
    """Return the number of rare changes, and of changes of modules' attributes and of ``requires_grad``."""
    return _changes[1]


def note_module_change() -> None:
    """Count one more change of a module's attributes or of ``requires_grad``."""
    _changes[1] += 1


class RemovableHandle:
    """Handle of a registered hook; ``remove()`` removes the hook.

    It is also a context manager that removes the hook on exit.  It holds the hooks only weakly: after the object that
    they were registered on is freed, removal has no effect.

    Args:
        hooks_dict: the dictionary (an OrderedDict) that has, or will have, the hook under the handle's ``id``.
        extra_dict: a dictionary, or several, with entries of the same ``id`` to be removed as well.
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None):
        self.hooks_dict_ref = ref(hooks_dict)
        self.id = next(number for number in _ids if number not in hooks_dict)  # an unpickled handle has its own id
        extras = () if extra_dict is None else extra_dict if isinstance(extra_dict, list) else (extra_dict,)
        self.extra_dict_ref = tuple([ref(extra) for extra in extras])

    def remove(self) -> None:
        """Remove the hook; removing it twice is not an error."""
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
    return ref(OrderedDict() if entries is None else entries)  # None stands for a dictionary that no longer exists


def add_hook(
    hooks: Hooks, hook: Callable[..., Any], *, prepend: bool = False, marks: Sequence[OrderedDict[int, bool]] = ()
) -> RemovableHandle:
    """Add a hook after the others, or before them, and enter its id in the dictionaries ``marks``."""
    note_rare_change()
    handle = RemovableHandle(hooks, extra_dict=list(marks))
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for mark in marks:
        mark[handle.id] = True
    return handle


def hook_name(hook: Any) -> str:
    """Return the name of a hook for messages."""
    return getattr(hook, "__name__", None) or repr(hook)


def check_replacement(gradient: Any, replaced: Any, hook: Any) -> None:
    """Raise unless a hook's result may replace ``gradient``; both may be None, for no gradient.

    Raises:
        TypeError: the result is not a tensor.
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
    """Mark a hook that need not be stored with its tensor, so that pickling the tensor does not warn about it."""
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return hook


def is_unserializable(hook: Any) -> bool:
    """Return True if a hook was marked by :func:`unserializable_hook`."""
    return hasattr(hook, "__torch_unserializable__")


# -- hooks of nodes ------------------------------------------------------------------------------------------


def run_pre_hooks(node: Any, hooks: Hooks, gradient: Any) -> Any:
    """Pass the gradient of a node's output, or a list for several outputs, through ``hook(grad_outputs)``."""
    gradients = _arrived(node, gradient)
    for hook in list(hooks.values()):
        mark_shared(gradients)
        gradients = _replaced(gradients, hook(gradients), hook)
    mark_shared(gradients)
    if all(gradient is None for gradient in gradients):
        return None
    return list(gradients) if node.more_outputs else gradients[0]


def run_post_hooks(node: Any, hooks: Hooks, results: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    """Pass the ``results`` that a node computed from ``gradient`` through ``hook(grad_inputs, grad_outputs)``."""
    arrived = _arrived(node, gradient)
    mark_shared(arrived)
    shown = node.shown(results)
    for hook in list(hooks.values()):
        mark_shared(shown)
        shown = _replaced(shown, hook(shown, arrived), hook)
    mark_shared(shown)
    return node.for_edges(shown)


def _arrived(node: Any, gradient: Any) -> tuple[Any, ...]:
    """Return the gradients of a node's outputs, with None for a missing one."""
    if not node.more_outputs:
        return (gradient,)
    return (None,) * (1 + len(node.more_outputs)) if gradient is None else tuple(gradient)


def _replaced(gradients: tuple[Any, ...], returned: Any, hook: Any) -> tuple[Any, ...]:
    """Return the tuple that a hook returned instead of the gradients, or the gradients if it returned None."""
    if returned is None:
        return gradients
    if not isinstance(returned, tuple):
        name = hook_name(hook)
        raise TypeError(f"expected tuple, but hook returned '{type(returned).__name__}' (hook '{name}')")
    if len(returned) != len(gradients):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values "
            f"(got {len(returned)}, but expected {len(gradients)})"
        )
    for gradient, replaced in zip(gradients, returned, strict=True):
        check_replacement(gradient, replaced, hook)
    return returned


#: Value of ``_shared`` in a gradient that code outside the pass may hold, but no node in it.  The engine does not reuse
#: its memory, but a user's backward may modify it.
SHARED_OUTSIDE = 2


def mark_shared(gradients: Sequence[Any]) -> None:
    """Prevent the engine from reusing the memory of these gradients; one that occurs twice is shared by two nodes."""
    seen: set[int] = set()
    for gradient in gradients:
        if gradient is not None:
            gradient._shared = True if id(gradient) in seen else gradient._shared or SHARED_OUTSIDE
            seen.add(id(gradient))


# -- hooks of tensors ----------------------------------------------------------------------------------------


class TensorHooks:
    """Hooks of one node's outputs, by output index, and the tensors whose gradient is to be retained.

    A leaf has hooks of its output 0 and hooks that run after accumulation into its ``grad``.
    """

    __slots__ = ("hooks", "post_accumulate", "retained")

    def __init__(self) -> None:
        self.hooks: dict[int, Hooks] = {}
        self.post_accumulate: Hooks | None = None
        self.retained: dict[int, ref[Any]] = {}

    def of_output(self, number: int) -> Hooks:
        """Return the hooks of one output, for adding to them."""
        return self.hooks.setdefault(number, OrderedDict())

    def after_accumulation(self) -> Hooks:
        """Return the hooks that run after accumulation into the leaf's ``grad``, for adding to them."""
        if self.post_accumulate is None:
            self.post_accumulate = OrderedDict()
        return self.post_accumulate

    def is_idle(self) -> bool:
        """Return True if there is nothing to call and no gradient to retain."""
        return not (self.retained or any(self.hooks.values()))

    def run(self, node: Any, gradient: Any) -> Any:
        """Pass the gradient, or a list for a node with several outputs, through the hooks in order.

        As in PyTorch, hooks are called with None if the pass reaches the node but no gradient arrived.
        """
        gradients = list(_arrived(node, gradient))
        for number, hooks in list(self.hooks.items()):
            gradients[number] = _run_hooks(hooks, gradients[number])
        for number in list(self.retained):
            self._retain(number, gradients[number])
        if not node.more_outputs:
            return gradients[0]
        return None if gradient is None else gradients

    def _retain(self, number: int, gradient: Any) -> None:
        """Accumulate into the ``grad`` of the tensor that is this output, if it retains its gradient."""
        weak = self.retained.get(number)
        tensor = weak() if weak is not None else None
        if tensor is None or gradient is None:
            return
        with accumulating:
            present = tensor._grad
            tensor._grad = gradient.clone(memory_format=contiguous_format) if present is None else present + gradient


def _run_hooks(hooks: Hooks, gradient: Any) -> Any:
    """Pass one gradient, or None, through the hooks."""
    for hook in list(hooks.values()):
        if gradient is not None:
            mark_shared([gradient])  # a hook may keep it
        replaced = hook(gradient)
        if replaced is not None:
            check_replacement(gradient, replaced, hook)
            gradient = replaced
            mark_shared([gradient])
    return gradient


def run_post_accumulate_hooks(variable: Any) -> None:
    """Call ``hook(leaf)`` for the hooks of a leaf whose ``grad`` has been accumulated.

    Raises:
        TypeError: a hook returned a value other than None or a tensor.
        RuntimeError: a hook returned a tensor other than the leaf.  In-place operations return the leaf itself.
    """
    hooks = variable._hooks
    if hooks is None or hooks.post_accumulate is None:
        return
    for hook in list(hooks.post_accumulate.values()):
        returned = hook(variable)
        check_replacement(variable, returned, hook)
        if returned is not None and returned is not variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def replace_edge(tensor: Any, new: Any) -> None:
    """Give a modified tensor its new edge; if it retains its gradient, it retains that of its new value from now on."""
    old = tensor._edge
    if old is not None and old[0].attached is not None:
        retained = old[0].attached.tensor_hooks.retained
        weak = retained.get(old[1])
        if weak is not None and weak() is tensor:
            del retained[old[1]]
            new[0].attachments().tensor_hooks.retained[new[1]] = weak
    tensor._edge = new
    tensor._requires_grad = True
