"""Derivatives of an operation from the operations that it is composed of.

A kernel may do at once what other operations do in many steps.  Its derivatives are those of the steps: its rule runs
the steps, records them, and differentiates through them.  That costs their time and memory.  Therefore, an operation
that every training step differentiates has a rule with a kernel of its own.  Only its higher derivatives, which few
programs need, follow from the composition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.backward import grad
from ..autograd.grad_mode import recording_apart
from ..tensors.tensor import Tensor
from .shapes.views import alias
from .table.op import parameters
from .table.planned import Planned


def differentiated_as(op: Planned) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that computes an operation by other operations, to define its derivatives.

    The parameters are a subset of the operation's: those that nodes save or that are constants.  The function returns a
    tuple if the operation has several outputs.
    """

    def decorate(compose: Callable[..., Any]) -> Callable[..., Any]:
        names = parameters(compose)

        def rule(gradients: Any, needed: Sequence[bool], *values: Any) -> list[Tensor | None]:
            arguments = dict(zip(names, values, strict=True))
            variables_of = [name for name, is_needed in zip(op.differentiable, needed, strict=True) if is_needed]
            several = len(op.outputs) > 1
            with recording_apart() as recorded:
                variables = [as_variable(arguments[name]) for name in variables_of]
                outputs = compose(**{**arguments, **dict(zip(variables_of, variables, strict=True))})
                pairs = zip(outputs, gradients, strict=True) if several else [(outputs, gradients)]
                reached = [pair for pair in pairs if pair[1] is not None and pair[0].requires_grad]
                computed = _gradients(reached, variables, recorded)
            by_name = dict(zip(variables_of, computed, strict=True))
            return [by_name.get(name) for name in op.differentiable]

        rule.parameters = ("grad", "needed", *names)  # type: ignore[attr-defined]
        rule.__module__ = compose.__module__
        rule.__doc__ = f"``grad * d({op.name}) / d({', '.join(op.differentiable)})``."
        op.joint = True
        op.gradient(*op.differentiable)(rule)
        return compose

    return decorate


def gradients_through(
    function: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor | None], cotangents: Sequence[Tensor | None],
    needed: Sequence[bool] | None = None,
) -> list[Tensor | None]:
    """Return the gradients of the ``needed`` inputs of a function, given those of its outputs, and None for the others.

    They can be differentiated, too, if recording is on.
    """
    flags = [True] * len(inputs) if needed is None else needed
    with recording_apart() as recorded:
        variables = [
            as_variable(tensor) if used and tensor is not None else None
            for tensor, used in zip(inputs, flags, strict=True)
        ]
        outputs = function(*[old if new is None else new for old, new in zip(inputs, variables, strict=True)])
        pairs = [(out, given) for out, given in zip(outputs, cotangents, strict=True) if given is not None]
        reached, arriving = zip(*pairs, strict=True)
        present = [tensor for tensor in variables if tensor is not None]
        computed = iter(grad(reached, present, arriving, create_graph=recorded, materialize_grads=True))
    return [None if variable is None else next(computed) for variable in variables]


def as_variable(tensor: Tensor) -> Tensor:
    """Return the tensor as a variable to differentiate with respect to, cut off from the graph that computed it."""
    variable: Tensor = alias(tensor)
    if not variable.requires_grad:
        variable._requires_grad = True
    return variable


def _gradients(
    outputs: Sequence[tuple[Tensor, Tensor]], variables: Sequence[Tensor], record: bool
) -> Sequence[Tensor | None]:
    """Return the gradients with respect to the variables, given pairs of an output and its gradient."""
    if not outputs:
        return [None] * len(variables)
    values, cotangents = zip(*outputs, strict=True)
    return grad(values, variables, cotangents, create_graph=record, allow_unused=True)
