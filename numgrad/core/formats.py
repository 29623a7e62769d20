"""Memory formats: the order of image dimensions in memory.

Images have the shape (n, channels, rows, columns) or (n, channels, depth, rows, columns).  In the channels-last format,
the channels of a pixel are adjacent: the strides are those of a row-major tensor (n, rows, columns, channels).  If
dimensions of size 1 make the format ambiguous, PyTorch's rules decide.
"""

from __future__ import annotations

import functools
from typing import Any

from .layout import Layout, is_dense, layout_of, output_strides
from .types import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format

__all__ = [
    "check_memory_format", "formatted_layout", "has_channels_last", "is_formatted", "kept_layout", "new_format",
    "with_channels_last",
]

#: Ranks of tensors that support the channels-last formats.
_RANKS = {channels_last: 4, channels_last_3d: 5}


def _inside_out(rank: int) -> list[int]:
    """Return the dimensions of the channels-last order, innermost first."""
    return [1, *range(rank - 1, 1, -1), 0]


@functools.lru_cache(maxsize=1024)
def with_channels_last(layout: Layout) -> Layout:
    """Return the channels-last layout of images; other layouts are returned unchanged."""
    shape = layout.shape
    if len(shape) not in _RANKS.values():
        return layout
    strides, step = [0] * len(shape), 1
    for dim in _inside_out(len(shape)):
        strides[dim] = step
        step *= shape[dim]
    return layout_of(layout.type, shape, tuple(strides))


@functools.lru_cache(maxsize=8192)
def has_channels_last(layout: Layout) -> bool:
    """Return True if the strides increase in channels-last order; results then have channels last, too."""
    shape, strides = layout.shape, layout.strides
    if len(shape) not in _RANKS.values() or strides[1] == 0:
        return False
    least = 0
    for dim in _inside_out(len(shape)):
        if shape[dim] == 0 or strides[dim] < least:
            return False
        if dim == 0 and least == strides[1]:  # n x 1 x 1 x 1 is ambiguous
            return False
        least = strides[dim] * shape[dim]
    return True


def is_formatted(layout: Layout, memory_format: memory_format) -> bool:
    """Return True if elements follow one another in the order of a format."""
    if memory_format not in _RANKS:
        return layout.contiguous
    if len(layout.shape) != _RANKS[memory_format]:
        return False
    expected = with_channels_last(layout).strides
    return all(n == 1 or stride == step for n, stride, step in zip(layout.shape, layout.strides, expected, strict=True))


def kept_layout(layout: Layout) -> Layout:
    """Return the layout of a copy: the same order of dimensions, without gaps or repeats."""
    shape, strides = layout.shape, layout.strides
    if layout.row_major or is_dense(shape, strides):
        return layout
    return layout_of(layout.type, shape, output_strides(shape, ((shape, strides),)))


def formatted_layout(layout: Layout, memory_format: memory_format | None) -> Layout:
    """Return the layout of a copy in a format; None preserves the order of dimensions.

    Raises:
        RuntimeError: the layout does not have the rank of the format.
    """
    if memory_format is None or memory_format is preserve_format:
        return kept_layout(layout)
    if memory_format is contiguous_format:
        return layout_of(layout.type, layout.shape)
    rank = _RANKS[memory_format]
    if len(layout.shape) != rank:
        raise RuntimeError(
            f"required rank {rank} tensor to use {memory_format.name} format (shape {list(layout.shape)})"
        )
    return with_channels_last(layout)


def check_memory_format(value: Any) -> None:
    """Raise unless the value is a memory format or None.

    Raises:
        TypeError: the value is neither.
    """
    if value is not None and not isinstance(value, memory_format):
        raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(value).__name__}")


def new_format(value: Any) -> Any:
    """Return the memory format, or None, for a new tensor, which has no order of dimensions to preserve.

    Raises:
        RuntimeError: the format is ``preserve_format``.
        TypeError: the value is neither a memory format nor None.
    """
    check_memory_format(value)
    if value is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: there is no order of dimensions yet")
    return value
