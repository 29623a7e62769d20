"""The op table and the operations in it.

Importing this package fills the table, attaches methods and operators to Tensor, and hands the engine the few
operations it needs.
"""

from . import (  # noqa: F401 - each fills its part of the table
    comparison,
    copying,
    creation,
    from_data,
    indexing,
    integers,
    joining,
    loss,
    matmul,
    operators,
    parts,
    pointwise,
    protocol,
    reduction,
    shape,
)
from .table import ops, public_functions

__all__ = ["ops", "public_functions"]
