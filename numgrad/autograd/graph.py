"""What programs do with the graph itself: ask for its edges, hook into it, decide how tensors are saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from .checks import is_tensor
from .grad_mode import ANOMALY, state
from .history import note_change
from .inference_tensors import is_inference
from .mode_decorator import ModeDecorator
from .multi_grad import register_multi_grad_hook
from .node import DeadEnd, Node, edge_of
from .saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: a node and the number of its output.

    It stands for a tensor among the outputs and inputs of :func:`numgrad.autograd.grad` and ``backward``.  It holds
    the graph behind it, but of tensors only the leaves.
    """

    node: Node
    output_nr: int
    #: Keeps alive what the node needs, where the node does not; None here, where every node holds what it needs.
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place where the gradient of ``tensor`` arrives: at its ``grad_fn``, or a leaf's AccumulateGrad.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    edge = edge_of(tensor) if tensor.requires_grad else None
    if edge is None or edge[0].__class__ is DeadEnd:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients (its shape is "
            f"{list(tensor.shape)})"
        )
    return GradientEdge(*edge)


def increment_version(tensor: Any) -> None:
    """Tell autograd that a tensor, or each of several, was written to by other means than its operations.

    Backward then refuses to compute with what it saved of them.  Inference tensors have no version to increment.

    Raises:
        RuntimeError: what is given is neither a tensor nor tensors.
    """
    if is_tensor(tensor):
        tensor = (tensor,)
    elif not isinstance(tensor, Iterable):
        raise RuntimeError(
            f"increment_version expect a Iterable[Tensor] as input, but got {type(tensor).__name__}"
        )
    for each in tensor:
        if not is_tensor(each):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, but got "
                f"{type(each).__name__}"
            )
        if not is_inference(each):
            if state.mode & ANOMALY:
                note_change(each)
            each._counter[0] += 1


class _unsafe_preserve_version_counter(ModeDecorator):  # noqa: N801 - PyTorch's name
    """``with _unsafe_preserve_version_counter(x):`` changes of ``x``, or each of several tensors, do not count.

    Backward then computes with what it finds in their memory, as if they had not been changed: the programs that use
    this put the old values back in time.

    Raises:
        TypeError: what is given is neither a tensor nor a tuple of tensors.
    """

    def __init__(self, tensors: Any):
        self.tensors = tensors if isinstance(tensors, tuple) else (tensors,)
        for tensor in self.tensors:
            if not is_tensor(tensor):
                raise TypeError(f"expected a tensor or a tuple of tensors, but got {type(tensor).__name__}")
        self._versions = [tensor._version for tensor in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        for tensor, version in zip(self.tensors, self._versions, strict=True):
            tensor._counter[0] = version

    def clone(self) -> _unsafe_preserve_version_counter:
        return self.__class__(self.tensors)
