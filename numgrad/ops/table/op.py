"""The op table: what an operation is, and how one is recorded.

Everything about an operation is in one file.  A function, decorated, computes it; rules decorated with
``.gradient("input")`` say how the gradient of one input comes from that of the output.  From these the table
makes the public function, the method, the node class and, for pointwise operations, the kernels.

A rule's parameter names say what the node keeps for it: ``grad`` is the gradient of the output, an input's name
the input, ``out`` the output (or an output's name, if there are several), another parameter's name its value,
``input_shape`` an input's shape alone and, where the operation is planned, ``input_layout`` its layout.  A joint rule
may ask which gradients are ``needed``.  Rules call operations of this table, so a second derivative is recorded like
any other computation.  An input has a rule or is declared non-differentiable, or to have the output's gradient
(``passed``) or 0 (``constant``).  The rule of a pointwise operation may return the number 0 where it is constant in the
input: then the gradient is 0 for an infinite ``grad``, too, of which ``grad * 0`` would make NaN.  No rule undoes
broadcasting: the engine does, once for all.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Self

from ...autograd.node import Node
from ...core.tensor import Tensor
from ...devices.host_functions import HostFunction
from .arguments import check_arguments, checked, wrong_kind
from .entries import forget_calls
from .out import write_out
from .recording import OpNode, node_class, show_saved

#: Every operation by its key (its function's name).
ops: dict[str, Op] = {}

#: What ``numgrad`` exports: functions by public name.
public_functions: dict[str, Callable[..., Any]] = {}

#: Public functions that are made of operations, by name.
composites: dict[str, Callable[..., Any]] = {}

Rule = Callable[..., Any]


#: How the names end of several entries that serve one public function.
OVERLOAD_SUFFIXES = ("all", "dim", "dims", "number", "tensor", "complex")


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, without the plan ``p`` that a function may build.

    A function that takes any number of them may name its ``parameters`` itself.
    """
    named = getattr(function, "parameters", None)
    if named is not None:
        return named
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names[1:] if builds_plan(function) else names


def builds_plan(decide: Callable[..., Any]) -> bool:
    """Return whether a function that decides what a call comes to adds to a plan ``p``, its first parameter."""
    return decide.__code__.co_varnames[:1] == ("p",)


def _passed(grad: Any) -> Any:
    return grad


def _zero(grad: Any) -> int:
    return 0


class Op:
    """An entry of the table.

    Attributes:
        name: the key; the public name, too, unless the entry serves another function.
        aten: PyTorch's name of the operation, where that is not what users call.
        inputs: the parameters that are tensors, in order.
        rules: the gradient rule of each differentiable input.
        node: the name of its nodes, and the operands that are numbers in them.
        node_class: the class of the nodes that record it, which inherits from ``node_base``.
        conditions: inputs that are read as they are.
        joint: whether one rule returns the gradients for all inputs.
        extras: the names of results, after the others, that have no gradient.
        graded: how many of the results may have one; None for all.
        adder: what adds the gradient of the first input to a tensor: see ``accumulation``.
        host: the library's function that computes it on the CPU, on any device, where there is no kernel.
    """

    node_base: type[OpNode]
    conditions: frozenset[str] = frozenset()
    joint = False
    extras: tuple[str, ...] = ()
    graded: int | None = None
    host: HostFunction | None = None
    adder: Rule | None = None

    def __init__(
        self, function: Callable[..., Any], node: str, inputs: Sequence[str], fixed: Sequence[str], aten: str = "",
        passed: Sequence[str] = (), constant: Sequence[str] = (),
    ):
        self.name = function.__name__
        self.aten = aten
        self.function = function
        self.parameters = parameters(function)
        self.inputs = tuple(inputs)
        self.nondifferentiable = frozenset(fixed)
        self.rules: dict[str, Rule] = {**dict.fromkeys(passed, _passed), **dict.fromkeys(constant, _zero)}
        self.node: tuple[str, ...] = (node,)

    @functools.cached_property
    def node_class(self) -> type[Node]:
        """Made when it is first asked for: most programs record few of all operations."""
        return self.make_node_class(*self.node)

    def recorded_by(self, node: str, *numbers: str) -> Self:
        """A copy, which nodes of another name record; its operands ``numbers`` are such."""
        other = copy.copy(self)
        other.node = node, *numbers
        vars(other).pop("node_class", None)
        return other

    @property
    def has_gradient(self) -> bool:
        """Whether any of its inputs may have a gradient."""
        return not self.nondifferentiable.issuperset(self.inputs)

    def rule(self, name: str) -> Rule:
        """The gradient rule of an input.

        Raises:
            RuntimeError: there is none, in an operation of a user's.
        """
        if name not in self.rules:
            raise RuntimeError(
                f"{self.name} has no rule for the gradient of '{name}': decorate one with @{self.name}.gradient("
                f"'{name}'), or declare nondifferentiable=['{name}']"
            )
        return self.rules[name]

    def saveable(self) -> set[str]:
        """The names of all that nodes may save, depending on which gradients are needed."""
        return {name for rule in self.rules.values() for name in parameters(rule)} - {"grad", "needed"}

    def accumulation(self, rule: Rule) -> Rule:
        """Decorate what adds the gradient of the first input to ``total``, where it is no zero.

        It takes ``total`` and the arguments of that input's rule, and returns whether it did.
        """
        self.adder = rule
        return rule

    def make_node_class(self, name: str, *numbers: str) -> type[Node]:
        """A class of this op's nodes, which do not show the conditions, nor the operands ``numbers``."""
        hidden = frozenset([n for n, i in enumerate(self.inputs) if i in self.conditions or i in numbers])
        made = node_class(name, self.node_base, op=self, hidden=hidden, adds=self.adder is not None)
        show_saved(made, self.saveable())
        return made

    def node_classes(self) -> Sequence[type[Node]]:
        """All classes of this op's nodes."""
        return [self.node_class]

    def forget(self) -> None:
        """Forget what calls came to, and how they are recorded: a rule is another now."""
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
                    self.adder = None  # that of another rule
                self.rules[name] = rule
            if "node_class" in vars(self):
                for each in self.node_classes():
                    show_saved(each, self.saveable())
            return rule

        return register


def public_name(name: str) -> str:
    """The name by which users call what the operation ``name`` serves."""
    name = name.removesuffix("_op")
    start, _, suffix = name.rpartition("_")
    return start if suffix in OVERLOAD_SUFFIXES and start in public_functions and name not in public_functions else name


def enter(op: Op) -> None:
    """Put an operation into the table.

    Raises:
        ValueError: there is one of its name.
    """
    if op.name in ops:
        raise ValueError(f"the table has an op '{op.name}' already")
    ops[op.name] = op


def attach(name: str, function: Any) -> None:
    """Make ``function`` (or a property) an attribute of Tensor."""
    setattr(Tensor, name, getattr(function, "method", function))


def export(name: str, call: Callable[..., Any], function: bool = True, method: bool = True) -> None:
    """Make what users call ``numgrad.<name>``, and a method of Tensor, unless told otherwise."""
    if function:
        public_functions[name] = call
    if method:
        attach(name, call)


def with_options(decorate: Callable[..., Any]) -> Callable[..., Any]:
    """Have a decorator be used with and without options: ``@public(direct=True)`` and ``@public``."""

    @functools.wraps(decorate)
    def call(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        return functools.partial(decorate, **options) if function is None else decorate(function, **options)

    return call


@with_options
def public(
    call: Callable[..., Any], /, *, export: bool = True, function: bool = True, method: bool = True,
    names: Sequence[str] = (), in_place: bool = False, direct: bool = False,
) -> Any:
    """Decorate what users call and no declaration of an operation gives: it is exported under its own name.

    When it fails and an argument is of a type that it does not declare, that is what is said.

    Args:
        export: whether there is any of the next; ``nn.functional`` may have it alone.
        function: whether ``numgrad`` has it; the function of what is a method, too, takes ``out``.
        method: whether Tensor has it.
        names: others that it has.
        in_place: whether there is a method, too, that overwrites the tensor, whose name ends with an underscore: the
            function does so where its parameter ``inplace`` is True, of which users are not told.
        direct: whether it is called as it is, since it is called often; it then sees to its arguments itself.
    """
    if in_place:
        change: Any = in_place_form(call)
        call.__signature__ = change.__signature__  # type: ignore[attr-defined]
        public(change, function=False, direct=direct)
    for name in (call.__name__, *names) if export else ():
        if function:
            public_functions[name] = _with_out(call, name) if method else call if direct else checked(call, name)
        if method:
            attach(name, call if direct else checked(call, name, method=True))
    return call if direct else checked(call)


def in_place_form(function: Callable[..., Any]) -> Callable[..., Any]:
    """What calls a function with ``inplace=True``, which is no argument of its own."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        return function(input, *args, **kwargs, inplace=True)

    own = signature(function)
    given = [parameter for parameter in own.parameters.values() if parameter.name != "inplace"]
    call.__signature__ = own.replace(parameters=given)  # type: ignore[attr-defined]
    return named_in_place(call, function.__name__)


@with_options
def composite(call: Callable[..., Any], /, **how: Any) -> Any:
    """Decorate a public function that is made of operations of the table: it is listed with them; see ``public``."""
    composites[call.__name__] = exported = public(call, **how)
    return exported


def _with_out(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, which may be given anything instead of a tensor, and ``out``."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if args and not isinstance(args[0], Tensor):
            check_arguments(function, name, args, kwargs)
        try:
            result = function(*args, **kwargs) if kwargs else function(*args)
        except Exception:
            check_arguments(function, name, args, kwargs)
            raise
        return result if out is None else write_out(name, out, result)

    return call


def named(call: Any, name: str, doc: str | None) -> Any:
    """Give a function that another one made its name and its docstring."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def named_in_place(call: Any, name: str) -> Any:
    """The same for what the function ``name`` does in place."""
    return named(call, f"{name}_", f"``{name}`` in place: overwrites the tensor and returns it.")


def check_tensors(name: str, /, **arguments: Any) -> None:
    """Raise unless all arguments of the function ``name``, given by the names of their parameters, are tensors.

    Raises:
        TypeError: one is not.
    """
    for parameter, value in arguments.items():
        if not isinstance(value, Tensor):
            raise wrong_kind(name, parameter, None, Tensor, value)
