"""Special functions of single numbers: a part of ``scalar``, which exports them."""

from typing import Any

from . import incomplete_beta, incomplete_gamma
from .declarations import compiled_as

__all__ = ["beta_slope", "gamma_slope", "gammainc", "gammaincc"]


@compiled_as(incomplete_gamma.gammainc, python="compiled")
def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function: the probability of a gamma variable of shape a below x."""


@compiled_as(incomplete_gamma.gammaincc, python="compiled")
def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function, 1 - gammainc(a, x)."""


@compiled_as(incomplete_gamma.gamma_slope, python="compiled")
def gamma_slope(a: Any, x: Any) -> Any:
    """The derivative of a gamma variable x with respect to its shape a, for a fixed probability of smaller ones."""


@compiled_as(incomplete_beta.beta_slope, python="compiled")
def beta_slope(a: Any, b: Any, x: Any) -> Any:
    """The derivative of the logit of a beta variable x by its parameter a, for a fixed probability of smaller ones."""
