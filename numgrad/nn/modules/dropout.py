"""Dropout as modules."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from .. import functional
from .module import CallsFunction

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(CallsFunction):
    """A form of dropout, which returns its input in evaluation mode.

    Raises:
        ValueError: ``p`` is not a probability.
    """

    _shown = "p=", "inplace="

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p=p, inplace=inplace)
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd, function=functional.dropout):
    """In training, elements set to 0 with probability ``p`` and divided by ``1 - p`` otherwise.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> layer = numgrad.nn.Dropout(0.5)
        >>> layer(numgrad.ones(4))
        tensor([0., 0., 2., 0.])
        >>> layer.eval()(numgrad.ones(4))
        tensor([1., 1., 1., 1.])
    """


class Dropout1d(_DropoutNd, function=functional.dropout1d):
    """Dropout of whole channels of inputs (batch, channels, length)."""


class Dropout2d(_DropoutNd, function=functional.dropout2d):
    """Dropout of whole channels of inputs (batch, channels, height, width)."""


class Dropout3d(_DropoutNd, function=functional.dropout3d):
    """Dropout of whole channels of inputs (batch, channels, depth, height, width)."""


class AlphaDropout(_DropoutNd, function=functional.alpha_dropout):
    """Dropout that preserves mean and variance of standard normal inputs, for use with SELU."""


class FeatureAlphaDropout(_DropoutNd, function=functional.feature_alpha_dropout):
    """AlphaDropout of whole channels of inputs (batch, channels, ...)."""
