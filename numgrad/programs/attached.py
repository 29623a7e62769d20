"""Hooks and attributes of tensors, modules and optimizers, and graphs that a replay cannot give its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.function_node import BackwardCFunction
from ..autograd.node import AccumulateGrad
from ..autograd.saved import PACKED
from ..core.tensor import Tensor
from ..nn.modules.attributes import has_registration_hooks
from ..nn.modules.hooks import every_module
from ..optim.optimizer import has_step_hooks as optimizer_has_hooks
from .known import is_value
from .node import Entrance, freed_by, nodes_of
from .surroundings import Surroundings

if TYPE_CHECKING:
    from .capture import Capture

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
        or has_registration_hooks()
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


def check_graph(made: Capture) -> None:
    """Break off if results are more than a replay makes, or their graph goes beyond what it has edges for."""
    edges = [one.edge for one in made.known.values() if one.edge is not None]
    entrances = [node for node, _ in edges if node.__class__ is Entrance]
    others = [node.attached for node, _ in edges if node.__class__ is not Entrance and node.attached is not None]
    reason = None
    if any(one.passed for one in entrances):
        reason = "backward goes on to the graph of an argument"
    elif (
        any(one.hooked for one in entrances) or not all(one.is_idle() for one in others)
        or has_hooks(made.surroundings, made.inputs)
    ):
        reason = "hooks are added to what was there before, or it is told to keep its gradient, which a replay does not"
    reason = reason or beyond_elements([one for one in made.results() if id(one) not in made.known])
    reason = reason or _open_end(made)
    if reason is not None:
        made.recorder.break_off(reason)


def _open_end(made: Capture) -> str | None:
    """Why the graph of results is not one that a replay can give them; None if it is, or is used up."""
    live = made.live()
    if live and all(freed_by([one]) is not None for one in live):
        return None
    for node in nodes_of(made.results()):
        if node.name() == "CheckpointFunctionBackward":
            return "a checkpoint is reentrant: give it use_reentrant=False"
        if node.__class__ is AccumulateGrad and id(node.variable) not in made.known:
            return (
                "a result depends on a tensor that the call has made and that requires gradients: return the detach() "
                "of the result if no backward is to come to it"
            )
        if isinstance(node, BackwardCFunction):
            kept = [name for name, value in vars(node.context).items() if not is_value(value)]
            if kept:
                return f"a Function keeps an object in ctx.{kept[0]}, which may change before backward"
        if node.__class__ not in (AccumulateGrad, Entrance) and node.sequence < made.begin:
            return "a result depends on a tensor with a graph that is no argument: give it as one"
    return None
