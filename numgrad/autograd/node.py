"""The nodes of the graph that backward walks.

A node stands for one recorded operation and knows how to turn gradients of its outputs into gradients of its
inputs.  It points at the nodes that made its inputs, so the graph is held from the outputs and goes when they do.
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
from .accumulation import accumulate, accumulating
from .anomaly_mode import note_forward
from .checks import is_tensor, mismatch
from .errors import freed_error
from .grad_mode import ANOMALY, STREAMS, state
from .hooks import Hooks, RemovableHandle, TensorHooks, add_hook, lend, run_post_accumulate_hooks
from .locations import Location
from .operations import operations

#: A node and the number of its output, or None where no gradient flows.
Edge = tuple["Node", int] | None

#: Of an output that is no tensor.
NO_LAYOUT = layout_of(None, ())

#: The number of the next node.  It is taken after the node's edges are known, so a larger number is never an
#: ancestor of a smaller one, in any thread.
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
    """Attributes that few nodes have: hooks, metadata, in anomaly mode the location of the recorded call, and streams.

    The metadata then have the whole traceback of that call, ``traceback_``, and the node that was running if a backward
    pass recorded it, ``parent_``.
    """

    __slots__ = ("location", "metadata", "post_hooks", "pre_hooks", "streams", "tensor_hooks")

    def __init__(self) -> None:
        self.pre_hooks: Hooks = OrderedDict()
        self.post_hooks: Hooks = OrderedDict()
        self.tensor_hooks = TensorHooks()
        self.metadata: dict[Any, Any] = {}
        self.location: Location | None = None
        self.streams: Any = None  # that were current then, if one of them was no default one; see ``Operations``

    def is_idle(self) -> bool:
        """Whether there is nothing to call: hooks may have been removed again."""
        return not (self.pre_hooks or self.post_hooks) and self.tensor_hooks.is_idle()


class Node:
    """One recorded operation.

    Attributes that the engine uses: ``edges`` (one per input), ``sequence``, and for each output the layout that it had
    (``layout`` for the first, ``more_outputs`` for the others).  ``more_outputs`` and ``attached`` are None for most
    nodes, which the engine makes use of.
    """

    __slots__ = ("attached", "edges", "layout", "more_outputs", "sequence")

    #: Whether the tensors that ``apply`` returns are its own, so that their memory may be reused: true of the op
    #: table's rules unless they return the incoming gradient or a view.
    makes_fresh_gradients = True
    #: Whether ``apply`` is called even if no gradient arrived for any output.
    wants_undefined = False
    #: Whether ``add_to`` may do what ``apply`` would, for a gradient that is mostly zeros.
    adds = False
    #: The indices among ``edges`` that ``next_functions`` leaves out: operands that are no inputs in PyTorch's eyes.
    hidden: frozenset[int] = frozenset()
    #: The operation that it is of, as its name spells that, and the number after "Backward": "Pow" and "1" for
    #: PowBackward1.  None and nothing for nodes with names of another form.
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
        """The gradients of the inputs, given that of the output (a list of them, where there are several).

        An input without an edge, or that gets no gradient, has None.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define apply")

    def add_to(self, total: Any, gradient: Any) -> bool:
        """Add the gradient of the first input to ``total``, in place and unrecorded; return whether that was done."""
        return False

    def release(self, freed_by: Location) -> None:
        """Drop the tensors saved for backward: the pass that the call ``freed_by`` began is done with the node."""

    def saved_values(self) -> dict[str, Any]:
        """The saved values by name, except those that hooks have packed; none if they are freed.

        Raises:
            RuntimeError: a tensor was changed in place since.
        """
        return {}

    @property
    def freed_by(self) -> Location | None:
        """The call whose backward pass dropped the saved values; None if there were none, or they are still there."""
        return None

    def output(self, number: int) -> Layout:
        """The layout that an output had.  Gradients have its shape and type, but may have other strides."""
        if number == 0 or not self.more_outputs:
            return self.layout
        return self.more_outputs[number - 1]

    @property
    def outputs(self) -> tuple[Layout, ...]:
        """The layouts that all outputs had."""
        return self.layout, *(self.more_outputs or ())

    def attachments(self) -> Attachments:
        """The node's hooks and metadata, to add to."""
        if self.attached is None:
            self.attached = Attachments()
        return self.attached

    def __call__(self, *gradients: Any, **keywords: Any) -> Any:
        """The gradients of the inputs, given those of the outputs (None for one that is not there).

        Raises:
            TypeError: there are not as many as outputs, one is no tensor, or one is given by name.
            RuntimeError: one does not have its output's shape, or what was saved is freed.
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
        lend(gradients)
        if self.freed_by is not None:
            raise freed_error(self, self.freed_by)
        if not self.wants_undefined and all(gradient is None for gradient in gradients):
            results: tuple[Any, ...] = (None,) * len(self.edges)
        else:
            results = self.apply(list(gradients) if self.more_outputs else gradients[0])
        results = self.shown(results)
        return results[0] if len(results) == 1 else results

    def name(self) -> str:
        """The name of the node, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input, the node that made it and which of that node's outputs it is; ``(None, 0)`` if none."""
        return self.shown([(None, 0) if edge is None or edge[0].__class__ is DeadEnd else edge for edge in self.edges])

    def shown(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Those of the values, one per edge, that belong to the entries of ``next_functions``."""
        return tuple([value for index, value in enumerate(values) if index not in self.hidden])

    def for_edges(self, shown: Sequence[Any]) -> tuple[Any, ...]:
        """The values of ``shown``, one for each edge again: None for those that hooks do not see."""
        rest = iter(shown)
        return tuple([None if index in self.hidden else next(rest) for index in range(len(self.edges))])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for anything that a program attaches to the node."""
        return self.attachments().metadata

    @property
    def requires_grad(self) -> bool:
        """Always true: what needs no gradient is not recorded."""
        return True

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run.

        ``grad_inputs`` has one gradient per entry of ``next_functions``, of the shape and dtype of that input, None
        where there is none; ``grad_outputs`` one per output.  What the hook returns, unless None, is a tuple that
        replaces ``grad_inputs``.  The hook must not change what it is given.

        Raises:
            RuntimeError: in backward, if a gradient returned differs in number, shape or dtype, or one that is None
                is given a value.
            TypeError: in backward, if what is returned is not a tuple of tensors and None.
        """
        return add_hook(self.attachments().post_hooks, hook)

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs, after the hooks of the tensors that are its outputs.

        What it returns, unless None, is a tuple that replaces ``grad_outputs``; the same errors as in
        :meth:`register_hook`.
        """
        return add_hook(self.attachments().pre_hooks, hook)

    def _sequence_nr(self) -> int:
        """The node's number in the order of recording: backward runs the highest numbers first."""
        return self.sequence

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """Shape, dtype and device of the gradient of each output."""
        return tuple([InputMetadata(size_of(own.shape), own.type.dtype, own.type.device) for own in self.outputs])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<{type(self).__name__} at {id(self):#x}>")

    _repr_mimebundle_ = picture_of_node


class DeadEnd(Node):
    """The end of the gradient of a view that was made without recording: operations on the view are recorded."""

    __slots__ = ()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        return ()


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the ``grad`` of a leaf, which it holds and which holds it weakly.

    It goes with the graphs that lead to it, so that most passes need a new one: ``leaf_edge`` makes it.
    """

    __slots__ = ("__weakref__", "variable")

    edges = ()
    more_outputs = ()  # no further ones; but unlike None it keeps the engine from storing and passing on
    wants_undefined = True  # for the hooks

    variable: Any

    def name(self) -> str:
        """PyTorch's name of this node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        leaf = self.variable
        return (InputMetadata(size_of(leaf._layout.shape), leaf.dtype, leaf.device),)

    def _sequence_nr(self) -> int:
        """The highest there is: it runs as soon as its gradient is complete."""
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
    """The TensorType that the gradients of a leaf are converted to, None if any will do."""
    return getattr(leaf, "_grad_type", leaf._layout.type)


#: Not empty once a leaf has been given another type for its gradients: else none need be asked.
types_given: list[None] = []


def give_gradient_type(leaf: Any, type: Any) -> None:
    """Have the gradients of a leaf converted to this TensorType, or (None) to none."""
    leaf._grad_type = type
    types_given[:] = [None]
    node = leaf._accumulator and leaf._accumulator()
    if node is not None:
        node.layout = _gradient_layout(leaf)


def _gradient_layout(leaf: Any) -> Layout:
    """The leaf's layout, with the type that its gradients are converted to."""
    layout = leaf._layout
    if not types_given:
        return layout
    type = gradient_type(leaf)
    return layout if type is layout.type else layout_of(type, layout.shape)


#: The value of ``_requires_grad`` in a view that had no gradient to pass on when it was made: its base may be
#: given one later, so its edge is to be asked for.
MAYBE = 2


def edge_of(tensor: Any) -> Edge:
    """Where the gradient of ``tensor`` goes: to the node that made it, to its AccumulateGrad, or nowhere."""
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
    """The AccumulateGrad of a leaf, made if there is none."""
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
