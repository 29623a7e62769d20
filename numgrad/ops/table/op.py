"""The op table: definition of operations and their registration.

Everything about an operation is in one file.  A decorated function computes it; rules decorated with
``.gradient("input")`` compute the gradient of one input from that of the output.  From these the table makes the public
function, the method, the node class and, for pointwise operations, the kernels.

The parameter names of a rule determine the values that the node keeps for it: ``grad`` is the gradient of the output,
an input's name the input, ``out`` the output (or an output's name, if there are several), another parameter's name its
value, ``input_shape`` an input's shape alone and, for a planned operation, ``input_layout`` its layout.  A joint rule
may take ``needed``, the flags of the needed gradients.  Rules call operations of this table, so a second derivative is
recorded like any other computation.  Every input has a rule or is declared to be non-differentiable, or to have the
output's gradient (``passed``) or 0 (``constant``).  The rule of a pointwise operation may return the number 0 if the
operation is constant in the input.  Then the gradient is 0 for an infinite ``grad``, too, for which ``grad * 0`` would
be NaN.  No rule undoes broadcasting: the engine does, once for all.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Sequence
from inspect import signature
from types import FunctionType
from typing import Any, Self

from ...autograd.node import Node
from ...devices.host_functions import HostFunction
from ...tensors.tensor import Tensor
from .arguments import check_arguments, checked, without_numpy_names, wrong_kind
from .checks import check_value
from .entries import forget_calls
from .out import write_out
from .public_signatures import linked, of_function, with_out
from .recording import OpNode, node_class, show_saved

#: Every operation by its key (its function's name).
ops: dict[str, Op] = {}

#: Functions that ``numgrad`` exports, by public name.
public_functions: dict[str, Callable[..., Any]] = {}

#: Public functions that are made of operations, by name.
composites: dict[str, Callable[..., Any]] = {}

Rule = Callable[..., Any]


#: Suffixes in the names of several entries that serve one public function.
OVERLOAD_SUFFIXES = ("all", "dim", "dims", "number", "tensor", "complex")


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters, without the plan ``p`` that a function may build.

    A function with a variable number of arguments may define the names in its attribute ``parameters``.
    """
    named = getattr(function, "parameters", None)
    if named is not None:
        return named
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[1:] if builds_plan(function) else names


def builds_plan(decide: Callable[..., Any]) -> bool:
    """Return True if a function that decides how a call is computed adds to a plan ``p``, its first parameter."""
    return decide.__code__.co_varnames[:1] == ("p",)


def _passed(grad: Any) -> Any:
    return grad


def _zero(grad: Any) -> int:
    return 0


def _refusing(operation: str, name: str) -> Rule:
    def refuse(grad: Any) -> Any:
        """``not_implemented``: raise the error of a derivative that is not known."""
        raise NotImplementedError(f"the derivative for '{operation}: {name}' is not implemented.")

    return refuse


class Op:
    """An entry of the table.

    Attributes:
        name: the key; also the public name, unless the entry serves another function.
        aten: PyTorch's name of the operation, if it is not the name that users call.
        inputs: the parameters that are tensors, in order.
        rules: the gradient rule of each differentiable input.
        underived: differentiable inputs whose derivative is not known, so that their rules raise an error.
        node: the name of its nodes, and the operands that are numbers in them.
        node_class: the class of the nodes that record it, which inherits from ``node_base``.
        conditions: inputs that are not converted to the dtype of the computation.
        joint: True if one rule returns the gradients for all inputs.
        extras: the names of results, after the others, that have no gradient.
        graded: the number of results that may have a gradient; None for all.
        adder: the function that adds the gradient of the first input to a tensor: see ``accumulation``.
        passage: an operation, and the function that passes the gradient of the first input on: see ``passed_through``.
        reshapes: True if the result is the input in another shape, and the rule passes on gradients that are deferred.
        host: the host function that computes it on the CPU, for any device, if there is no kernel.
        baked_numbers: numbers that may be written into a kernel.
    """

    node_base: type[OpNode]
    conditions: frozenset[str] = frozenset()
    joint = False
    extras: tuple[str, ...] = ()
    graded: int | None = None
    host: HostFunction | None = None
    adder: Rule | None = None
    passage: tuple[Op, Rule] | None = None
    reshapes = False
    baked_numbers: frozenset[Any] = frozenset()

    def __init__(
        self, function: Callable[..., Any], node: str, inputs: Sequence[str], fixed: Sequence[str], aten: str = "",
        passed: Sequence[str] = (), constant: Sequence[str] = (), underived: Sequence[str] = (),
    ):
        self.name = function.__name__
        self.aten = aten
        self.function = function
        self.parameters = parameters(function)
        self.inputs = tuple(inputs)
        self.nondifferentiable = frozenset(fixed)
        self.rules: dict[str, Rule] = {**dict.fromkeys(passed, _passed), **dict.fromkeys(constant, _zero)}
        self.underived = frozenset(underived)
        self.rules |= {name: _refusing(self.name.removesuffix("_op"), name) for name in underived}
        self.node: tuple[str, ...] = (node,)

    @functools.cached_property
    def node_class(self) -> type[Node]:
        """Class of the operation's nodes, made on first use, as most programs record few of all operations."""
        return self.make_node_class(*self.node)

    def recorded_by(self, node: str, *numbers: str) -> Self:
        """Return a copy whose nodes have the name ``node``, with numbers for the operands ``numbers``."""
        other = copy.copy(self)
        for name in [*vars(other)]:
            if isinstance(getattr(type(other), name, None), functools.cached_property):
                delattr(other, name)  # it belongs to the original
        other.node = node, *numbers
        return other

    @functools.cached_property
    def listed(self) -> tuple[str, ...]:
        """The names by which autocast's lists may contain the operation."""
        return public_name(self.name), self.name, self.aten, self.node[0].partition("Backward")[0]

    @functools.cached_property
    def has_gradient(self) -> bool:
        """True if any input may have a gradient."""
        return not self.nondifferentiable.issuperset(self.inputs)

    def rule(self, name: str) -> Rule:
        """Return the gradient rule of an input.

        Raises:
            RuntimeError: if a user-defined operation has none.
        """
        if name not in self.rules:
            raise RuntimeError(
                f"{self.name} has no rule for the gradient of '{name}': decorate one with @{self.name}.gradient("
                f"'{name}'), or declare nondifferentiable=['{name}']"
            )
        return self.rules[name]

    def saveable(self) -> set[str]:
        """Return the names of all values that nodes may save, depending on the needed gradients."""
        return {name for rule in self.rules.values() for name in parameters(rule)} - {"grad", "needed"}

    def accumulation(self, rule: Rule) -> Rule:
        """Decorate the function that adds the nonzero part of the first input's gradient to ``total``.

        It takes ``total`` and the arguments of that input's rule, and returns whether it has added the gradient.
        """
        self.adder = rule
        return rule

    def passed_through(self, other: Op) -> Callable[[Rule], Rule]:
        """Decorate the function that returns the gradient of the input of ``other``, whose result is the first input.

        The first input may also be that result in another shape.  The function takes the rule of the first input, the
        list of its arguments, and those of the rule of ``other`` besides the gradient.  It is called for gradients that
        are not recorded.
        """

        def register(rule: Rule) -> Rule:
            self.passage = other, rule
            return rule

        return register

    def make_node_class(self, name: str, *numbers: str) -> type[Node]:
        """Return a class of this op's nodes, which do not show the conditions, nor the operands ``numbers``."""
        hidden = frozenset([n for n, i in enumerate(self.inputs) if i in self.conditions or i in numbers])
        is_sparse = self.adder is not None or self.passage is not None
        result = node_class(name, self.node_base, op=self, hidden=hidden, is_sparse=is_sparse)
        show_saved(result, self.saveable())
        return result

    def node_classes(self) -> Sequence[type[Node]]:
        """Return all classes of this op's nodes."""
        return [self.node_class]

    def forget(self) -> None:
        """Forget the entries of calls and their backward plans, because a rule has been replaced."""
        forget_calls()

    def gradient(self, *names: str) -> Callable[[Rule], Rule]:
        """Decorate the rule for the gradient of the inputs ``names``."""

        def register(rule: Rule) -> Rule:
            for name in names:
                if name not in self.inputs or name in self.nondifferentiable:
                    raise ValueError(f"{self.name} has no differentiable input '{name}'")
                if name in self.rules:
                    self.forget()
                if name == self.inputs[0]:
                    self.adder = None  # it belongs to the replaced rule
                self.rules[name] = rule
            if "node_class" in vars(self):
                for each in self.node_classes():
                    show_saved(each, self.saveable())
            return rule

        return register


def public_name(name: str) -> str:
    """Return the public name of the function that the operation ``name`` serves."""
    name = name.removesuffix("_op")
    start, _, suffix = name.rpartition("_")
    return start if suffix in OVERLOAD_SUFFIXES and start in public_functions and name not in public_functions else name


def enter(op: Op) -> None:
    """Enter an operation into the table.

    Raises:
        ValueError: if there is one of its name.
    """
    check_value(op.name not in ops, "the table has an op '{}' already", op.name)
    ops[op.name] = op


def attach(name: str, function: Any) -> None:
    """Make ``function`` (or a property) an attribute of Tensor."""
    setattr(Tensor, name, getattr(function, "method", function))


def export(name: str, call: Callable[..., Any], function: bool = True, method: bool = True) -> None:
    """Export a function as ``numgrad.<name>`` and as a method of Tensor, unless excluded."""
    if function:
        public_functions[name] = call
    if method:
        attach(name, call)


def make_importable() -> None:
    """Give functions and methods that no module has by their own names those by which users import them.

    ``pickle`` stores functions by these names.  A function with several names keeps its own, if it is one of these.
    """
    present = [("", *each) for each in public_functions.items()]
    present += [("Tensor.", *each) for each in vars(Tensor).items() if isinstance(each[1], FunctionType)]
    named = set()
    for prefix, name, function in sorted(present, key=lambda each: each[1] != each[2].__name__):
        if isinstance(function, FunctionType) and function not in named:
            named.add(function)
            if getattr(sys.modules.get(function.__module__), function.__qualname__, None) is not function:
                function.__module__, function.__qualname__ = "numgrad", prefix + name


def with_options(decorate: Callable[..., Any]) -> Callable[..., Any]:
    """Allow a decorator to be used with and without options: ``@public(direct=True)`` and ``@public``."""

    @functools.wraps(decorate)
    def call(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        return functools.partial(decorate, **options) if function is None else decorate(function, **options)

    return call


@with_options
def public(
    call: Callable[..., Any], /, *, export: bool = True, function: bool = True, method: bool = True,
    names: Sequence[str] = (), in_place: bool = False, direct: bool = False, takes_out: bool = False,
    exact_out: bool = False,
) -> Any:
    """Decorate a public function that no declaration of an operation provides: export it under its own name.

    If a call fails and an argument is of an undeclared type, the error says so.

    Args:
        export: if False, export nothing; ``nn.functional`` may export the function in any case.
        function: if True, export the function from ``numgrad``; a function that is a method, too, takes ``out``.
        method: if True, attach a method to Tensor.
        names: other public names.
        in_place: if True, also define a method that overwrites the tensor, whose name ends with an underscore; the
            function overwrites the tensor if its parameter ``inplace``, which is hidden from users, is True.
        direct: if True, add no wrapper, as the function is called often; it then checks its arguments itself.
        takes_out: if True, the function takes ``out`` although it is no method, and so does what is returned.
        exact_out: if True, ``out`` must have the dtype of the result.
    """
    if in_place:
        change: Any = in_place_form(call)
        call.__signature__ = change.__signature__  # type: ignore[attr-defined]
        public(change, function=False, direct=direct)
    for name in (call.__name__, *names) if export else ():
        if function:
            plain = call if direct else _checked(call, name)
            public_functions[name] = _with_out(call, name, exact_out) if method or takes_out else plain
        if method:
            attach(name, call if direct else _checked(call, name, method=True))
    if takes_out:
        return _with_out(call, call.__name__, exact_out)
    return call if direct else checked(call)


def in_place_form(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``function`` with ``inplace=True`` and hides this parameter."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        return function(input, *args, **kwargs, inplace=True)

    declared = signature(function)
    parameters = [parameter for parameter in declared.parameters.values() if parameter.name != "inplace"]
    call.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
    return named_in_place(call, function.__name__)


@with_options
def composite(call: Callable[..., Any], /, **options: Any) -> Any:
    """Decorate a public function that is composed of operations of the table and list it with them; see ``public``."""
    composites[call.__name__] = exported = public(call, **options)
    return exported


def _checked(function: Callable[..., Any], name: str, *, method: bool = False) -> Callable[..., Any]:
    return linked(checked(function, name, method=method), function, of_function)


def _with_out(function: Callable[..., Any], name: str, exact: bool) -> Callable[..., Any]:
    """Return the function with checks of its arguments, and with ``out``."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if args and not isinstance(args[0], Tensor):
            check_arguments(function, name, args, kwargs)
        try:
            result = function(*args, **kwargs) if kwargs else function(*args)
        except Exception:
            renamed = without_numpy_names(function, name, kwargs)
            if renamed is not kwargs:
                return call(*args, **renamed, out=out)
            check_arguments(function, name, args, kwargs)
            raise
        return result if out is None else write_out(name, out, result, exact)

    return linked(call, function, lambda signature_of_call: with_out(of_function(signature_of_call)))


def named(call: Any, name: str, doc: str | None) -> Any:
    """Set the name and the docstring of a function that another function made."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def named_in_place(call: Any, name: str) -> Any:
    """Set the name and the docstring of the in-place form of the function ``name``."""
    return named(call, f"{name}_", f"Compute ``{name}`` in place: overwrite the tensor and return it.")


def check_tensors(name: str, /, **arguments: Any) -> None:
    """Raise unless all arguments of the function ``name``, passed by the names of their parameters, are tensors.

    Raises:
        TypeError: if one is not.
    """
    for parameter, value in arguments.items():
        if not isinstance(value, Tensor):
            raise wrong_kind(name, parameter, None, Tensor, value)
