"""Results and gradients of backward programs, whose memory and layouts may differ from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..core.layout import Layout, span
from ..core.types import CPU, contiguous_format, preserve_format
from ..ops.memory.copying import clone, write
from ..tensors.tensor import Tensor, tensor_of
from .captured import Capture
from .conditions import alignment
from .recorded_steps import root_of
from .signatures import begin_of


def overlapped_bases(live: Sequence[Tensor], captured: Capture) -> list[Tensor]:
    """Return the inner tensors that are bases of several results with common elements.

    The results of a replay are views of the same bases, so an in-place change of one result changes the others.
    """
    views: dict[int, list[Tensor]] = {}
    others = {id(tensor) for tensor in (*captured.inputs, *captured.results())} | captured.states.keys()
    for tensor in live:
        is_view = tensor._view is not None and tensor._view.creation is None
        if is_view and id(tensor._root) not in others and not tensor._root.is_leaf:
            views.setdefault(id(tensor._root), []).append(tensor)
    return [of_base[0]._root for of_base in views.values() if len(of_base) > 1 and _have_common_elements(of_base)]


def _have_common_elements(views: Sequence[Tensor]) -> bool:
    begin = min(map(begin_of, views))
    sizes = [view._layout.type.dtype.itemsize for view in views]
    extents = [span(view._layout.shape, view._layout.strides) * size for view, size in zip(views, sizes, strict=True)]
    end = max([begin_of(view) + extent for view, extent in zip(views, extents, strict=True)])
    marks = np.zeros(end - begin, np.uint8)
    for view, size in zip(views, sizes, strict=True):
        strides = *[size * step for step in view._layout.strides], 1
        elements = as_strided(marks[begin_of(view) - begin :], (*view._layout.shape, size), strides)
        if elements.any():
            return True
        elements[...] = 1
    return False


def places_in(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[tuple[int, bool]]:
    """Return for each tensor the index of its result, and whether the tensor is the base of that result."""
    places = {id(result._root): (number, True) for number, result in enumerate(results) if result._view is not None}
    places |= {id(result): (number, False) for number, result in [*enumerate(results)][::-1]}
    return [places[id(tensor)] for tensor in tensors]


def separated(gradients: Sequence[Any], arrays: Sequence[Any], dense: bool) -> list[Any]:
    """Return the gradients, each in separate memory that overlaps no other gradient and none of these arrays.

    With ``dense``, gradients that are not dense are copied to a contiguous layout.
    """
    roots = {id(root_of(array)) for array in arrays}
    result = []
    for gradient in gradients:
        if gradient is not None:
            is_dense_layout = is_dense(gradient._layout)
            if (dense and not is_dense_layout) or id(root_of(gradient._storage)) in roots:
                form = preserve_format if is_dense_layout else contiguous_format
                gradient = clone(gradient, memory_format=form)
            roots.add(id(root_of(gradient._storage)))
        result.append(gradient)
    return result


def is_dense(layout: Layout) -> bool:
    """Return True if the elements fill their memory without gaps and without overlaps."""
    return span(layout.shape, layout.strides) == layout.size


def with_layout(gradient: Tensor, layout: Layout, aligned: int) -> Tensor:
    """Return a gradient with the layout of the recorded gradient and, on a GPU, its alignment."""
    if gradient._layout is layout and (layout.type.device is CPU or alignment(gradient) >= aligned):
        return gradient
    copy = tensor_of(layout, layout.type.backend.zeros((layout.size,), layout.type))
    write(copy, gradient)
    return copy
