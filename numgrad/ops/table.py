"""The op table: what an operation is, and how one is recorded.

Everything about an operation stands in one place.  A function, decorated, computes it; rules decorated with
``.gradient("input")`` say how the gradient of one input comes from that of the output.  From these the table
makes the public function, the method, the node class and, for pointwise operations, the kernels.

A rule's parameter names say what the node keeps for it: ``grad`` is the gradient of the output, an input's name
the input, ``out`` the output (or an output's name, if there are several), another parameter's name its value,
``input_shape`` an input's shape alone and, where the operation is planned, ``input_layout`` its layout.  Rules call
operations of this table, so a second derivative is recorded like any other computation.  An input has a rule or is
declared non-differentiable.  That of a pointwise operation may return the number 0 where the operation is constant in
the input: then the gradient is 0 for an infinite ``grad``, too, of which ``grad * 0`` would make NaN.  No rule undoes
broadcasting: the engine does, once for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import devices
from .._tensor import Tensor
from ..autograd.grad_mode import GRAD, TRANSFORMED, state
from ..autograd.node import MAYBE, Node, edge_of
from ..autograd.origins import UNRECORDED
from ..autograd.saved import keep
from ..autograd.views import SEVERAL, View
from .arguments import check_arguments, checked, wrong_kind
from .nodes import OpNode, show_saved
from .transforms import GeneralCall, transformed

__all__ = [
    "Op", "Operation", "Rule", "attach", "check_tensors", "nth_view", "operation", "ops", "parameters", "public",
    "public_functions",
]

#: Every operation by its key (its function's name).
ops: dict[str, Op] = {}

#: What ``numgrad`` exports: functions by public name.
public_functions: dict[str, Callable[..., Any]] = {}

Rule = Callable[..., Any]


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Op:
    """An entry of the table.

    Attributes:
        name: the key; the public name, too, unless the entry serves another function.
        inputs: the parameters that are tensors, in order.
        rules: the gradient rule of each differentiable input.
        node_class: the class of the nodes that record it, which inherits from ``node_base``.
        conditions: inputs that are read as they are.
        joint: whether one rule returns the gradients for all inputs.
        extras: the names of results, after the others, that have no gradient.
        graded: how many of the results may have one; None for all.
    """

    node_base: type[OpNode]
    conditions: frozenset[str] = frozenset()
    joint = False
    extras: tuple[str, ...] = ()
    graded: int | None = None

    def __init__(self, function: Callable[..., Any], node: str, inputs: Sequence[str], fixed: Sequence[str]):
        self.name = function.__name__
        self.function = function
        self.parameters = parameters(function)
        self.inputs = tuple(inputs)
        self.nondifferentiable = frozenset(fixed)
        self.rules: dict[str, Rule] = {}
        self.node_class: type[Node] = self.make_node_class(node)
        if self.name in ops:
            raise ValueError(f"the table has an op '{self.name}' already")
        ops[self.name] = self

    def saveable(self) -> set[str]:
        """The names of all that nodes may save, depending on which gradients are needed."""
        return {name for rule in self.rules.values() for name in parameters(rule)} - {"grad"}

    def make_node_class(self, name: str, *numbers: str) -> type[Node]:
        """A class of this op's nodes, which do not show the conditions, nor the operands ``numbers``."""
        hidden = frozenset([n for n, i in enumerate(self.inputs) if i in self.conditions or i in numbers])
        names = {"op": self, "hidden": hidden, "__slots__": (), "__module__": "numgrad.autograd"}
        made = type(name, (self.node_base,), names)
        show_saved(made, self.saveable())
        return made

    def node_classes(self) -> Sequence[type[Node]]:
        """All classes of this op's nodes."""
        return [self.node_class]

    def gradient(self, *names: str) -> Callable[[Rule], Rule]:
        """Decorate the rule for the gradient of the inputs ``names``."""

        def register(rule: Rule) -> Rule:
            for name in names:
                if name not in self.inputs or name in self.nondifferentiable:
                    raise ValueError(f"{self.name} has no differentiable input '{name}'")
                self.rules[name] = rule
            for node_class in self.node_classes():
                show_saved(node_class, self.saveable())
            return rule

        return register


def attach(name: str, function: Any) -> None:
    """Make ``function`` (or a property) an attribute of Tensor."""
    if hasattr(function, "unchecked"):
        function = checked(function.unchecked, name, method=True)
    setattr(Tensor, name, getattr(function, "method", function))


def public(
    function: Callable[..., Any], *, name: str | None = None, method: bool = True, checks: bool = False
) -> Callable[..., Any]:
    """Export ``function`` as ``numgrad.<name>`` and, unless told otherwise, as a method of Tensor.

    A method is given a tensor, but a function may be given anything, and ``out``, too: unless it ``checks`` that
    itself, as pointwise operations do, it is wrapped.
    """
    name = name or function.__name__
    wrapped = method and not checks and not hasattr(function, "op")
    if wrapped:
        public_functions[name] = _as_function(function, name)
    else:
        public_functions[name] = checked(function.unchecked, name) if hasattr(function, "unchecked") else function
    if method:
        attach(name, function)
    return function


def _as_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function = getattr(function, "unchecked", function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if args and not isinstance(args[0], Tensor):
            check_arguments(function, name, args, kwargs)
        try:
            result = function(*args, **kwargs)
        except Exception:
            check_arguments(function, name, args, kwargs)
            raise
        return result if out is None else _write_out(name, out, result)

    return call


def _write_out(name: str, out: Any, result: Any) -> Any:
    from .outputs import write_out  # which is made of operations

    return write_out(name, out, result)


def check_tensors(name: str, /, **arguments: Any) -> None:
    """Raise unless all arguments of the function ``name``, given by the names of their parameters, are tensors.

    Raises:
        TypeError: one is not.
    """
    for parameter, value in arguments.items():
        if not isinstance(value, Tensor):
            raise wrong_kind(name, parameter, None, Tensor, value)


class _GeneralNode(OpNode):
    """The node of an operation whose rules call other operations."""

    __slots__ = ("names",)

    op: Operation

    def output_number(self, name: str) -> int | None:
        return self.op.outputs.index(name) if name in self.op.outputs else None

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        op = self.op
        values = self.unpack()
        values["grad"] = gradient
        if op.sequence:
            (rule, names), = op.rules_with_names
            return tuple(rule(*[values[name] for name in names]))
        if op.place is not None:
            (rule, names), = op.rules_with_names
            return (rule(*[values[name] for name in names]),)
        results: list[Any] = []
        for edge, (rule, names) in zip(self.edges, op.rules_with_names):  # noqa: B905 - of one length; strict= costs time
            results.append(None if edge is None else rule(*[values[name] for name in names]))
        return tuple(results)


#: Where what is saved comes from: an argument, the shape of one, an output.
_ARGUMENT, _SHAPE, _OUTPUT = range(3)


#: Which gradients are needed where there is one input.
_ONE = (True,)


class Operation(Op):
    """An operation computed by a Python function that calls the device."""

    node_base: type[OpNode] = _GeneralNode

    def __init__(
        self,
        function: Callable[..., Any],
        node: str,
        inputs: Sequence[str],
        fixed: Sequence[str],
        outputs: Sequence[str],
        view: bool,
        sequence: bool,
        linear: bool,
        dims: Sequence[str] | None,
        shapes: Sequence[str],
    ):
        self.outputs = tuple(outputs)
        self.view = view
        self.linear = linear
        self.dims = None if dims is None and not shapes else tuple(dims or ())
        self.shapes = tuple(shapes)
        self.hides_tangents = False  # the view has a tangent of its own, or none
        self.sequence = sequence  # the one input is a tuple of tensors
        super().__init__(function, node, inputs, fixed)
        self.sources: dict[tuple[bool, ...], tuple[tuple[str, ...], list[tuple[int, int]]]] = {}
        #: The inputs that have an edge, and their places among the arguments.
        self.differentiable = tuple([name for name in self.inputs if name not in self.nondifferentiable])
        self.positions = [self.parameters.index(name) for name in self.differentiable]
        #: The place of the one differentiable input, None if there are several.
        self.place = self.positions[0] if len(self.positions) == 1 and not sequence else None

    @functools.cached_property
    def rules_with_names(self) -> list[tuple[Rule, tuple[str, ...]]]:
        """The rule of each input that has an edge, with the names that it uses."""
        return [(self.rules[name], parameters(self.rules[name])) for name in self.differentiable]

    def __call__(self, *args: Any) -> Any:
        mode = state.mode
        if mode & TRANSFORMED:
            return transformed(GeneralCall(self, args))
        edges: tuple[Any, ...] = ()
        if mode & GRAD:
            if self.place is None:
                edges = self._edges(args)
            else:
                tensor = args[self.place]
                if tensor is not None and tensor._requires_grad:
                    edge = tensor._edge
                    if edge is None or tensor._view is not None:
                        edge = edge_of(tensor)
                    if edge is not None:
                        edges = (edge,)
        try:
            if edges and not self.view:  # views are made without calling other operations
                state.mode = mode & ~GRAD
                try:
                    out = self.function(*args)
                finally:
                    state.mode = mode
            else:
                out = self.function(*args)
        except MemoryError as error:
            raise devices.from_numpy(error) from None
        if self.view:
            self._connect_views(args, out)
        if edges:
            if isinstance(out, tuple):
                self._record_several(edges, args, out)
            else:
                self._record(edges, args, out)
        elif not mode & GRAD:
            if out.__class__ is Tensor:
                out._origin = UNRECORDED
            elif out.__class__ is tuple:
                for one in out:
                    one._origin = UNRECORDED
        return out

    def _edges(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The edges of the differentiable inputs; none at all if no input needs a gradient."""
        tensors = args[0] if self.sequence else [args[place] for place in self.positions]
        for tensor in tensors:
            if tensor is not None and tensor._requires_grad:
                edges = tuple([None if tensor is None else edge_of(tensor) for tensor in tensors])
                return edges if any(edges) else ()
        return ()

    def _connect_views(self, args: tuple[Any, ...], out: Any) -> None:
        base = args[0]
        if not isinstance(out, tuple):
            out._counter = base._counter
            out._view = View(base, (self, args[1:]))
            out._requires_grad = MAYBE
            return
        for number, output in enumerate(out):
            output._counter = base._counter
            output._view = View(base, (nth_view, (self, args[1:], number)), SEVERAL)
            output._requires_grad = MAYBE

    def _record(self, edges: tuple[Any, ...], args: tuple[Any, ...], out: Tensor) -> None:
        """Make a node the origin of the one output."""
        if not out._layout.type.dtype.differentiable:
            return
        node = self.node_class(edges, out._layout)
        out._edge = (node, 0)
        out._requires_grad = True
        self._save(node, args, (out,))

    def _record_several(self, edges: tuple[Any, ...], args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Make a node the origin of the outputs that have derivatives."""
        differentiable = tuple([o for o in outputs if o._layout.type.dtype.differentiable])
        if not differentiable:
            return
        node = self.node_class(edges, differentiable[0]._layout)
        if len(differentiable) > 1:
            node.more_outputs = tuple([output._layout for output in differentiable[1:]])
        for number, output in enumerate(differentiable):
            output._edge = (node, number)
            output._requires_grad = True
        self._save(node, args, outputs)

    def _save(self, node: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Keep what the rules of the inputs that need a gradient ask for."""
        needed = _ONE if self.sequence or self.place is not None else tuple([edge is not None for edge in node.edges])
        sources = self.sources.get(needed)
        if sources is None:
            sources = self.sources[needed] = self._find_sources(needed)
        if not sources[0]:
            node.names = node.saved = node.versions = ()
            return
        saved, versions = [], []
        for place, kind in sources[1]:
            version = None
            if kind == _SHAPE:
                value = args[place]._layout.shape
            elif kind == _OUTPUT:
                value, version = keep(outputs[place], place)
            else:
                value = args[place]
                if isinstance(value, Tensor):
                    value, version = keep(value)
            saved.append(value)
            versions.append(version)
        node.names, node.saved, node.versions = sources[0], tuple(saved), tuple(versions)

    def _find_sources(self, needed: tuple[bool, ...]) -> tuple[tuple[str, ...], list[tuple[int, int]]]:
        """The names that the rules of the needed inputs use, and where their values come from."""
        found: dict[str, tuple[int, int]] = {}
        for name, wanted in zip(self.differentiable, needed, strict=True):
            for parameter in parameters(self.rules[name]) if wanted else ():
                if parameter in self.outputs:
                    found[parameter] = (self.outputs.index(parameter), _OUTPUT)
                elif parameter in self.parameters:
                    found[parameter] = (self.parameters.index(parameter), _ARGUMENT)
                elif parameter.removesuffix("_shape") not in self.parameters and parameter != "grad":
                    raise TypeError(f"{self.name} has nothing called '{parameter}', which its rule for {name} asks for")
                elif parameter != "grad":
                    found[parameter] = (self.parameters.index(parameter.removesuffix("_shape")), _SHAPE)
        return tuple(found), list(found.values())


def nth_view(tensor: Tensor, op: Operation, arguments: tuple[Any, ...], number: int) -> Tensor:
    """One of the views that an operation makes at once."""
    return op(tensor, *arguments)[number]


def operation(
    node: str,
    *,
    inputs: Sequence[str] = ("input",),
    nondifferentiable: Sequence[str] = (),
    outputs: Sequence[str] = ("out",),
    view: bool = False,
    sequence: bool = False,
    linear: bool = False,
    dims: Sequence[str] | None = None,
    shapes: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Operation]:
    """Decorate the function that computes an operation, given and returning tensors.

    Args:
        node: name of the node class.
        inputs: parameters that are tensors (or None).
        nondifferentiable: those of them that have no gradient.
        outputs: names of the outputs, where there are several.
        view: whether the outputs share the input's memory.
        sequence: whether the one input is a tuple of tensors; its rule returns a list.
        linear: whether it is linear in each differentiable input, the others being fixed (a sequence: in all together).
        dims: parameters that are dimensions, counted from the front, or tuples of them; see ``shapes``.
        shapes: parameters that are shapes.  An operation for which either is given does the same, with these shifted
            by one and with one more size in front, for inputs with a further dimension in front, one by one.

    The result is called with positional arguments only.
    """

    def decorate(function: Callable[..., Any]) -> Operation:
        return Operation(
            function, node, inputs, nondifferentiable, outputs, view, sequence, linear, dims, shapes
        )

    return decorate
