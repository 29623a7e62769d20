"""Exponential families, whose entropy and divergence follow from a single function."""

from __future__ import annotations

from typing import Any

from ..autograd.backward import grad
from ..autograd.grad_mode import enable_grad
from ..tensors.tensor import Tensor
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with the density ``exp(t(x) @ theta - F(theta) + k(x))``.

    A subclass defines its natural parameters ``theta`` as ``_natural_params``, ``F`` as ``_log_normalizer`` and the
    mean of ``k(x)`` as ``_mean_carrier_measure``.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _normalized(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """Return the natural parameters, ``F`` of them and its derivatives, which are the means of ``t(x)``."""
        with enable_grad():
            natural = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*natural)
            return natural, normalizer, grad(normalizer.sum(), natural, create_graph=True)

    def entropy(self) -> Tensor:
        """Return ``F(theta) - theta @ slopes - mean of k(x)`` (Nielsen and Nock 2010)."""
        natural, normalizer, slopes = self._normalized()
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(natural, slopes, strict=True):
            result = result - sum_rightmost(parameter * slope, parameter.dim() - len(self._batch_shape))
        return result

    def _divergence_from(self, other: ExponentialFamily) -> Tensor:
        """Return the Kullback-Leibler divergence of distributions of one class, as a Bregman divergence of ``F``."""
        natural, normalizer, slopes = self._normalized()
        others = other._natural_params
        result = other._log_normalizer(*others) - normalizer
        for parameter, slope, other_parameter in zip(natural, slopes, others, strict=True):
            dims = parameter.dim() - len(self._batch_shape)
            result = result - sum_rightmost((other_parameter - parameter) * slope, dims)
        return result
