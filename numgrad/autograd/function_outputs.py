"""What becomes of the tensors that a Function's forward returns: they get their place in the graph.

A tensor that forward made gets the Function's node as its origin.  An input marked as dirty stays the same tensor
with a new origin, as after any in-place operation.  Any other input that is returned becomes a view of itself, so
that the input keeps its own place in the graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Set
from typing import Any

from ..core.layout import Layout
from .checks import is_tensor
from .function_node import BackwardCFunction
from .grad_mode import ANOMALY, state
from .history import note_change
from .inference_tensors import is_inference
from .node import MAYBE, NO_LAYOUT
from .views import SEVERAL, FunctionView, check_writable, record_inplace

_NOTHING: Set[int] = frozenset()


def finish(node: BackwardCFunction, inputs: tuple[Any, ...], outputs: tuple[Any, ...], record: bool) -> list[Any]:
    """Complete ``node`` and give the outputs of ``forward`` as the caller is to have them.

    Raises:
        RuntimeError: something other than a tensor is marked as dirty or as not differentiable; what is dirty is not
            returned, or cannot be recorded as changed.
        TypeError: something other than tensors is to be saved.
    """
    to_save: tuple[Any, ...] = ()
    dirty = constants = _NOTHING
    marked = node.context.__dict__
    if marked:
        to_save = _taken(marked, "to_save")
        if "dirty_tensors" in marked:
            dirty = _count_changes(_taken(marked, "dirty_tensors"), inputs, outputs)
        if "non_differentiable" in marked:
            named = _taken(marked, "non_differentiable")
            constants = _identities(named, "mark_non_differentiable only accepts variable arguments")
        marked.pop("saved_for_forward", None)
    given = set(map(id, inputs))
    results: list[Any] = []
    layouts: list[Layout] = []
    origin_of: list[tuple[int, Any]] = []  # the outputs that this node is the origin of, with their numbers
    for output in outputs:
        if is_tensor(output):
            identity = id(output)
            differentiable = record and output._layout.type.dtype.differentiable and identity not in constants
            if differentiable and identity in dirty:
                _record_change(output, node, len(results), inputs, len(outputs))
            else:
                if identity in given:
                    output = _passed_on(output, differentiable, identity in dirty)
                if differentiable:
                    _record(output, node, len(results))
                elif (output._edge is not None or output._requires_grad) and identity not in dirty:
                    output = _cut_off(output)
            if differentiable:
                origin_of.append((len(results), output))
            known = differentiable or node.context._materialize_non_diff_grads
            layouts.append(output._layout if known else NO_LAYOUT)
        else:
            layouts.append(NO_LAYOUT)
        results.append(output)
    node.set_outputs(layouts)
    if len(origin_of) > 1:
        for _, output in origin_of:
            if output._view.__class__ is FunctionView:
                output._view.made = SEVERAL
    if record and to_save:
        node.keep_saved(to_save, origin_of)
    return results


def _taken(given: dict[str, Any], name: str) -> tuple[Any, ...]:
    """What was marked with one method of the context, taken off it: outputs kept there would hold their node."""
    tensors = given.pop(name, None)
    if tensors is None:
        return ()
    if tensors.__class__ is not tuple:
        raise RuntimeError(
            f"autograd internal error: {name} attribute is expected to be a tuple but is {type(tensors).__name__}"
        )
    return tensors


def _identities(tensors: tuple[Any, ...], words: str) -> Set[int]:
    for number, tensor in enumerate(tensors):
        if not is_tensor(tensor):
            raise RuntimeError(f"{words}, but argument {number} is of type {type(tensor).__name__}")
    return set(map(id, tensors))


def _count_changes(dirty: tuple[Any, ...], inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Set[int]:
    """Count the change of the inputs marked as dirty; forward may have written to their memory by any means."""
    identities = _identities(dirty, "mark_dirty can only accept variables")
    for tensor in dirty:
        if not is_inference(tensor):
            if state.mode & ANOMALY:
                note_change(tensor)
            tensor._counter[0] += 1
    if not identities <= set(map(id, outputs)):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
            "are modified inplace must all be outputs of the Function."
        )
    if not identities <= set(map(id, inputs)):
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
            "should be passed to ctx.mark_dirty().",
            stacklevel=4,
        )
    return identities


def _record(output: Any, node: BackwardCFunction, number: int) -> None:
    """Make ``node`` the origin of an output that forward made, or of the alias of an input."""
    if output._view is not None and output._view.__class__ is not FunctionView:
        FunctionView(output._root).connect(output, output._root)
    output._edge = (node, number)
    output._requires_grad = True


def _record_change(output: Any, node: BackwardCFunction, number: int, inputs: tuple[Any, ...], count: int) -> None:
    """Make ``node`` the origin of the new value of an input that forward changed in place."""
    view = output._view
    if view is None and output._requires_grad and output._edge is None:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_writable(output)
    tensors = [value for value in inputs if is_tensor(value)]
    index = next((n for n, tensor in enumerate(tensors) if tensor is output), None)
    if index is None:  # wrongly marked: forward made it
        _record(output, node, number)
        return
    if view is not None and count > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
            "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
            "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
            f"second one that does the other operations). ({node.function.__name__} returns {count}.)"
        )
    record_inplace(output, node, number, index)


def _passed_on(tensor: Any, differentiable: bool, changed: bool) -> Any:
    """What the caller gets for an input that forward returns: another tensor on its memory."""
    if not tensor.requires_grad and changed:
        return tensor
    alias = tensor._alias()
    if differentiable or not tensor.requires_grad:
        FunctionView(tensor).connect(alias, tensor)
        alias._requires_grad = MAYBE
    return alias


def _cut_off(output: Any) -> Any:
    """An output that is not to have a gradient, although it was computed from something that has."""
    if output._view is not None:
        if output._edge is not None:
            return output._alias()
        FunctionView(output._root).connect(output, output._root)
        return output
    output._edge = None
    output._requires_grad = False
    return output
