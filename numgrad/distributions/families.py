"""Shared parts of distributions with the same kinds of parameters."""

from __future__ import annotations

from typing import Any

from ..core.types import Size
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["LocationScale", "ProbsOrLogits"]


class LocationScale(Distribution):
    """A symmetric distribution of real numbers with the mean ``loc`` and a width that is proportional to ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}  # noqa: RUF012 - as PyTorch has it
    support: Any = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class ProbsOrLogits(Distribution):
    """A distribution of integers with the parameter ``probs`` or ``logits``; the other one is computed when needed."""

    _is_binary = False
    has_enumerate_support = True

    @staticmethod
    def _check_alternatives(probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")

    @property
    def _param(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape
