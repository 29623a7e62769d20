"""The op table and its operations.

Importing this package fills the table, attaches methods and operators to Tensor, and registers the operations that the
engine needs.
"""

# ruff: noqa: F401, I001 - each module fills its part of the table; the last lines need all the others
from .creation import (
    distributions,
    factories,
    from_data,
    implicit,
    random_numbers,
    sampling,
    signal_windows,
    spaced,
    strided,
)
from .decompositions import (
    cholesky,
    determinants,
    eigenvalues,
    functions,
    lobpcg,
    low_rank,
    lu,
    orthogonal,
    singular,
    systems,
    triangular,
)
from .indexing import advanced, gathering, index, launchers, masking, positions, scattering, selecting, subscript
from .matrices import addmm, bilinear, einsum, linalg, matmul, products
from .memory import copying, moving, overwriting
from .network import (
    alignment,
    attention,
    average_pooling,
    batch_normalization,
    convolution_functions,
    dropout,
    embedding_bags,
    folding,
    grid_sampling,
    group_normalization,
    interpolation,
    loss_reduction,
    losses,
    normalization,
    pooling,
    softmax,
    unpooling,
    weight_normalization,
)
from .pointwise import (
    activation,
    arithmetic,
    bessel,
    binary_parts,
    clamping,
    comparison,
    complexes,
    exponential,
    gamma,
    incomplete_beta,
    incomplete_gamma,
    integers,
    orthogonal_polynomials,
    rounding,
    smooth_activation,
    special,
    trigonometric,
)
from .reductions import (
    axes,
    covariance,
    differences,
    extremes,
    histograms,
    norms,
    quantiles,
    scans,
    searching,
    sorting,
    statistics,
    sums,
)
from .shapes import (
    broadcasting,
    diagonals,
    dimensions,
    grids,
    inplace,
    joining,
    padding,
    parts,
    rearranging,
    shuffling,
    splitting,
    views,
    windows,
)
from .spectral import fourier, short_time
from .table import promotion
from .table.op import make_importable, ops, public_functions
from .shapes import copies
from . import operators, autograd_operations, numbers_first

__all__ = ["ops", "public_functions"]

make_importable()
