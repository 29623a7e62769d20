"""Nodes of the graph that the backward pass traverses.

A node represents one recorded operation and maps the gradients of its outputs to the gradients of its inputs.  It
refers to the nodes that made its inputs.  The outputs therefore keep the graph alive, and it is freed with them.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import ref

from ..core.display import picture_of_node
from ..core.layout import Layout, layout_of
from ..core.types import Size, device, dtype, size_of
from .accumulation import Deferred, accumulate, accumulating
from .anomaly_mode import note_forward
from .checks import is_tensor, mismatch
from .errors import freed_error
from .grad_mode import ANOMALY, STREAMS, state
from .hooks import Hooks, RemovableHandle, TensorHooks, add_hook, mark_shared, run_post_accumulate_hooks
from .locations import Location
from .operations import operations

#: A node and the index of one of its outputs, or None if no gradient flows.
Edge = tuple["Node", int] | None

#: Layout of an output that is not a tensor.
NO_LAYOUT = layout_of(None, ())

#: Sequence number of the next node.  A node takes its number after its edges are set, so a node is never an ancestor
#: of a node with a smaller number, in any thread.
next_sequence = itertools.count().__next__

_new = object.__new__


class InputMetadata(NamedTuple):
    """Shape, dtype and device of the gradient of one of a node's outputs."""

    shape: Size
    dtype: dtype
    device: device
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


class Attachments:
    """Attributes that few nodes have: hooks, metadata, streams, and in anomaly mode the location of the recorded call.

    In anomaly mode, the metadata also contain ``traceback_``, the full traceback of that call, and ``parent_``, the
    node that was running if a backward pass recorded this one.
    """

    __slots__ = ("location", "metadata", "post_hooks", "pre_hooks", "streams", "tensor_hooks")

    def __init__(self) -> None:
        self.pre_hooks: Hooks = OrderedDict()
        self.post_hooks: Hooks = OrderedDict()
        self.tensor_hooks = TensorHooks()
        self.metadata: dict[Any, Any] = {}
        self.location: Location | None = None
        self.streams: Any = None  # current at recording, unless all were default streams; see ``Operations``

    def is_idle(self) -> bool:
        """Return True if there is nothing to call, because all hooks have been removed again."""
        return not (self.pre_hooks or self.post_hooks) and self.tensor_hooks.is_idle()


class Node:
    """One recorded operation.

    The engine uses ``edges`` (one per input), ``sequence``, and the layout of each output: ``layout`` for the first,
    ``more_outputs`` for the others.  It has a fast path for nodes whose ``more_outputs`` and ``attached`` are None, as
    they are for most nodes.
    """

    __slots__ = ("attached", "edges", "layout", "more_outputs", "sequence")

    #: True if ``apply`` returns tensors that nothing else uses, so that their memory may be reused.  The rules of the
    #: op table do, unless they return the incoming gradient or a view.
    makes_fresh_gradients = True
    #: True if ``apply`` must be called even if no gradient arrived for any output.
    wants_undefined = False
    #: True if the single gradient is mostly zeros, and ``add_to`` or ``deferred`` may replace ``apply``.
    is_sparse = False
    #: True if the operation overwrites its whole first input, whose gradient is 0; ``of_others`` returns the others.
    clears = False
    #: Indices of ``edges`` that ``next_functions`` omits: operands that PyTorch does not count as inputs.
    hidden: frozenset[int] = frozenset()
    #: Name of the operation as spelled in the node's name, and the suffix after "Backward": "Pow" and "1" for
    #: PowBackward1.  None and an empty string for nodes whose names have another form.
    op_name: str | None = None
    overload = ""

    def __init__(self, edges: tuple[Edge, ...], layout: Layout):
        self.edges = edges
        self.layout = layout
        self.more_outputs: tuple[Layout, ...] | None = None
        self.attached: Attachments | None = None
        self.sequence = next_sequence()
        if state.mode & (ANOMALY | STREAMS):
            if state.mode & ANOMALY:
                note_forward(self)
            if state.mode & STREAMS:
                self.attachments().streams = operations.streams.current()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        """Return the gradients of the inputs, given that of the output, or a list if there are several outputs.

        The entry is None for an input that has no edge or receives no gradient.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define apply")

    def of_others(self, gradient: Any) -> tuple[Any, ...]:
        """Return the gradients of all inputs but the first, which the operation overwrote: see ``clears``."""
        raise NotImplementedError(f"{type(self).__name__} does not define of_others")

    def add_to(self, total: Any, gradient: Any) -> bool:
        """Add the gradient of the first input to ``total``, in place and unrecorded; return True if that was done."""
        return False

    def deferred(self, gradient: Any, target: Node) -> tuple[Deferred, ...]:
        """Return the gradient of the first input for a node that does without its zeros; nothing for other nodes."""
        return ()

    def release(self, freed_by: Location) -> None:
        """Drop the tensors saved for backward after the pass started by the call ``freed_by`` has used the node."""

    def saved_values(self) -> dict[str, Any]:
        """Return the saved values by name, except those packed by hooks; empty if they have been freed.

        Raises:
            RuntimeError: a saved tensor has since been modified in place.
        """
        return {}

    @property
    def freed_by(self) -> Location | None:
        """The call whose backward pass freed the saved values; None if there were none or they are still saved."""
        return None

    def output(self, number: int) -> Layout:
        """Return the layout of an output.  Its gradients have the same shape and type, but may have other strides."""
        if number == 0 or not self.more_outputs:
            return self.layout
        return self.more_outputs[number - 1]

    @property
    def outputs(self) -> tuple[Layout, ...]:
        """The layouts of all outputs."""
        return self.layout, *(self.more_outputs or ())

    def attachments(self) -> Attachments:
        """Return the node's hooks and metadata, creating the object if there is none yet."""
        if self.attached is None:
            self.attached = Attachments()
        return self.attached

    def __call__(self, *gradients: Any, **keywords: Any) -> Any:
        """Return the gradients of the inputs, given those of the outputs (None for a missing one).

        Raises:
            TypeError: the number of gradients is not the number of outputs, one is not a tensor, or one is passed by
                keyword.
            RuntimeError: a gradient does not have its output's shape, or the saved values have been freed.
        """
        if keywords:
            raise TypeError("keyword arguments are not supported")
        count = len(self.outputs)
        if len(gradients) != count:
            raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
        for number, gradient in enumerate(gradients):
            if gradient is None:
                continue
            if not is_tensor(gradient):
                raise TypeError(f"argument {number} is not a Variable (it is of type {type(gradient).__name__})")
            if gradient._layout.shape != self.output(number).shape:
                raise mismatch(number, gradient._layout.shape, self.output(number).shape)
        mark_shared(gradients)
        if self.freed_by is not None:
            raise freed_error(self, self.freed_by)
        if not self.wants_undefined and all(gradient is None for gradient in gradients):
            results: tuple[Any, ...] = (None,) * len(self.edges)
        else:
            results = self.apply(list(gradients) if self.more_outputs else gradients[0])
        results = self.shown(results)
        return results[0] if len(results) == 1 else results

    def name(self) -> str:
        """Return the name of the node, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input, the node that made it and the index of that node's output; ``(None, 0)`` if there is none."""
        return self.shown([(None, 0) if edge is None or edge[0].__class__ is DeadEnd else edge for edge in self.edges])

    def shown(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values, given one per edge, that correspond to entries of ``next_functions``."""
        return tuple([value for index, value in enumerate(values) if index not in self.hidden])

    def for_edges(self, shown: Sequence[Any]) -> tuple[Any, ...]:
        """Spread ``shown`` over all edges again, with None for edges that are hidden from hooks."""
        values = iter(shown)
        return tuple([None if index in self.hidden else next(values) for index in range(len(self.edges))])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for arbitrary data that a program attaches to the node."""
        return self.attachments().metadata

    @property
    def requires_grad(self) -> bool:
        """Always True: operations that need no gradient are not recorded."""
        return True

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run.

        ``grad_inputs`` has one gradient per entry of ``next_functions``, with the shape and dtype of that input, or
        None.  ``grad_outputs`` has one gradient per output.  The hook may return a tuple that replaces
        ``grad_inputs``, or None to keep them.  It must not modify its arguments.

        Raises:
            RuntimeError: in backward, if the number of returned gradients differs, a gradient differs in shape or
                dtype, or the hook returns a value instead of None.
            TypeError: in backward, if the return value is not a tuple of tensors and None.
        """
        return add_hook(self.attachments().post_hooks, hook)

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs, after the hooks of the tensors that are its outputs.

        The hook may return a tuple that replaces ``grad_outputs``, or None to keep them.  It raises the same errors as
        :meth:`register_hook`.
        """
        return add_hook(self.attachments().pre_hooks, hook)

    def _sequence_nr(self) -> int:
        """Return the node's position in the order of recording; backward runs the highest numbers first."""
        return self.sequence

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """Shape, dtype and device of the gradient of each output."""
        return tuple(
            [InputMetadata(size_of(output.shape), output.type.dtype, output.type.device) for output in self.outputs]
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<{type(self).__name__} at {id(self):#x}>")

    _repr_mimebundle_ = picture_of_node


class DeadEnd(Node):
    """Sink for the gradient of a view that was made without recording, while operations on the view are recorded."""

    __slots__ = ()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        return ()


class AccumulateGrad(Node):
    """End of a path, which adds the arriving gradient to the ``grad`` of a leaf.

    The node holds the leaf, and the leaf holds the node weakly.  The node is freed with the graphs that lead to it, so
    most passes need a new one, which ``edge_of`` makes.
    """

    __slots__ = ("__weakref__", "variable")

    edges = ()
    more_outputs = ()  # no further outputs; unlike None, () keeps the engine off its fast path
    wants_undefined = True  # hooks run even without a gradient

    variable: Any

    def name(self) -> str:
        """Return PyTorch's name of this node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        leaf = self.variable
        return (InputMetadata(size_of(leaf._layout.shape), leaf.dtype, leaf.device),)

    def _sequence_nr(self) -> int:
        """Return the highest number: the node runs as soon as its gradient is complete."""
        return 2**64 - 1

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        variable = self.variable
        if gradient is not None and variable._requires_grad:
            if variable._edge is not None or (variable._view is not None and variable.grad_fn is not None):
                raise RuntimeError("leaf variable has been moved into the graph interior")
            with accumulating:
                accumulate(variable, gradient)
        if variable._hooks is not None:
            run_post_accumulate_hooks(variable)
        return ()


def gradient_type(leaf: Any) -> Any:
    """Return the TensorType that gradients of a leaf are converted to, or None if any type is accepted."""
    return getattr(leaf, "_grad_type", leaf._layout.type)


#: Non-empty once any leaf has been given another type for its gradients, so that the lookup is skipped until then.
types_given: list[None] = []


def give_gradient_type(leaf: Any, type: Any) -> None:
    """Set the TensorType that gradients of a leaf are converted to, or None for no conversion."""
    leaf._grad_type = type
    types_given[:] = [None]
    node = leaf._accumulator and leaf._accumulator()
    if node is not None:
        node.layout = _gradient_layout(leaf)


def _gradient_layout(leaf: Any) -> Layout:
    """Return the leaf's layout with the type that its gradients are converted to."""
    layout = leaf._layout
    if not types_given:
        return layout
    type = gradient_type(leaf)
    return layout if type is layout.type else layout_of(type, layout.shape)


#: Value of ``_requires_grad`` in a view that had no gradient to pass on when it was made.  Its base may require one
#: later, so its edge must be looked up.
MAYBE = 2


def edge_of(tensor: Any) -> Edge:
    """Return the edge that ``tensor``'s gradient follows: to the node that made it, to its AccumulateGrad, or None."""
    edge = tensor._edge
    flag = tensor._requires_grad
    if tensor._view is not None and (edge is not None or flag == MAYBE):
        edge = tensor._view.edge(tensor)
        if edge is None and tensor._root._requires_grad:
            return DeadEnd((), tensor._layout), 0
        return edge
    if edge is not None or not flag:
        return edge
    weak = tensor._accumulator
    node = weak() if weak is not None else None
    return (_accumulator_of(tensor) if node is None else node), 0


def _accumulator_of(leaf: Any) -> AccumulateGrad:
    """Return the AccumulateGrad of a leaf, making one if there is none."""
    with accumulating:  # another thread may have made it in the meantime
        weak = leaf._accumulator
        node = weak() if weak is not None else None
        if node is None:
            node = _new(AccumulateGrad)
            node.variable = leaf
            node.layout = _gradient_layout(leaf)
            node.attached = None
            node.sequence = next_sequence()
            if state.mode & ANOMALY:
                note_forward(node)
            leaf._accumulator = ref(node)
    return node
