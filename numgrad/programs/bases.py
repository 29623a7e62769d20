"""Results that are views of one base: which of them overlap, and where the tensors of a graph are among results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..core.layout import span
from ..core.tensor import Tensor
from .capture import Capture
from .signatures import begin_of


def overlapped_bases(live: Sequence[Tensor], made: Capture) -> list[Tensor]:
    """Return the tensors that no one else has, and of which several results are views with elements in common.

    The results of a replay are views of these, too: a change of one of them in place is one of the others.
    """
    views: dict[int, list[Tensor]] = {}
    others = {id(one) for one in (*made.inputs, *made.results())} | made.known.keys()
    for one in live:
        if one._view is not None and one._view.made is None and id(one._root) not in others and not one._root.is_leaf:
            views.setdefault(id(one._root), []).append(one)
    return [own[0]._root for own in views.values() if _have_common_elements(own)]


def _have_common_elements(views: Sequence[Tensor]) -> bool:
    if len(views) < 2:
        return False
    items = [one._layout.type.dtype.itemsize for one in views]
    begin = min(map(begin_of, views))
    spans = [span(one._layout.shape, one._layout.strides) * item for one, item in zip(views, items, strict=True)]
    ends = [begin_of(one) + size for one, size in zip(views, spans, strict=True)]
    marks = np.zeros(max(ends) - begin, np.uint8)
    for one, item in zip(views, items, strict=True):
        strides = *[item * step for step in one._layout.strides], 1
        own = as_strided(marks[begin_of(one) - begin :], (*one._layout.shape, item), strides)
        if own.any():
            return True
        own[...] = 1
    return False


def places_in(results: Sequence[Tensor], tensors: Sequence[Tensor]) -> list[tuple[int, bool]]:
    """Return which of the results each tensor is, and whether it is rather the base of that."""
    places = {id(one._root): (number, True) for number, one in enumerate(results) if one._view is not None}
    places |= {id(one): (number, False) for number, one in [*enumerate(results)][::-1]}
    return [places[id(one)] for one in tensors]
