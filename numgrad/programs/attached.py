"""What programs attach to tensors, modules and optimizers: hooks, and attributes of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..autograd.function_node import BackwardCFunction
from ..autograd.saved import PACKED
from ..core.tensor import Tensor
from ..nn.modules.hooks import every_module
from ..optim.optimizer import has_step_hooks as optimizer_has_hooks
from .node import nodes_of
from .surroundings import Surroundings

#: What tensors that are parameters or buffers are marked with.
_MARKS = frozenset({"_is_buffer", "_is_param", "persistent"})


def has_attributes(tensor: Tensor) -> bool:
    """Whether a program has given a tensor attributes."""
    return not _MARKS.issuperset(tensor.__dict__)


def has_hooks(surroundings: Surroundings, inputs: Iterable[Tensor] = (), of_tensors: bool = True) -> bool:
    """Whether a module or an optimizer that the function finds has hooks, or all do, or (``of_tensors``) a tensor that
    it finds, or an argument.
    """
    modules = [found.value for found in surroundings.modules.values()]
    return (
        every_module.has_hooks
        or any(module_has_hooks(module) for module in modules)
        or (of_tensors and any(map(has_tensor_hooks, inputs)))
        or (of_tensors and any(has_tensor_hooks(found.value) for found in surroundings.tensors.values()))
        or any(optimizer_has_hooks(found.value) for found in surroundings.optimizers.values())
    )


def has_tensor_hooks(argument: Tensor) -> bool:
    """Whether an argument is a leaf with hooks, which backward within a program would call."""
    hooks = argument._hooks
    return argument._edge is None and hooks is not None and (bool(hooks.post_accumulate) or not hooks.is_idle())


def module_has_hooks(module: Any) -> bool:
    """Whether a module has hooks of its own."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def beyond_elements(results: Sequence[Tensor]) -> str | None:
    """What new results of a call have that those of a replay would not; None if there is nothing."""
    for one in results:
        if one.__class__ is not Tensor:
            return f"a result is a new {type(one).__name__}, of which a replay would make a Tensor"
        if one._grad is not None:
            return "a new result has a gradient, which that of a replay would not have: return that, too, or instead"
        if has_attributes(one) or has_tensor_hooks(one):
            return "a new result has attributes or hooks of its own, which that of a replay would not have"
    for node in nodes_of(results):
        retained = () if node.attached is None else node.attached.tensor_hooks.retained.values()
        if any(weak() is one for weak in retained for one in results):
            return "a result is told to keep its gradient, which that of a replay does not: call retain_grad() later"
    return None


def runs_python(node: Any) -> bool:
    """Whether a node of a graph runs Python of the program's own: a Function, hooks, or what unpacks saved tensors."""
    hooked = node.attached is not None and not node.attached.is_idle()
    return hooked or isinstance(node, BackwardCFunction) or PACKED in (getattr(node, "versions", None) or ())
