"""Pointwise operations of a user's own, by the decorator that the library's are declared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .ops.elementwise import pointwise

__all__ = ["vectorize"]


def vectorize(
    function: Callable[..., Any] | None = None,
    *,
    nondifferentiable: Sequence[str] = (),
    result: str = "same",
    dtypes: str = "bif",
) -> Any:
    """Make a function of scalars an operation on tensors: one compiled loop, which autograd knows, on any device.

    The function is a straight line of assignments and one ``return``, of arithmetic, comparisons, powers, numbers, and
    pointwise functions of numgrad's (``numgrad.exp``, ``numgrad.where``) or made by this decorator.  It is compiled,
    never called.  Its positional parameters are tensors or numbers, which are broadcast and promoted as PyTorch's
    are; keyword-only ones are numbers.

    ``@name.gradient("x")`` decorates the rule for the gradient with respect to ``x``: a function of ``grad``, that of
    the result, and of what it needs besides: operands, ``out`` and keyword-only parameters, by their names.  It is
    written as the function is, and compiled, too; for second derivatives it is called with tensors.  Check rules with
    ``numgrad.autograd.gradcheck`` and ``gradgradcheck``.

    Args:
        function: what computes an element.
        nondifferentiable: operands that have no gradient.
        result: "same" to compute in the dtype that the operands promote to, "float" in a floating-point one, "bool"
            for a comparison.
        dtypes: which kinds of dtype it is defined for: "b" bool, "i" integers, "f" floating point, "c" complex.

    Raises:
        RuntimeError: when it is called: a gradient is wanted for which there is no rule, a dtype is not among
            ``dtypes``, or the shapes do not broadcast.
        TypeError: when it is called: what it does has no meaning in a kernel.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        name = "".join([part.capitalize() for part in function.__name__.split("_")])
        return pointwise(
            f"{name}Backward0", nondifferentiable=nondifferentiable, result=result, dtypes=dtypes, export=False,
            entered=False,
        )(function)

    return decorate if function is None else decorate(function)
