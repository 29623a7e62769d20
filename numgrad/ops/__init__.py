"""The op table and the operations in it.

Importing this package fills the table, attaches methods and operators to Tensor, and hands the engine the few
operations it needs.
"""

# ruff: noqa: F401, I001 - each module fills its part of the table; the last two need all the others
from ..interop import interchange, numpy_functions
from .creation import filled, from_data, multinomial, random_states, random_tensors, ranges
from .indexing import (
    advanced,
    gathering,
    masking,
    picking,
    places,
    scattering,
    selecting,
    subscript,
    updating,
)
from .matrices import addmm, checks, contractions, einsum, matmul, solving
from .memory import copying, moving, overwriting
from .network import (
    attention,
    batch_normalization,
    convolution,
    correlation,
    dropout,
    likelihood,
    losses,
    normalization,
    pooling,
    reducing,
    softmax,
)
from .pointwise import (
    activation,
    arithmetic,
    clamping,
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
    extremes,
    norms,
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
    splitting,
    views,
    windows,
    written_parts,
)
from .spectral import fourier
from .table import promotion
from .table.op import ops, public_functions
from . import operators, autograd_operations

__all__ = ["ops", "public_functions"]
