"""Layers, activations and losses as functions."""

# ruff: noqa: F403, F405 - what each file here has in its __all__

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from ...ops.indexing.gathering import one_hot
from ...ops.matrices.matmul import linear
from ...ops.network.attention import scaled_dot_product_attention
from ...ops.network.convolution import conv1d, conv2d, conv3d
from ...ops.network.normalization import batch_norm
from ...ops.network.pooling import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from ...ops.pointwise.activation import (
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    softshrink,
    threshold,
    threshold_,
)
from ...ops.pointwise.exponential import sigmoid, tanh
from ...ops.pointwise.smooth_activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    logsigmoid,
    mish,
    selu,
    selu_,
    silu,
    softplus,
    softsign,
    tanhshrink,
)
from ...ops.reductions.norms import cosine_similarity, pairwise_distance
from ...ops.shapes.padding import pad
from .classification import *
from .dropouts import *
from .margin import *
from .regression import *
from .vectors import *

__all__ = [
    "alpha_dropout", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_",
    "conv1d", "conv2d", "conv3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding", "feature_alpha_dropout", "gaussian_nll_loss",
    "gelu", "glu", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "log_softmax", "logsigmoid",
    "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance",
    "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_",
    "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
    "triplet_margin_loss", "triplet_margin_with_distance_loss",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "nn.functional")
