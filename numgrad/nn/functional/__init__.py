"""Layers, activations and losses as functions."""

# ruff: noqa: F403 - each file defines __all__

from typing import TYPE_CHECKING

from ...core.missing import found_later as _found_later
from ...ops.indexing.one_hot import one_hot
from ...ops.matrices.bilinear import bilinear
from ...ops.matrices.matmul import linear
from ...ops.network import average_pooling as _average_pooling
from ...ops.network import convolution_functions as _convolution
from ...ops.network import grid_sampling as _grid_sampling
from ...ops.network import interpolation as _interpolation
from ...ops.network import pooling as _pooling
from ...ops.network import unpooling as _unpooling
from ...ops.network.attention import scaled_dot_product_attention
from ...ops.network.average_pooling import *
from ...ops.network.batch_normalization import batch_norm
from ...ops.network.convolution_functions import *
from ...ops.network.folding import fold, unfold
from ...ops.network.grid_sampling import *
from ...ops.network.interpolation import *
from ...ops.network.pooling import *
from ...ops.network.unpooling import *
from ...ops.pointwise import activation as _activation
from ...ops.pointwise import smooth_activation as _smooth_activation
from ...ops.pointwise.activation import *
from ...ops.pointwise.exponential import sigmoid, tanh
from ...ops.pointwise.smooth_activation import *
from ...ops.reductions.norms import cosine_similarity, pairwise_distance, pdist
from ...ops.shapes import shuffling as _shuffling
from ...ops.shapes.padding import pad
from ...ops.shapes.shuffling import *
from . import alignment, classification, dropouts, embeddings, group_norms, linear_losses, margin, regression, vectors
from . import attention as _attention
from .alignment import *
from .attention import *
from .classification import *
from .dropouts import *
from .embeddings import *
from .group_norms import *
from .linear_losses import *
from .margin import *
from .regression import *
from .vectors import *

__all__ = [
    "batch_norm", "bilinear", "cosine_similarity", "fold", "linear", "one_hot", "pad", "pairwise_distance", "pdist",
    "scaled_dot_product_attention", "sigmoid", "tanh", "unfold",
]
__all__ += _activation.__all__
__all__ += _attention.__all__
__all__ += _average_pooling.__all__
__all__ += _convolution.__all__
__all__ += _grid_sampling.__all__
__all__ += _interpolation.__all__
__all__ += _pooling.__all__
__all__ += _shuffling.__all__
__all__ += _smooth_activation.__all__
__all__ += _unpooling.__all__
__all__ += alignment.__all__
__all__ += classification.__all__
__all__ += dropouts.__all__
__all__ += embeddings.__all__
__all__ += group_norms.__all__
__all__ += linear_losses.__all__
__all__ += margin.__all__
__all__ += regression.__all__
__all__ += vectors.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "nn.functional")
