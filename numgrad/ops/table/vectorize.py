"""Pointwise operations of a user's own, declared with the same decorator as the library's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from ...devices import NUMBERS
from .checks import check_type, check_value
from .declaring import pointwise


def vectorize(
    function: Callable[..., Any] | None = None,
    *,
    nondifferentiable: Sequence[str] = (),
    result: str = "same",
    dtypes: str = "bif",
) -> Any:
    """Make a function of scalars a differentiable operation on tensors: one compiled loop, on any device.

    The function is a sequence of assignments and one ``return``, of arithmetic, comparisons, powers, numbers, and
    pointwise functions of numgrad's (``numgrad.exp``, ``numgrad.where``) or made by this decorator.  It is compiled,
    never called.  Its positional parameters are tensors or numbers, which are broadcast and promoted as PyTorch's are;
    keyword-only ones are numbers.  Other names, which refer to functions or numbers of the module, are read when a
    kernel is compiled: for the first call with operands of these dtypes, and for the first backward.  If such a value
    changes later, decorate the function again.

    ``@name.gradient("x")`` decorates the rule for the gradient with respect to ``x``.  The rule is a function of
    ``grad``, the gradient of the result, and of any operands, ``out`` and keyword-only parameters that it needs, by
    their names.  It is written like the function and compiled, too; for second derivatives it is called with tensors.
    Check rules with ``numgrad.autograd.gradcheck`` and ``gradgradcheck``.

    Args:
        function: computes an element.
        nondifferentiable: operands that have no gradient.
        result: "same" to compute in the dtype that the operands promote to, "float" in a floating-point one, "bool" for
            a comparison.
        dtypes: the supported categories of dtype: "b" bool, "i" integers, "f" floating point, "c" complex.

    Raises:
        TypeError: if a parameter is neither positional without a default nor a keyword-only number.
        ValueError: if another argument has an unknown value.
        RuntimeError: at the call, if a needed gradient has no rule, a dtype is not among ``dtypes``, or the shapes do
            not broadcast.
        TypeError: at the call, if the function uses something that has no meaning in a kernel.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        _check(function, nondifferentiable, result, dtypes)
        name = "".join([part.capitalize() for part in function.__name__.split("_")])
        return pointwise(
            f"{name}Backward0", nondifferentiable=nondifferentiable, result=result, dtypes=dtypes, export=False,
            entered=False,
        )(function)

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
    for option, given, known in (
        ("nondifferentiable", nondifferentiable, operands), ("result", [result], ["same", "float", "bool"]),
        ("dtypes", dtypes, "bifc"),
    ):
        check_value({*given} <= {*known}, "{}: {} must be among {}, not {}", name, option, known, given)
