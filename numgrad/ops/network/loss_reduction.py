"""Losses made of an elementwise formula and a reduction: none, sum or mean.

``@loss(...)`` decorates the formula of an element's loss, and ``.derivative(...)`` that of its gradient.  The operation
with its ``reduction``, its rules, and its behaviour under ``vmap`` derive from these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.grad_mode import GRAD, state
from ...autograd.levels import tensors_in
from ...core.layout import numel
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.batches import mapped_to
from ..batching.physical import aligned
from ..pointwise.arithmetic import div, mul
from ..reductions.sums import mean_all, mean_dims, sum_all, sum_dims
from ..shapes.broadcasting import expand
from ..table.declaring import pointwise
from ..table.op import parameters
from ..table.planned import Planned


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return the losses themselves ("none"), their mean or their sum."""
    if reduction == "none":
        return losses
    return sum_all(losses) if reduction == "sum" else mean_all(losses)


class Loss(Planned):
    """A loss: an elementwise formula, times an optional weight, then reduced to a mean or sum.

    Its arguments are the tensors of the formula, with the ``weight``, if any, in third place, then ``reduction``, and
    the numbers of the formula.  A weight or tensor that is None stands for 1.

    Args:
        formula: a function of scalars, like that of a pointwise operation.
        node: name of the node class.
        name: of the entry of the table; by default ``<formula>_loss_op``.
        weighted: True if the loss accepts weights.
        nondifferentiable: tensors that have no gradient.
        aten: PyTorch's name of the operation.
        symmetric: True if the gradient of the target is that of the input with the two swapped.
        probabilities: tensors whose elements must be in [0, 1].

    Raises:
        RuntimeError: an element is not a probability and should be; a GPU reports it when a value is next read.
    """

    _narrowed_of_mixed = 0  # the dtypes of the tensors are promoted
    _takes_halves = True

    def __init__(
        self, formula: Callable[..., Any], node: str, *, name: str = "", weighted: bool = False,
        nondifferentiable: Sequence[str] = (), symmetric: bool = False, probabilities: Sequence[str] = (),
        aten: str = "",
    ):
        operands = parameters(formula)[: formula.__code__.co_argcount]
        messages = {each: f"all elements of {each} should be between 0 and 1" for each in probabilities}
        self.each, self.symmetric = _each(formula, node, operands, aten), symmetric
        self.each.op.probabilities = tuple(messages.items())
        tensors = [*operands[:2], *["weight"] * weighted, *operands[2:]]
        numbers = self.each.op.attributes

        def decide(p: Plan, *args: Any) -> TensorRef:
            arguments = dict(zip(decide.parameters, args, strict=True))  # type: ignore[attr-defined]
            factors = [_or_one(arguments[name]) for name in operands]
            weight, reduction = arguments.get("weight"), arguments["reduction"]
            for each, message in messages.items():
                p.backend.check_probabilities(p, arguments[each], message)
            losses = self.each.op.build(
                p, *factors, wide=weight is not None or reduction != "none",
                **{name: arguments[name] for name in numbers},
            )
            if weight is not None:
                losses = mul.op.build(p, losses, weight)
            if reduction == "none":
                return losses
            return (sum_all if reduction == "sum" else mean_all).build(p, losses)

        decide.parameters = (*tensors, "reduction", *numbers)  # type: ignore[attr-defined]
        decide.__name__, decide.__doc__ = name or f"{formula.__name__}_loss_op", formula.__doc__
        decide.__module__ = formula.__module__
        super().__init__(decide, node, inputs=tensors, nondifferentiable=nondifferentiable, aten=aten)
        self.batched(self._of_examples)

    def derivative(self, node: str, aten: str = "") -> Callable[[Callable[..., Any]], Any]:
        """Decorate the gradient of the input: a formula of the gradient of an element's loss, its tensors and numbers.

        The formula becomes a pointwise operation, recorded by nodes named ``node``, with gradients of its own.
        """

        def declared(formula: Callable[..., Any]) -> Any:
            fixed = [name for name in parameters(formula) if name in self.nondifferentiable]
            backward = _each(formula, node, fixed, aten)
            self._add_rule("input", backward, ("input", "target"))
            if self.symmetric:
                self._add_rule("target", backward, ("target", "input"))
            return backward

        return declared

    def _add_rule(self, name: str, backward: Any, roles: tuple[str, str]) -> None:
        """Declare the gradient of ``name``: ``backward`` applied to the gradients of the elements' losses."""
        factors, weight = self.each.op.inputs[2:], "weight" if "weight" in self.inputs else None
        numbers = self.each.op.attributes

        def rule(grad: Tensor, *args: Any) -> Tensor:
            bound = dict(zip(self.parameters, args, strict=True))
            each = spread(grad, bound["input"]._layout.shape, bound["reduction"], bound.get("weight"))
            operands = [bound[role] for role in roles] + [_or_one(bound[factor]) for factor in factors]
            return backward(each, *operands, **{name: bound[name] for name in numbers})

        rule.parameters = ("grad", *self.parameters)  # type: ignore[attr-defined]
        rule.__module__ = self.function.__module__
        named = [f"{number}={number}" for number in numbers]
        arguments = ", ".join([f"grad * {weight}" if weight else "grad", *roles, *factors, *named])
        divided = "" if weight else ", over the number of elements for a mean"
        rule.__doc__ = f"``{backward.op.name}({arguments})``{divided}."
        self.gradient(name)(rule)

    def _of_examples(self, *args: Any) -> Tensor:
        """Return the losses of a batch of calls."""
        rank = max([len(tensor._layout.shape) for tensor in tensors_in(args)])
        arguments = dict(zip(self.parameters, mapped_to(args, lambda mapped: aligned(mapped, rank)), strict=True))
        reduction, arguments["reduction"] = arguments["reduction"], "none"
        losses = self(*arguments.values())
        if reduction == "none":
            return losses
        return (sum_dims if reduction == "sum" else mean_dims)(losses, tuple(range(1, rank + 1)), False)


def loss(node: str, **options: Any) -> Callable[[Callable[..., Any]], Loss]:
    """Decorate the formula of a loss; the arguments are those of :class:`Loss`."""
    return lambda formula: Loss(formula, node, **options)


def _each(formula: Callable[..., Any], node: str, nondifferentiable: Sequence[str], aten: str) -> Any:
    """Return the pointwise operation of a formula."""
    declare = pointwise(
        node, aten=aten, dtypes="f", nondifferentiable=nondifferentiable, export=False, inplace=False
    )
    return declare(formula)


def _or_one(factor: Any) -> Any:
    return 1.0 if factor is None else factor


def spread(grad: Tensor, shape: tuple[int, ...], reduction: str, weight: Tensor | None = None) -> Tensor:
    """Return the gradient of each loss, of ``shape``, computed from the gradient of :func:`reduced`."""
    if reduction != "none":
        grad = expand(div(grad, float(numel(shape))) if reduction == "mean" else grad, shape)
    return grad if weight is None else mul(grad, weight)


def refuse_gradient(function: str, name: str, argument: Tensor | None) -> None:
    """Raise if an argument without a derivative requires a gradient.

    Raises:
        RuntimeError: the argument requires a gradient, and operations are recorded.
    """
    if argument is not None and state.mode & GRAD and argument.requires_grad:
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}' (shape "
            f"{list(argument.shape)}). This input cannot have requires_grad True."
        )
