"""The op table and the operations in it.

Importing this package fills the table, attaches methods and operators to Tensor, and hands the engine the few
operations it needs.
"""

# ruff: noqa: F401 - each module fills its part of the table
from .. import _interchange, _numpy
from . import aliases, copying, moving, operators, overloads, overwriting, promotion, protocol
from .creation import filled, from_data, multinomial, random_states, random_tensors, ranges
from .indexing import (
    advanced,
    gathering,
    masking,
    one_hot,
    picking,
    places,
    scattering,
    selecting,
    subscript,
    updating,
)
from .matrices import addmm, checks, contractions, einsum, matmul, solving
from .network import (
    attention,
    batch_normalization,
    binary_losses,
    convolution,
    correlation,
    distances,
    dropout,
    likelihood,
    normalization,
    pooling,
    reducing,
    regression_losses,
    softmax,
)
from .pointwise import (
    activation,
    arithmetic,
    clamping,
    closeness,
    comparison,
    complexes,
    gated,
    integers,
    interpolation,
    powers,
    rounding,
    special,
    trigonometric,
)
from .reductions import (
    axes,
    differences,
    extremes,
    norms,
    products,
    scans,
    searching,
    sorting,
    statistics,
    sums,
    ties,
)
from .shapes import (
    diagonals,
    dimensions,
    grids,
    inplace,
    joining,
    padding,
    parts,
    rearranging,
    resizing,
    splitting,
    views,
    windows,
    written_parts,
)
from .spectral import fourier
from .table import ops, public_functions

__all__ = ["ops", "public_functions"]
