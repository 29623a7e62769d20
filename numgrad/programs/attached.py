"""Hooks and attributes of tensors, modules and optimizers, and checks of the graphs of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..autograd.function_node import BackwardCFunction
from ..autograd.node import AccumulateGrad
from ..autograd.saved import PACKED
from ..nn.modules.attributes import has_registration_hooks
from ..nn.modules.hooks import every_module
from ..optim.optimizer import has_step_hooks as optimizer_has_hooks
from ..tensors.tensor import Tensor
from .captured import Capture, hooks_after_accumulation
from .environment import Environment
from .node import GraphInput, freed_by, nodes_of
from .object_kinds import is_immutable

#: Attributes that mark parameters and buffers.
_MARKS = frozenset({"_is_buffer", "_is_param", "persistent"})


def has_attributes(tensor: Tensor) -> bool:
    """Return True if the user's program has set attributes on a tensor."""
    return not _MARKS.issuperset(tensor.__dict__)


def has_hooks(
    environment: Environment, inputs: Iterable[Tensor] = (), of_tensors: bool = True, walks: bool = True
) -> bool:
    """Return True if a module or an optimizer in the environment has hooks.

    With ``of_tensors``, tensors in the environment and arguments count, too.  Unless the program ``walks`` a graph, it
    runs no hooks that tensors in the environment have for the time after accumulation.
    """
    tensors = [source.value for source in environment.tensors.values()] if of_tensors else []
    return (
        every_module.has_hooks
        or has_registration_hooks()
        or any(module_has_hooks(source.value) for source in environment.modules.values())
        or any(has_tensor_hooks(tensor, walks) for tensor in tensors)
        or any(map(has_tensor_hooks, inputs))
        or any(optimizer_has_hooks(source.value) for source in environment.optimizers.values())
    )


def has_tensor_hooks(argument: Tensor, after_accumulation: bool = True) -> bool:
    """Return True if an argument is a leaf with hooks, which backward within a program would call."""
    hooks = argument._hooks
    if hooks is None or argument._edge is not None:
        return False
    return not hooks.is_idle() or (after_accumulation and bool(hooks.post_accumulate))


def module_has_hooks(module: Any) -> bool:
    """Return True if a module has hooks of its own."""
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def _lost_in_replay(results: Sequence[Tensor]) -> str | None:
    """Return a description of what the results of a replay would lack, unlike those of the call, or None."""
    for result in results:
        if result.__class__ is not Tensor:
            return f"a result is a new {type(result).__name__}, for which a replay would return a plain Tensor"
        if result._grad is not None:
            return "a new result has a gradient, which the result of a replay would not have: return it, too"
        if has_attributes(result) or has_tensor_hooks(result):
            return "a new result has attributes or hooks, which the result of a replay would not have"
    for node in nodes_of(results):
        retained = () if node.attached is None else node.attached.tensor_hooks.retained.values()
        if any(weak() is result for weak in retained for result in results):
            return "retain_grad() is called on a result, which a replay does not do: call it after the call"
    return None


def runs_python(node: Any) -> bool:
    """Return True if a node runs the user's Python code: a Function, hooks, or the unpacking of saved tensors."""
    is_hooked = node.attached is not None and not node.attached.is_idle()
    return is_hooked or isinstance(node, BackwardCFunction) or PACKED in (getattr(node, "versions", None) or ())


def check_graph(captured: Capture) -> None:
    """Abandon the recording if a replay cannot make the results, or their graph goes beyond the edges of a replay."""
    nodes = [before.edge[0] for before in captured.states.values() if before.edge is not None]
    graph_inputs = [node for node in nodes if node.__class__ is GraphInput]
    attached = [node.attached for node in nodes if node.__class__ is not GraphInput and node.attached is not None]
    reason = None
    walks = captured.recorder.walks
    if any(node.passed for node in graph_inputs):
        reason = "backward continues into the graph of an argument"
    elif walks and any(before.hooks for before in captured.states.values()):
        reason = "hooks call Python during the program"
    elif (
        any(node.hooked for node in graph_inputs) or not all(each.is_idle() for each in attached)
        or any(before.hooks != hooks_after_accumulation(before.tensor) for before in captured.states.values())
        or has_hooks(captured.environment, captured.inputs, walks=walks)
    ):
        reason = "hooks or retain_grad() are added to a tensor that existed before the call, which a replay does not do"
    reason = reason or _lost_in_replay([result for result in captured.results() if id(result) not in captured.states])
    reason = reason or _open_end(captured)
    if reason is not None:
        captured.recorder.break_off(reason)


def _open_end(captured: Capture) -> str | None:
    """Return the reason why a replay cannot make the results' graph; None if it can, or if the graph is freed."""
    live = captured.live()
    if live and all(freed_by([tensor]) is not None for tensor in live):
        return None
    for node in nodes_of(captured.results()):
        if node.name() == "CheckpointFunctionBackward":
            return "a checkpoint is reentrant: pass use_reentrant=False"
        if node.__class__ is AccumulateGrad and id(node.variable) not in captured.states:
            return (
                "a result depends on a tensor that the call created and that requires gradients: return the detach() "
                "of the result if no backward uses it"
            )
        if isinstance(node, BackwardCFunction):
            kept = [name for name, value in vars(node.context).items() if not is_immutable(value)]
            if kept:
                return f"a Function keeps an object in ctx.{kept[0]}, which may change before backward"
        if node.__class__ not in (AccumulateGrad, GraphInput) and node.sequence < captured.begin:
            return "a result depends on a tensor with a graph that is not an argument: pass it as one"
    return None
