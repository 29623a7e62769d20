"""Creation of uninitialised tensors in given strides, or with their dimensions in a given order."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ...core.layout import contiguous_strides, span
from ...tensors.tensor import Tensor, strided
from ..batching.physical import like_examples
from ..table.checks import check
from ..table.op import attach, named, public
from .factories import as_size, empty, finished


@public(method=False, direct=True)
def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of this size on uninitialised memory, in strides that count elements; it may overlap itself.

    Raises:
        RuntimeError: the numbers of sizes and strides differ, or one is negative.

    Example:
        >>> import numgrad
        >>> numgrad.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    sizes, steps = as_size((size,)), tuple(map(operator.index, stride))
    check(
        len(sizes) == len(steps),
        "dimensionality of sizes ({}) must match dimensionality of strides ({})", len(sizes), len(steps),
    )
    check(all(step >= 0 for step in steps), "negative strides are not supported, got {}", steps)
    memory = empty(span(sizes, steps), dtype=dtype, device=device, pin_memory=pin_memory)
    return finished(strided(memory._storage, sizes, steps, 0, memory._layout.type), requires_grad)


@public(method=False, direct=True)
def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:
    """A tensor of this size on uninitialised memory, with its dimensions in the order of ``physical_layout``.

    Raises:
        RuntimeError: ``physical_layout`` does not name each dimension once.

    Example:
        >>> import numgrad
        >>> numgrad.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
        (15, 1, 3)
    """
    sizes, order = as_size((size,)), tuple(map(operator.index, physical_layout))
    check(
        sorted(order) == list(range(len(sizes))),
        "physical_layout must name each of the {} dimensions once, but got {}", len(sizes), order,
    )
    steps = dict(zip(order, contiguous_strides(tuple([sizes[dim] for dim in order])), strict=True))
    return empty_strided(
        sizes, [steps[dim] for dim in range(len(sizes))], dtype=dtype, device=device, requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def _new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None, **options: Any
) -> Tensor:
    chosen, target = self.dtype if dtype is None else dtype, self.device if device is None else device
    return like_examples(self, empty_strided(size, stride, dtype=chosen, device=target, **options))


_DOC = "``numgrad.empty_strided`` in the dtype and on the device of this tensor, unless others are given."
attach("new_empty_strided", named(_new_empty_strided, "new_empty_strided", _DOC))
