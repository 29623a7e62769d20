"""Running the hooks of a node: before it, on the gradients of its outputs, and after it, on those of its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .hooks import Hooks, check_replacement, hook_name

__all__ = ["mark_shared", "run_post_hooks", "run_pre_hooks"]


def run_pre_hooks(node: Any, hooks: Hooks, gradient: Any) -> Any:
    """Pass the gradient of a node's output (a list, for a node with several) through ``hook(grad_outputs)``."""
    gradients = _arrived(node, gradient)
    for hook in list(hooks.values()):
        mark_shared(gradients)
        gradients = _replaced(gradients, hook(gradients), hook)
    mark_shared(gradients)
    if all(gradient is None for gradient in gradients):
        return None
    return list(gradients) if node.more_outputs else gradients[0]


def run_post_hooks(node: Any, hooks: Hooks, results: tuple[Any, ...], gradient: Any) -> tuple[Any, ...]:
    """Pass the ``results`` that a node has made of ``gradient`` through ``hook(grad_inputs, grad_outputs)``."""
    arrived = _arrived(node, gradient)
    mark_shared(arrived)
    shown = node.shown(results)
    for hook in list(hooks.values()):
        mark_shared(shown)
        shown = _replaced(shown, hook(shown, arrived), hook)
    mark_shared(shown)
    rest = iter(shown)
    return tuple([None if place in node.hidden else next(rest) for place in range(len(results))])


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


def mark_shared(gradients: Iterable[Any]) -> None:
    """Have nobody reuse the memory of these gradients: a hook may keep what it is given."""
    for gradient in gradients:
        if gradient is not None:
            gradient._shared = True
