"""Recording: how the result of a call gets its place in the graph.

``begin`` finds before a call which of its operands have gradients, and ``finish`` gives the result a node after it.
``record`` is the short way to the same, for one result in no mode that is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import GRAD, ORDINARY, state
from ...autograd.node import edge_of, next_sequence
from ...autograd.operations import operations
from ...autograd.saved import keep
from ...autograd.views import record_inplace
from ...core.tensor import Tensor, tensor_of
from ...devices import NUMBERS
from .entries import Entry
from .recipes import OUTPUT, Recipe

_new = object.__new__


def begin(entry: Entry, operands: Sequence[Any], target: Tensor | None = None) -> Any:
    """What ``finish`` is to be given when the result is there; None if nothing is to be recorded.

    That is the recipe, the edges, the operands and, where ``target`` is about to be overwritten, what a node keeps of
    them: it is copied before, if the rules need it.
    """
    if not (state.mode & GRAD and entry.recorded):
        return None
    for value in operands:
        if value is not None and value.__class__ not in NUMBERS and value._requires_grad:
            break
    else:
        return None
    edges: list[Any] = []
    needed = 0
    positions = entry.op.edge_positions
    for number, position in enumerate(range(len(operands)) if positions is None else positions):
        edge = None
        if position is not None:
            value = operands[position]
            if value is not None and value.__class__ not in NUMBERS and value._requires_grad:
                edge = edge_of(value)
                if edge is not None:
                    needed |= 1 << number
        edges.append(edge)
    if not needed:
        return None
    recipe = entry.recipe(1 if positions is None else needed)
    if target is None:
        return recipe, tuple(edges), operands, None
    if 0 in recipe.sources:
        operands = (operations.kept_copy(target), *operands[1:])
    return recipe, tuple(edges), operands, _kept(recipe, operands)  # as they were before the change


def finish(pending: Any, out: Any, target: Tensor | None = None) -> None:
    """Make a node the origin of the result ``out``, which is ``target`` if that was overwritten."""
    recipe, edges, operands, before = pending
    outputs = out if out.__class__ is tuple else (out,)
    graded = len(outputs) if recipe.node_class.op.graded is None else recipe.node_class.op.graded
    if target is None and graded == 1 and state.mode <= ORDINARY:
        record(recipe, outputs[0], edges, operands, outputs)
        return
    differentiable = [one for one in outputs[:graded] if one._layout.type.dtype.differentiable]
    node = recipe.node_class(edges, differentiable[0]._layout)
    if len(differentiable) > 1:
        node.more_outputs = tuple([one._layout for one in differentiable[1:]])
    node.recipe = recipe
    node.saved, node.versions = None, ()
    if target is not None:
        record_inplace(target, node)  # before the result is saved: it has been changed, whatever a hook does
    else:
        for number, one in enumerate(differentiable):
            one._edge = (node, number)
            one._requires_grad = True
    _save(node, recipe, outputs, before or _kept(recipe, operands))


def record_one(entry: Entry, out: Tensor, operands: Sequence[Any]) -> None:
    """Record a call whose first operand alone may have an edge."""
    input = operands[0]
    edge = input._edge
    if edge is None or input._view is not None:
        edge = edge_of(input)
    if edge is not None:
        record(entry.recipes.get(1) or entry.recipe(1), out, (edge,), operands)


def record(
    recipe: Recipe, out: Tensor, edges: tuple[Any, ...], operands: Sequence[Any], outputs: Sequence[Tensor] = ()
) -> None:
    """Give the one result that has a gradient its node, in a mode that is not out of the ordinary."""
    node: Any = _new(recipe.node_class)  # as ``Node.__init__`` makes it, in less time
    node.edges = edges
    node.layout = out._layout
    node.more_outputs = node.attached = None
    node.sequence = next_sequence()
    node.recipe = recipe
    out._edge = (node, 0)
    out._requires_grad = True
    sources = recipe.sources
    if not sources:
        node.saved = node.versions = ()
    elif recipe.of_operands:
        if len(sources) == 1:
            value = operands[sources[0]]
            plain = value is None or value.__class__ in NUMBERS
            node.saved, node.versions = (value,), (None if plain else value._counter[0],)
        else:
            node.saved = saved = tuple([operands[source] for source in sources])
            node.versions = tuple([None if v is None or v.__class__ in NUMBERS else v._counter[0] for v in saved])
    elif len(sources) > 1 or sources[0] < OUTPUT:
        _save(node, recipe, outputs or (out,), _kept(recipe, operands))
    else:
        value = tensor_of(out._layout, out._storage, out._offset)
        value._counter = counter = out._counter
        node.saved, node.versions = (value,), (counter[0],)


def _kept(recipe: Recipe, operands: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    """What a node keeps of the operands, with the versions of tensors; there is room for what it keeps of results."""
    saved: list[Any] = []
    versions: list[int | None] = []
    plain = state.mode <= ORDINARY
    for source in recipe.sources:
        value = operands[source] if source >= 0 else None
        version: int | None = None
        if value is not None and value.__class__ not in NUMBERS:
            if plain:
                version = value._counter[0]
            else:
                value, version = keep(value)
        saved.append(value)
        versions.append(version)
    return saved, versions


def _save(
    node: Any, recipe: Recipe, outputs: Sequence[Tensor], inputs: tuple[list[Any], list[int | None]]
) -> None:
    """Have a node keep what the rules need of operands, ``inputs``, and of the results."""
    saved, versions = inputs
    for position, source in enumerate(recipe.sources):
        if source < 0:
            number = OUTPUT - source
            one = outputs[number]
            saved[position], versions[position] = keep(one, number if one._requires_grad else None)
    node.saved, node.versions = tuple(saved), tuple(versions)
