"""Activations and losses as functions."""

from ..ops.comparison import relu
from ..ops.loss import binary_cross_entropy_with_logits, cross_entropy, log_softmax, nll_loss, softmax
from ..ops.pointwise import sigmoid, tanh

__all__ = [
    "binary_cross_entropy_with_logits", "cross_entropy", "log_softmax", "nll_loss", "relu", "sigmoid", "softmax",
    "tanh",
]
