"""The gradients that a backward program is given: they lie elsewhere in each call, and may lie in another way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.layout import Layout, span
from ..core.tensor import Tensor, tensor_of
from ..core.types import CPU, contiguous_format, preserve_format
from ..ops.memory.copying import clone, write
from .overlaps import alignment
from .steps import root_of


def apart(gradients: Sequence[Any], arrays: Sequence[Any], dense: bool) -> list[Any]:
    """The gradients, each in memory of its own, apart from these arrays too: those of later calls may lie anywhere.

    If they are to be dense, they are copied to that form, as others can be.
    """
    roots = {id(root_of(array)) for array in arrays}
    made = []
    for one in gradients:
        if one is not None and dense and not is_dense(one._layout):
            one = clone(one, memory_format=contiguous_format)
        elif one is not None and id(root_of(one._storage)) in roots:
            one = clone(one, memory_format=preserve_format if is_dense(one._layout) else contiguous_format)
        if one is not None:
            roots.add(id(root_of(one._storage)))
        made.append(one)
    return made


def is_dense(layout: Layout) -> bool:
    """Whether each element has a place of its own, and there are no others."""
    return span(layout.shape, layout.strides) == layout.size


def laid_out(gradient: Tensor, layout: Layout, aligned: int) -> Tensor:
    """A gradient as it lay when backward was recorded."""
    if gradient._layout is layout and (layout.type.device is CPU or alignment(gradient) >= aligned):
        return gradient
    made = tensor_of(layout, layout.type.backend.zeros((layout.size,), layout.type))
    write(made, gradient)
    return made
