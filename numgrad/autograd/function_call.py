"""Outputs of a Function: graph edges and tangents of the tensors that forward returns.

A tensor made by forward has the Function's node as its origin.  An input marked as dirty remains the same tensor with
a new origin, as after any in-place operation.  Any other returned input becomes a view of itself, so that the input
keeps its own edge.  In forward mode, the user's ``jvp`` maps the tangents of the inputs to those of the outputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Set
from typing import Any

from ..core.layout import Layout
from .calls import Call, transformed
from .checks import is_tensor
from .function_node import BackwardCFunction
from .levels import Level, check_tangent_shape, outside, set_tangent, tangent_of, with_duals
from .locations import count_change
from .node import MAYBE, NO_LAYOUT
from .operations import operations
from .thread_state import undisturbed
from .views import SEVERAL, FunctionView, check_writable, record_inplace

_NOTHING: Set[int] = frozenset()


def finish(node: BackwardCFunction, inputs: tuple[Any, ...], outputs: tuple[Any, ...], record: bool) -> list[Any]:
    """Complete ``node`` and return the outputs of ``forward`` in the form that the caller receives.

    Raises:
        RuntimeError: a value that is not a tensor is marked as dirty or as not differentiable, or a dirty tensor is
            not returned or its change cannot be recorded.
        TypeError: a saved value is not a tensor.
    """
    to_save: tuple[Any, ...] = ()
    dirty = constants = _NOTHING
    marked = node.context.__dict__
    if marked:
        to_save = _popped(marked, "to_save")
        if "dirty_tensors" in marked:
            dirty = _count_changes(_popped(marked, "dirty_tensors"), inputs, outputs)
        if "non_differentiable" in marked:
            named = _popped(marked, "non_differentiable")
            constants = _identities(named, "mark_non_differentiable only accepts variable arguments")
        marked.pop("saved_for_forward", None)
    input_ids = set(map(id, inputs))
    results: list[Any] = []
    layouts: list[Layout] = []
    origin_of: list[tuple[int, Any]] = []  # outputs with this node as their origin, with their indices
    for output in outputs:
        if is_tensor(output):
            identity = id(output)
            differentiable = record and output._layout.type.dtype.differentiable and identity not in constants
            if differentiable and identity in dirty:
                _record_change(output, node, len(results), inputs, len(outputs))
            else:
                if identity in input_ids:
                    output = _output_view(output, differentiable, identity in dirty)
                if differentiable:
                    _record(output, node, len(results))
                elif (output._edge is not None or output._requires_grad) and identity not in dirty:
                    output = _cut_off(output)
            if differentiable:
                origin_of.append((len(results), output))
            materialized = differentiable or node.context._materialize_non_diff_grads
            layouts.append(output._layout if materialized else NO_LAYOUT)
        else:
            layouts.append(NO_LAYOUT)
        results.append(output)
    node.set_outputs(layouts)
    if len(origin_of) > 1:
        for _, output in origin_of:
            if output._view.__class__ is FunctionView:
                output._view.creation = SEVERAL
    if record and to_save:
        node.keep_saved(to_save, origin_of)
    return results


def _popped(attributes: dict[str, Any], name: str) -> tuple[Any, ...]:
    """Remove and return the tensors marked by one method of the context: outputs left there would hold their node."""
    tensors = attributes.pop(name, None)
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
    """Increment the versions of inputs marked as dirty, because forward may have written them by any means."""
    identities = _identities(dirty, "mark_dirty can only accept variables")
    for tensor in dirty:
        count_change(tensor)
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
    """Make ``node`` the origin of an output made by forward, or of the alias of an input."""
    if output._view is not None and output._view.__class__ is not FunctionView:
        FunctionView(output._root).connect(output, output._root)
    output._edge = (node, number)
    output._requires_grad = True


def _record_change(output: Any, node: BackwardCFunction, number: int, inputs: tuple[Any, ...], count: int) -> None:
    """Make ``node`` the origin of the new value of an input that forward modified in place."""
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


def _output_view(tensor: Any, differentiable: bool, changed: bool) -> Any:
    """Return the caller's tensor for an input that forward returns: an alias on the same memory."""
    if not tensor.requires_grad and changed:
        return tensor
    alias = tensor._alias()
    if differentiable or not tensor.requires_grad:
        FunctionView(tensor).connect(alias, tensor)
        alias._requires_grad = MAYBE
    return alias


def _cut_off(output: Any) -> Any:
    """Return an output without a gradient, although it was computed from a tensor that has one."""
    if output._view is not None:
        if output._edge is not None:
            return output._alias()
        FunctionView(output._root).connect(output, output._root)
        return output
    output._edge = None
    output._requires_grad = False
    return output


# -- tangents ------------------------------------------------------------------------------------------------


class FunctionCall(Call):
    """One call of a Function, as passed to levels and watchers."""

    args: tuple[Any, ...]
    closed = False  # watchers and levels also see the operations called by forward
    context: Any  # the Function's, set after it has run
    saved: tuple[Any, ...]
    constants: frozenset[int]  # indices of outputs without a derivative

    def __init__(self, function: Any, args: tuple[Any, ...]):
        self.function = function
        self.name = function.__name__
        self.args = args

    @property
    def title(self) -> str:
        return self.name

    def run(self) -> Any:
        """Run the Function at the remaining levels."""
        return self.function._call(self.args, self)

    def note_forward(self, context: Any, output: Any) -> None:
        """Keep for ``jvp`` the values saved by ``forward`` and the indices of outputs without a derivative."""
        self.context = context
        self.saved = context.saved_for_forward or ()
        marked = context.non_differentiable
        identities = set(map(id, marked)) if isinstance(marked, tuple) else set()
        outputs = output if isinstance(output, tuple) else (output,)
        self.constants = frozenset(
            number for number, value in enumerate(outputs) if not _differentiable(value) or id(value) in identities
        )

    def with_tangents(self, level: Level) -> Any:
        """Run forward, then compute the tangents of the outputs with ``jvp`` from those of the inputs.

        Raises:
            RuntimeError: ``jvp`` returns an invalid result.
        """
        tangents = [tangent_of(value, level) if is_tensor(value) else None for value in self.args]
        versions = [None if tangent is None else tangent._counter[0] for tangent in tangents]
        with outside(level) as around:
            result = around.run(with_duals, transformed, self)
            context = self.context
            outputs = result if isinstance(result, tuple) else (result,)
            arguments = [  # zeros for differentiable tensors without a tangent, unless the Function opts for None
                operations.zeros(value._layout.shape, value._layout.type)
                if tangent is None and context.materialize_grads and _differentiable(value)
                else tangent
                for value, tangent in zip(self.args, tangents, strict=True)
            ]
            context.saved_for_forward = self.saved
            try:
                results = undisturbed(self.function.jvp, context, *arguments)
            finally:
                context.__dict__.pop("saved_for_forward", None)
        results = results if isinstance(results, tuple) else (results,)
        for number, tangent in enumerate(results):
            if tangent is not None and not is_tensor(tangent):
                raise RuntimeError(
                    f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}."
                )
        if len(results) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(results)}). (The function is {self.name}.)"
            )
        for number, (output, tangent) in enumerate(zip(outputs, results, strict=True)):
            if number not in self.constants:
                self._give(output, tangent, number, level, tangents, versions)
            elif tangent is not None and is_tensor(output):
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {number}, but the corresponding forward output is "
                    "not a differentiable Tensor.You should return None at that position instead. "
                    f"(The function is {self.name}.)"
                )
        return result

    def _give(
        self, output: Any, tangent: Any, number: int, level: Level, tangents: list[Any], versions: list[Any]
    ) -> None:
        """Assign to an output the tangent that ``jvp`` returned for it."""
        changed = [
            (of_input, version)
            for value, of_input, version in zip(self.args, tangents, versions, strict=True)
            if output is value
        ]
        for of_input, version in changed:
            if of_input is not None and (tangent is not of_input or of_input._counter[0] == version):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        if not changed:
            for value, of_input in zip(self.args, tangents, strict=True):
                if of_input is not None and output._storage is value._storage:
                    _check_view(tangent, of_input)
        if tangent is None:
            return
        if not _differentiable(tangent):
            raise RuntimeError(
                "Expected both tensor and its forward grad to be floating point or complex, but the tangent "
                f"{number} that the jvp of {self.name} returned is of {tangent.dtype}"
            )
        check_tangent_shape(output, tangent)
        if not changed:
            set_tangent(output, level, tangent)
        elif changed[0][0] is None:
            operations.write_tangent(output, level, tangent)


def _differentiable(value: Any) -> bool:
    return is_tensor(value) and value._layout.type.dtype.differentiable


def _check_view(tangent: Any, of_input: Any) -> None:
    """Raise unless the tangent of an output that is a view of an input is a view of that input's tangent, ``of_input``.

    Raises:
        RuntimeError: the tangent is not such a view.
    """
    if tangent is None or tangent._view is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if tangent._root is not (of_input if of_input._view is None else of_input._root):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input. "
            f"(It is of shape {list(tangent.shape)}.)"
        )
