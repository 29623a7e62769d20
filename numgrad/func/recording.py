"""Graph recorded by a reverse-mode transform, and its border to the caller's graph.

Note [The border]
While its function runs, a transform records on the ordinary tape.  Each input is an alias of the caller's tensor that
the function sees as a leaf, and its gradients arrive at a node of its own, the InputNode.  That node leads on to the
caller's graph if the caller's tensor is in one.  The results of the transform can therefore be differentiated further,
by an outer transform or by backward.  No two transforms share such a node, so their derivatives cannot be confused.  A
result that does not depend on the caller's graph leaves the transform without a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import ref

from ..autograd.checks import is_inference, is_tensor
from ..autograd.functional.gradients import gradients_of_recorded
from ..autograd.grad_mode import is_grad_enabled, recording, state
from ..autograd.hooks import TensorHooks
from ..autograd.levels import set_tangent, tangents_of
from ..autograd.node import AccumulateGrad, Edge, Node, edge_of, next_sequence
from ..autograd.order import leading_to, nodes_behind
from ..ops.batching.batches import cut, requires_below
from ..tensors.tensor import Tensor


class InputNode(Node):
    """Node that receives the gradients of a transform's input and passes them on to the caller's graph, if any.

    Attributes:
        active: True while the transform's function runs.
    """

    __slots__ = ("__weakref__", "active")

    makes_fresh_gradients = False

    def __init__(self, tensor: Tensor, edge: Edge):
        super().__init__((edge,), tensor._layout)
        self.active = True

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        current = state.current_pass
        if self.active and current is not None and current.accumulate:
            raise RuntimeError(
                "backward() called inside a functorch transform. This is not supported: call func.grad or func.vjp "
                "there, or backward() outside of the transform."
            )
        return (gradient,)


class Tape:
    """Recording of one call of a transform: ``with Tape() as tape:`` around the call of the function.

    Recording is always on inside the block, so the caller's grad mode is determined at the start.

    Args:
        inference: True if inference tensors may be saved, and read in backward, even outside of inference mode.
    """

    def __init__(self, inference: bool = False) -> None:
        self._inference = inference
        self.by_caller = is_grad_enabled()
        self.start = next_sequence()
        self.nodes: list[InputNode] = []
        self.inputs: list[Tensor] = []
        self.originals: list[Tensor] = []

    def __enter__(self) -> Tape:
        self._mode = recording(self._inference)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._mode.__exit__(*exception)
        for node in self.nodes:
            node.active = False

    def callers(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function within the block in the caller's grad mode, and return its result."""
        return self._mode.before(function, *args)

    def input(self, tensor: Any) -> Tensor:
        """Return the caller's tensor in the form that the function receives: a leaf that requires a gradient.

        Raises:
            ValueError: it is not a tensor.
            RuntimeError: its dtype is not differentiable.
        """
        if not is_tensor(tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        leaf = (tensor.clone() if is_inference(tensor) else cut(tensor)).requires_grad_()
        for level, tangent in tangents_of(tensor):  # unlike ``detach``, a transform keeps the tangents of outer levels
            set_tangent(leaf, level, tangent)
        node = InputNode(leaf, edge_of(tensor) if self.by_caller and tensor.requires_grad else None)
        leaf._accumulator = ref(node)
        leaf._hooks = TensorHooks()
        self.originals.append(tensor)
        self.inputs.append(leaf)
        self.nodes.append(node)
        return leaf

    def gradients(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        vectors: Sequence[Any],
        retain_graph: bool,
        create_graph: bool,
    ) -> tuple[Any, ...]:
        """Return the gradients of the recorded outputs; None for an input that no output depends on."""
        with self._hooks_on_inputs(), recording(inference=True) if self._inference else nullcontext():
            return gradients_of_recorded(outputs, inputs, vectors, retain_graph, create_graph)

    @contextmanager
    def _hooks_on_inputs(self) -> Iterator[None]:
        """Apply the hooks that the function registered on its inputs to this transform's gradients only."""
        for node, tensor in zip(self.nodes, self.inputs, strict=True):
            if not tensor._hooks.is_idle():
                node.attachments().tensor_hooks = tensor._hooks
        try:
            yield
        finally:
            for node in self.nodes:
                if node.attached is not None:
                    node.attached.tensor_hooks = TensorHooks()

    def returned(self, tensors: Sequence[Any], recorded: bool) -> list[Tensor]:
        """Return the tensors for the caller: the original tensor for an input, others in the caller's graph or in none.

        Without ``recorded``, they are in no graph.

        Raises:
            RuntimeError: a value is not a tensor.
        """
        for tensor in tensors:
            if not is_tensor(tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(tensor)}")
        tensor_of_input = {id(input): tensor for input, tensor in zip(self.inputs, self.originals, strict=True)}
        stay = self._lead_out(tensors) if recorded else [False] * len(tensors)
        results = []
        for tensor, stays in zip(tensors, stay, strict=True):
            if id(tensor) in tensor_of_input:
                result = tensor_of_input[id(tensor)]
            elif stays or not tensor.requires_grad:
                result = tensor
            else:
                result = cut(tensor)
                for level, tangent in tangents_of(tensor):
                    set_tangent(result, level, self.returned([tangent], recorded)[0])
            results.append(result)
        return results

    def concerns_caller(self, tensors: Sequence[Tensor]) -> bool:
        """Return True if a tensor or one of its tangents leads to the caller's graph; gradients are then recorded."""
        concerned = list(tensors)
        for tensor in concerned:  # grows during the loop: tangents may have tangents
            concerned += [tangent for _, tangent in tangents_of(tensor)]
        return any(map(requires_below, concerned)) or any(self._lead_out(concerned))

    def _lead_out(self, tensors: Sequence[Tensor]) -> list[bool]:
        """Return for each tensor True if its graph leads to the caller's."""
        edges = [edge_of(tensor) for tensor in tensors]
        roots = [edge[0] for edge in edges if edge is not None]
        nodes = nodes_behind(roots, lambda node: node.sequence < self.start)
        outside = set(filter(self._is_outside, nodes))
        leading = outside | leading_to(outside, nodes)
        return [edge is not None and edge[0] in leading for edge in edges]

    def _is_outside(self, node: Node) -> bool:
        """Return True for a node of the caller's: older than this transform, a leaf, or an input of an outer one."""
        older = node.sequence < self.start
        if node.__class__ is InputNode and not (older and node.edges[0] is not None):
            return node.active and node not in self.nodes
        return older or node.__class__ is AccumulateGrad
