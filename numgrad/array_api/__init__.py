"""A namespace that follows the Python array API standard, version 2024.12, for tensors.

``x.__array_namespace__()`` returns it.  Where numgrad's function has the standard's meaning, the name is that function.
Gradients flow through all functions.

Example:
    >>> import numgrad
    >>> from numgrad import array_api as xp
    >>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> x.__array_namespace__() is xp
    True
    >>> xp.concat([x, x], axis=1).shape
    torch.Size([2, 4])
"""

from __future__ import annotations

from math import e, inf, nan, pi

from ..core.types import bool_ as bool
from ..core.types import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8
from ..interop.interchange import from_dlpack
from . import fft, linalg
from .creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .data_types import __array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type
from .elementwise import *  # noqa: F403 - the functions of each element
from .elementwise import __all__ as _elementwise
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .reductions import (
    all,
    any,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .searching import (
    argmax,
    argmin,
    argsort,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)

__array_api_version__ = "2024.12"
newaxis = None

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "all", "any", "arange", "argmax", "argmin", "argsort",
    "asarray", "astype", "bool", "broadcast_arrays", "broadcast_to", "can_cast", "complex128", "complex64",
    "concat", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "e", "empty", "empty_like",
    "expand_dims", "eye", "fft", "finfo", "flip", "float32", "float64", "from_dlpack", "full", "full_like", "iinfo",
    "inf", "int16", "int32", "int64", "int8", "isdtype", "linalg", "linspace", "matmul", "matrix_transpose", "max",
    "mean", "meshgrid", "min", "moveaxis", "nan", "newaxis", "nonzero", "ones", "ones_like", "permute_dims", "pi",
    "prod", "repeat", "reshape", "result_type", "roll", "searchsorted", "sort", "squeeze", "stack", "std", "sum",
    "take", "take_along_axis", "tensordot", "tile", "tril", "triu", "uint8", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
    *_elementwise,
]
