"""Gamma and Dirichlet numbers, with the derivatives of quantiles."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.types import finfo, float64
from ...tensors.tensor import Tensor
from ..batching.examples import drawn
from ..network.softmax import softmax
from ..pointwise.incomplete_beta import beta_slope
from ..pointwise.incomplete_gamma import gamma_slope
from ..table.checks import check_supported
from ..table.op import public
from .sampling import numbers_of


@drawn
def _gamma_numbers(draw: str, shapes: Tensor, generator: Any) -> Tensor:
    return numbers_of(draw, generator, shapes)


@public(method=False)
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Random numbers from gamma distributions with rate 1, whose shapes are the elements of ``input``, above 0.

    Their derivatives by the shape are those of quantiles (Figurnov, Mohamed and Mnih, "Implicit reparameterization
    gradients", 2018).
    """
    check_supported(input._layout, "f", "gamma_cpu")
    return StandardGamma.apply(input, _gamma_numbers("gamma", input.detach(), generator))


@public(method=False)
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """Derivatives of gamma numbers ``output`` by their shapes ``self``."""
    return gamma_slope(self, output)


class StandardGamma(Function):
    """Standard gamma numbers as functions of their shapes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(shapes: Tensor, numbers: Tensor) -> Tensor:
        return numbers.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)
        ctx.save_for_forward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * _standard_gamma_grad(*ctx.saved_tensors), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: Any) -> Tensor:
        return tangent * _standard_gamma_grad(*ctx.saved_tensors)


@public(method=False)
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Random vectors from Dirichlet distributions, whose concentrations are the last dimension of ``input``.

    Their derivatives are those of quantiles of a single component, with the other components scaled (Jankowiak and
    Obermeyer, "Pathwise derivatives beyond the reparameterization trick", 2018).
    """
    check_supported(input._layout, "f", "dirichlet")
    logarithms = _gamma_numbers("log_gamma", input.detach().to(float64), generator)
    format = finfo(input.dtype)
    numbers = softmax(logarithms, -1).to(input.dtype).clamp(format.tiny, 1 - format.eps / 2)
    return Dirichlet.apply(input, numbers)


@public(method=False)
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Derivatives of components ``x`` of Dirichlet vectors by their concentrations ``alpha``, divided by ``1 - x``.

    ``total`` is the sum of the concentrations.
    """
    return x * beta_slope(alpha, total - alpha, x)


class Dirichlet(Function):
    """Dirichlet vectors as functions of their concentrations.

    A change of a concentration changes the logit of its own component by the derivative of its quantile.
    """

    generate_vmap_rule = True

    forward = StandardGamma.forward
    setup_context = StandardGamma.setup_context

    @staticmethod
    def _slopes(ctx: Any) -> tuple[Tensor, Tensor]:
        concentrations, numbers = ctx.saved_tensors
        return _dirichlet_grad(numbers, concentrations, concentrations.sum(-1, keepdim=True)), numbers

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        slopes, numbers = Dirichlet._slopes(ctx)
        return slopes * (grad - (numbers * grad).sum(-1, keepdim=True)), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: Any) -> Tensor:
        slopes, numbers = Dirichlet._slopes(ctx)
        own = slopes * tangent
        return own - numbers * own.sum(-1, keepdim=True)
