"""Running the hooks of a node: before it, on the gradients of its outputs, and after it, on those of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .hooks import Hooks, check_replacement, hook_name


def run_pre_hooks(node: Any, hooks: Hooks, gradient: Any) -> Any:
    """Pass the gradient of a node's output (a list, for a node with several) through ``hook(grad_outputs)``."""
    gradients = _arrived(node, gradient)
    for hook in list(hooks.values()):
        lend(gradients)
        gradients = _replaced(gradients, hook(gradients), hook)
    lend(gradients)
    if all(gradient is None for gradient in gradients):
        return None
    return list(gradients) if node.more_outputs else gradients[0]


def run_post_hooks(node: Any, hooks: Hooks, results: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    """Pass the ``results`` that a node has made of ``gradient`` through ``hook(grad_inputs, grad_outputs)``."""
    arrived = _arrived(node, gradient)
    lend(arrived)
    shown = node.shown(results)
    for hook in list(hooks.values()):
        lend(shown)
        shown = _replaced(shown, hook(shown, arrived), hook)
    lend(shown)
    rest = iter(shown)
    return tuple([None if index in node.hidden else next(rest) for index in range(len(results))])


def _arrived(node: Any, gradient: Any) -> tuple[Any, ...]:
    """The gradients of a node's outputs, None where there is none."""
    if not node.more_outputs:
        return (gradient,)
    return (None,) * (1 + len(node.more_outputs)) if gradient is None else tuple(gradient)


def _replaced(gradients: tuple[Any, ...], returned: Any, hook: Any) -> tuple[Any, ...]:
    """The gradients after a hook that returned a tuple to take their place, or None to leave them."""
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


#: The value of ``_shared`` in a gradient that somebody outside of the pass may hold, but nobody in it: the engine does
#: not reuse its memory, and a user's backward may change it.
LENT = 2


def lend(gradients: Sequence[Any]) -> None:
    """Have the engine not reuse the memory of these gradients; one that stands there twice is shared by two nodes."""
    for index, gradient in enumerate(gradients):
        if gradient is not None:
            twice = any(gradient is other for other in gradients[:index])
            gradient._shared = True if twice else gradient._shared or LENT
