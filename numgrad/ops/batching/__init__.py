"""Operations under ``vmap``: how each call is done for all examples at once.

``calls`` does the calls, by rules that the other modules give it for those operations that need one.
"""

from . import networks, places, products, reductions, shapes  # noqa: F401 - the rules
from .calls import (
    change,
    each_example,
    general,
    is_shared,
    mapped_to,
    overwrite,
    physical,
    pointwise,
    reshape_in_place,
    tensors_of,
)
from .functions import batched_function

__all__ = [
    "batched_function", "change", "each_example", "general", "is_shared", "mapped_to", "overwrite", "physical",
    "pointwise", "reshape_in_place", "tensors_of",
]
