"""Users' pointwise operations: functions of scalars, with derivatives that are derived or declared."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from ..core.types import dtype
from ..devices import NUMBERS, Formula, FormulaError, PointwiseProgram
from ..ops.table.callables import function_of, in_place
from ..ops.table.checks import check_type, check_value
from ..ops.table.elementwise import Pointwise
from ..ops.table.elementwise_backward import PointwiseNode
from ..ops.table.entries import Entry
from ..ops.table.op import Rule
from ..ops.table.recording import OpNode, RuleBackwardPlan, RuleNode
from . import derived
from .scalars import ScalarInliner
from .shipping import reduced
from .source import Refused, compiled, python_function, read, walk


def vectorize(
    function: Callable[..., Any] | None = None,
    *,
    nondifferentiable: Sequence[str] = (),
    result: str = "same",
    dtypes: str = "bif",
) -> Any:
    """Make a function of scalars a differentiable operation on tensors: one compiled loop, on any device.

    The function is compiled, never called.  It may contain ``if``, loops over ``range`` or tuples, ``while``,
    ``break``, ``continue``, early ``return``, local tuples, and calls of other scalar functions: those made by
    ``numba.njit`` or by this decorator, pointwise functions of numgrad, and functions of ``math`` and NumPy that
    numgrad also has.  It returns a number or several.  Its positional parameters are tensors or numbers, which are
    broadcast and promoted as PyTorch's are; keyword-only ones are numbers.  Global numbers, tuples and functions are
    read at the first call.  If such a value changes later, decorate the function again.

    Derivatives of any order are derived from the function.  One kernel computes all needed gradients.  The derivative
    of an ``if`` is that of the branch that was taken, and of a loop that of the iterations that ran.
    ``name.source("x")`` is the gradient with respect to ``x`` as Python.

    To declare a derivative instead, decorate its rule with ``@name.gradient("x")``, for each operand that needs one.
    The rule is a function of ``grad``, the gradient of the result, and of any operands, ``out`` and keyword-only
    parameters that it needs, by their names.  It is a sequence of assignments and one ``return``, and calls pointwise
    functions of numgrad, since it is called with tensors for second derivatives.  Check rules with
    ``numgrad.autograd.gradcheck`` and ``gradgradcheck``.

    Args:
        function: computes an element.
        nondifferentiable: operands that have no gradient.
        result: "same" to compute in the dtype that the operands promote to, "float" in a floating-point one, "bool" for
            a comparison.
        dtypes: the supported categories of dtype: "b" bool, "i" integers, "f" floating point, "c" complex, for which
            derivatives must be declared.

    Raises:
        TypeError: if a parameter is neither positional without a default nor a keyword-only number, or the function
            contains a statement that is not supported; the message has the line.
        ValueError: if another argument has an unknown value.
        RuntimeError: at the call, if rules are declared and one that is needed is missing, a dtype is not among
            ``dtypes``, or the shapes do not broadcast.
        TypeError: at the call, if the function uses something that has no meaning in a kernel.

    Example:
        >>> import numgrad
        >>> @numgrad.vectorize
        ... def root(a):
        ...     x = a
        ...     while abs(x * x - a) > 1e-12 * a:
        ...         x = 0.5 * (x + a / x)
        ...     return x
        >>> a = numgrad.tensor([4.0, 9.0], dtype=numgrad.float64, requires_grad=True)
        >>> root(a).sum().backward()
        >>> a.grad
        tensor([0.2500, 0.1667], dtype=torch.float64)
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function = python_function(function)
        _check(function, nondifferentiable, result, dtypes)
        return call_of(Vectorized(
            function, lambda: ScalarInliner().formula(function), _results(function),
            nondifferentiable=nondifferentiable, result=result, dtypes=dtypes,
        ))

    return decorate if function is None else decorate(function)


def _check(function: Callable[..., Any], nondifferentiable: Sequence[str], result: str, dtypes: str) -> None:
    name, operands = function.__name__, []
    for parameter in signature(function).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty:
            operands.append(parameter.name)
        elif parameter.kind is not parameter.KEYWORD_ONLY or parameter.default.__class__ not in NUMBERS:
            raise TypeError(
                f"{name}: '{parameter.name}' must be an operand, which is positional and has no default, or a number, "
                "which is keyword-only and has one"
            )
    check_type(operands, "{}: it must have an operand", name)
    for option, names, allowed in (
        ("nondifferentiable", nondifferentiable, operands), ("result", [result], ["same", "float", "bool"]),
        ("dtypes", dtypes, "bifc"),
    ):
        check_value({*names} <= {*allowed}, "{}: {} must be among {}, not {}", name, option, allowed, names)


def _results(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return names for the outputs of a function, from its ``return`` statements."""
    tree = read(function)
    values = [each.value for each in walk(tree.body) if isinstance(each, ast.Return)]
    counts = {len(each.elts) if isinstance(each, ast.Tuple) else 1 for each in values}
    if len(counts) != 1 or 0 in counts or None in values:
        raise Refused("every 'return' must have the same number of values, at least one", tree)
    (count,) = counts
    return ("out",) if count == 1 else tuple([f"out{number}" for number in range(count)])


class Vectorized(Pointwise):
    """A pointwise operation that a formula computes, with several outputs if the formula has several results.

    Args:
        function: Python function whose parameters are the operands and numbers.
        formula: a function that returns the formula, called when it is first needed.
        outputs: the names of the outputs.
        declared: see ``Pointwise``.
    """

    joint = True

    def __init__(
        self, function: Callable[..., Any], formula: Callable[[], Formula], outputs: tuple[str, ...], **declared: Any
    ):
        self._make_formula = formula
        self.outputs = outputs
        name = "".join([part.capitalize() for part in function.__name__.split("_")])
        super().__init__(function, f"{name}Backward0", **declared)
        self._gradients: dict[Any, Any] = {}
        self._tangents: dict[Any, Any] = {}

    @functools.cached_property
    def formula(self) -> Formula:
        """The formula in normal form."""
        formula = self._make_formula()
        if len(formula.results) != len(self.outputs):
            raise Refused(f"{self.name}: it returns {len(formula.results)} values: unpack them before 'return'")
        renamed = {*self.takes} - {*formula.parameters}
        if renamed:
            raise Refused(f"a parameter cannot be called {sorted(renamed)[0]!r}: rename it", read(self.function))
        return formula

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.formula,)

    @property
    def derived(self) -> bool:  # type: ignore[override]
        """True unless rules are declared."""
        return not self.rules

    @property
    def node_base(self) -> type[OpNode]:  # type: ignore[override]
        """The base of the nodes, which call declared rules or derive the derivative."""
        return PointwiseNode if self.rules else RuleNode

    def program(
        self, operand_types: Sequence[Any], attributes: Mapping[str, Any], compute: dtype, out: dtype
    ) -> PointwiseProgram:
        program = super().program(operand_types, attributes, compute, out)
        try:
            program.body  # noqa: B018 - now, to name the line of the error
        except FormulaError as error:
            raise Refused(f"{self.name}: {error}", error.node) from None
        return program

    # -- derivatives

    def gradient(self, *names: str) -> Callable[[Rule], Rule]:
        check_value(len(self.outputs) == 1, "{}: rules are for functions with one result", self.name)
        if not self.rules:
            self.forget()
            vars(self).pop("node_class", None)
        return super().gradient(*names)

    def backward_plan(self, entry: Entry, needed: int) -> Any:
        if self.rules:
            return super().backward_plan(entry, needed)
        details = entry.details
        if details.compute.is_complex:
            raise RuntimeError(f"{self.name}: declare its rules, as derivatives by complex numbers are not derived")
        attributes = {name: value for name, value in details.attributes.items() if name not in details.passed}
        names = (*self.inputs, *details.passed)
        by = tuple([name for n, name in enumerate(self.inputs) if needed >> n & 1])
        used = self._gradient_op(by, (True,) * len(self.outputs)).takes
        kept = [name for name in names if name in used]
        order = [name for name in self.inputs if name in kept]
        saved = {name if name != "grad" else "grad_output": names.index(name) for name in kept}

        def rule(grad: Any, *values: Any) -> list[Any]:
            arguments = {**attributes, **dict(zip(kept, values, strict=True))}
            grads = grad if len(self.outputs) > 1 else [grad]
            op = self._gradient_op(by, tuple([each is not None for each in grads]))
            numbers = {name: arguments[name] for name in op.attributes}
            operands = [arguments[name] for name in order if name in op.takes]
            computed = op.run([each for each in grads if each is not None] + operands, op.completed(numbers.items()))
            results = iter(computed if isinstance(computed, tuple) else (computed,))
            return [next(results) if name in by else None for name in self.inputs]

        rule.parameters = ("grad", *saved)  # type: ignore[attr-defined]
        return RuleBackwardPlan(self.node_class, saved, {}, [(rule, ("grad", *saved))])

    def _gradient_op(self, by: tuple[str, ...], present: tuple[bool, ...]) -> Vectorized:
        key = by, present
        if key not in self._gradients:
            formula = derived.gradient(self.formula, self.name, by, present)
            outputs = tuple([f"grad_{name}" for name in by]) if len(by) > 1 else ("out",)
            self._gradients[key] = self._of(formula, f"{self.name}_gradient", outputs)
        return self._gradients[key]

    def tangents(self, values: Sequence[Any], tangents: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        """Return the tangents of the outputs, from those of the operands that have one and are not None."""
        by = tuple([name for name, each in zip(self.inputs, tangents, strict=True) if each is not None])
        if by not in self._tangents:
            formula = derived.tangent(self.formula, self.name, by)
            self._tangents[by] = self._of(formula, f"{self.name}_tangent", self.outputs)
        op = self._tangents[by]
        operands = [value for name, value in zip(self.inputs, values, strict=True) if name in op.takes]
        numbers = {name: attributes[name] for name in op.attributes}
        computed = op.run([each for each in tangents if each is not None] + operands, op.completed(numbers.items()))
        return computed if isinstance(computed, tuple) else (computed,)

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return (*self.inputs, *self.attributes)

    def _of(self, formula: Formula, title: str, outputs: tuple[str, ...]) -> Vectorized:
        """Return an operation derived from this one, which computes the formula."""
        defaults = {name: value for name, value in self.attributes.items() if name in formula.parameters}
        python = compiled(derived.source_of(formula, title, defaults), title, {})
        return Vectorized(python, lambda: formula, outputs, result="same", dtypes="f")

    def source(self, *by: str) -> str:
        """Return the gradient with respect to the operands ``by``, by default all, as Python.

        It is a function of ``grad``, the gradient of the result (or ``grad_0``, ``grad_1``, ... of several), and of the
        parameters that it needs.
        """
        check_value(self.derived, "{}: its rules are declared, so that no gradient is derived", self.name)
        operands = by or tuple([name for name in self.inputs if name not in self.nondifferentiable])
        unknown = {*operands} - {*self.inputs}
        check_value(not unknown, "{} has no operand {}", self.name, sorted(unknown))
        op = self._gradient_op(operands, (True,) * len(self.outputs))
        return derived.source_of(op.formula, op.name, op.attributes)


class VectorizedFunction:
    """Base class of the public functions of such operations, each of which has a class with the ``__call__`` for it."""

    op: Vectorized
    __name__: str

    def __repr__(self) -> str:
        return f"<vectorized function {self.__name__}>"

    def __copy__(self) -> VectorizedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> VectorizedFunction:
        return self

    def __reduce__(self) -> Any:
        op = self.op
        arguments = op.function, op.rules, tuple(op.nondifferentiable), op.result, op.dtypes
        return reduced(self, _unpickled, arguments, [op.function, *op.rules.values()])


def call_of(op: Vectorized) -> Any:
    """Return the public function of an operation."""
    several = len(op.outputs) > 1
    call: Any = _several(op) if several else function_of(op)
    cls = type(op.name, (VectorizedFunction,), {"__call__": staticmethod(call), "__doc__": op.function.__doc__})
    public: Any = cls()
    functools.update_wrapper(public, call)
    public.__doc__, public.scalar_function = op.function.__doc__, op.function
    public.op, public.gradient, public.source = op, op.gradient, op.source
    if not several and op.result != "bool":
        public.inplace = in_place(op)
    return public


def _unpickled(
    function: Callable[..., Any], rules: dict[str, Rule], nondifferentiable: Sequence[str], result: str, dtypes: str
) -> Any:
    call = vectorize(function, nondifferentiable=nondifferentiable, result=result, dtypes=dtypes)
    for name, rule in rules.items():
        call.gradient(name)(rule)
    return call


def _several(op: Vectorized) -> Any:
    """Return the function of an operation with several results."""

    @functools.wraps(op.function)
    def call(*operands: Any, **numbers: Any) -> Any:
        check_type(len(operands) == len(op.inputs), "{}() takes the operands {}", op.name, op.inputs)
        return op.run(operands, op.completed(numbers.items()) if numbers else op.attributes)

    return call
