"""The kernels of a node of the graph: those of its rule, and those of the operation that it records."""

from __future__ import annotations

from typing import Any

from ...autograd.fitting import fit
from ...autograd.function_node import BackwardCFunction
from ...autograd.grad_mode import no_grad
from ...autograd.node import AccumulateGrad, DeadEnd, Node
from ...core.layout import Layout
from ...core.tensor import Tensor
from ...devices.launches import Launch
from ...ops.memory.new import filled_of
from ...ops.table.elementwise_backward import PointwiseNode
from ...ops.table.nodes import OpNode
from .calls import HANDED_ON, repeated, told
from .inspection import Inspection
from .kernels import inspected


def node_inspection(node: Node) -> Inspection:
    """Run a node's rule on gradients of ones, and the operation that it records, where what it saved allows that.

    Raises:
        RuntimeError: what the node saved was freed by backward, or changed in place since.
        TypeError: the node is the end of a path, which would add to the gradient of a leaf.
    """
    if isinstance(node, AccumulateGrad):
        raise TypeError(
            "numgrad.inspect: this is the end of a path, which adds what arrives to the gradient of a leaf; "
            "inspect the grad_fn of a tensor that was computed"
        )
    if node.freed_by is not None:
        raise RuntimeError(
            f"numgrad.inspect: what {node.name()} saved for its rule was freed by backward; inspect it before that, or "
            "call backward with retain_graph=True"
        )
    launches, notes = _forward(node)
    ones = [_ones(node.output(number)) for number in range(1 + len(node.more_outputs or ()))]

    def run() -> list[tuple[str, Launch]]:
        return told("backward", lambda: _run_rule(node, ones))

    rule = run()
    if not isinstance(node, BackwardCFunction):  # whose backward is the user's: it may do anything
        rule = repeated(run, rule)
    if not rule:
        notes.append(HANDED_ON)
    output = _described(node.layout.shape, node.layout.type)
    return Inspection(f"{node.name()}, output {output}", inspected(launches + rule), notes)


def _run_rule(node: Node, gradients: list[Tensor]) -> None:
    """Compute the gradients of a node's inputs, and sum what broadcasting repeated, as the engine does."""
    with no_grad():
        results = node.apply(gradients if node.more_outputs else gradients[0])
        for edge, gradient in zip(node.edges, results, strict=True):
            if edge is not None and gradient is not None and not isinstance(edge[0], DeadEnd):
                fit(gradient, edge[0].output(edge[1]), node, edge)


def _forward(node: Node) -> tuple[list[tuple[str, Launch]], list[str]]:
    """The kernels of the operation, or why it cannot be run."""
    if not isinstance(node, OpNode):
        return [], [f"What {node.name()} records is no operation of the table: inspect the function that was called."]
    if getattr(node.op, "view", False):
        return [], ["The forward runs no kernel: it makes a view."]
    missing: list[str] = []
    values = _operands(node, missing)
    if missing:
        names = " and ".join(missing)
        return [], [f"The forward cannot be run again, for the node does not keep {names}: inspect the function."]
    run = _runner(node, values)
    try:
        launches = repeated(lambda: told("forward", run), told("forward", run))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return [], [f"The forward cannot be run again ({error}): inspect the function itself."]
    return launches, [] if launches else ["The forward runs no kernel."]


def _runner(node: Any, values: dict[str, Any]) -> Any:
    op = node.op

    def run() -> None:
        with no_grad():
            if isinstance(node, PointwiseNode):
                statics = {name: values.get(name, default) for name, default in op.statics.items()}
                op.run([values[name] for name in op.inputs], statics if statics != op.statics else op.statics)
            else:
                op(*[values[name] for name in op.parameters])

    return run


def _operands(node: Any, missing: list[str]) -> dict[str, Any]:
    """What the operation was called with, as far as the node has it: tensors that it did not save are ones."""
    with no_grad():
        op, saved = node.op, {**node.constants, **node.unpack(), "kind": node.layout.type.dtype}
    pointwise = isinstance(node, PointwiseNode)
    differentiable = op.inputs if pointwise else getattr(op, "differentiable", ())
    edges = dict(zip(differentiable, node.edges, strict=False))
    values: dict[str, Any] = {}
    if getattr(op, "sequence", False) and all(node.edges):
        saved[op.inputs[0]] = tuple([_ones(edge[0].output(edge[1])) for edge in node.edges])
    for name in op.inputs if pointwise else op.parameters:
        edge = edges.get(name)
        if name in saved:
            values[name] = saved[name]
        elif f"{name}_shape" in saved:
            values[name] = filled_of(saved[f"{name}_shape"], 1, node.layout.type)
        elif edge is not None:
            values[name] = _ones(edge[0].output(edge[1]))
        else:
            missing.append(f"'{name}'")
    return {**{name: saved[name] for name in saved if name in getattr(op, "statics", ())}, **values}


def _ones(layout: Layout) -> Tensor:
    return filled_of(layout.shape, 1, layout.type)


def _described(shape: tuple[int, ...], type: Any) -> str:
    return f"{list(shape)} {type.dtype.name}"
