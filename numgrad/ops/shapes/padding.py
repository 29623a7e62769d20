"""Padding: additional elements at the ends of the last dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.layout import Layout, layout_of
from ...core.types import dtype
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..memory.copying import clone_op, contiguous
from ..memory.images import in_format
from ..memory.overwriting import fitting
from ..network.resampling import LineMap, check_rows, map_maker, resampled
from ..table.checks import check, check_implemented, check_supported
from ..table.lookup import lookup, operation
from .joining import cat
from .parts import cut, slice_op
from .views import sizes_of


@operation("ConstantPadNdBackward0", direct=True, aten="constant_pad_nd", dims=(), numbers=["value"])
def constant_pad(p: Plan, input: TensorRef, pad: tuple[int, ...], value: Given | None) -> TensorRef:
    """Return the input with ``value``, by default 0, around it; a negative number in ``pad`` removes elements."""
    widths = _by_dimension(len(input.shape), pad)
    source = cut(input, [(dim, max(-low, 0), input.shape[dim] - max(-high, 0)) for dim, low, high in widths])
    if not any(n > 0 for n in pad):
        return clone_op.build(p, source)
    out = p.new_tensor(layout_of(input.type, _padded_shape(input.shape, pad)), value is None)
    if value is not None:
        p.fill(p.contiguous(out), value)
    p.assign(source, cut(out, [(dim, max(low, 0), max(low, 0) + source.shape[dim]) for dim, low, _ in widths]))
    return in_format(p, [input.layout], out)


@constant_pad.gradient("input")
def _(grad, pad):
    """``constant_pad(grad, -pad, None)``."""
    return constant_pad(grad, tuple([-n for n in pad]), None)


def _by_dimension(rank: int, pad: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return the padded dimensions, from the last one on, with the numbers of elements before and after."""
    return [(rank - 1 - n, low, high) for n, (low, high) in enumerate(zip(pad[::2], pad[1::2], strict=True))]


def _padded_shape(shape: tuple[int, ...], pad: tuple[int, ...]) -> tuple[int, ...]:
    extents = list(shape)
    for dim, low, high in _by_dimension(len(shape), pad):
        # Removed elements must exist, whatever is added at the other end.
        if extents[dim] + min(low, 0) + min(high, 0) < 0:
            raise RuntimeError(
                f"narrow(): length must be non-negative. (padding {list(pad)} of shape {list(shape)})"
            )
        extents[dim] += low + high
    return tuple(extents)


def _cropped(input: Tensor, dim: int, low: int, high: int) -> Tensor:
    """Return the input without the elements that negative widths remove at both ends of a dimension."""
    extent = input._layout.shape[dim]
    start, stop = min(max(-low, 0), extent), extent - max(-high, 0)
    return input if (start, stop) == (0, extent) else slice_op(input, dim, start, max(start, stop), 1)


@map_maker
def _edge_map(mode: str, size: int, low: int, high: int) -> LineMap:
    """Return the map of a dimension to itself with elements added or removed at its ends, mirrored or repeated."""
    check_rows(low + size + high)
    source = np.arange(-low, size + high)
    if mode == "reflect":
        source = np.where(source < 0, -source, np.where(source < size, source, 2 * (size - 1) - source))
    return LineMap(size, np.clip(source, 0, size - 1))


def _at_edges(input: Layout, widths: tuple[int, ...], mode: str) -> Any:
    """Return the operation that pads with elements at the edges, and its arguments.

    Raises:
        RuntimeError: if there are not enough elements to mirror.
        NotImplementedError: if the elements are bools.
    """
    rank, count = len(input.shape), len(widths) // 2
    name = {"reflect": "Reflection", "replicate": "Replication"}[mode]
    check_supported(input, "ifc", f"{name.lower()}_pad{count}d")
    maps = []
    for dim, low, high in _by_dimension(rank, widths):
        extent = input.shape[dim]
        if mode == "reflect" and max(low, high) >= extent:
            raise RuntimeError(
                f"Argument #{2 * (rank - dim) + 2}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({low}, {high}) at dimension {dim} of input {list(input.shape)}"
            )
        maps.append(_edge_map(mode, extent, low, high))
    op, *arguments = resampled(f"{name}Pad{count}D", *reversed(maps))
    return op, arguments


def _circular(input: Tensor, dim: int, low: int, high: int) -> Tensor:
    """Pad with elements of the other end, after negative widths have removed elements."""
    kept = _cropped(input, dim, low, high)
    extent = kept._layout.shape[dim]
    left = input._layout.shape[dim] + low + high
    if max(low, high) > (extent if left else input._layout.shape[dim]):
        raise RuntimeError(
            f"Padding value causes wrapping around more than once. (padding ({low}, {high}) at dimension {dim} of "
            f"input {list(input.shape)})"
        )
    if not left:
        return kept
    front, back = slice_op(kept, dim, extent - max(low, 0), extent, 1), slice_op(kept, dim, 0, max(high, 0), 1)
    return cat([front, kept, back], dim)


_MODES = ("reflect", "replicate", "circular")


def _check_extents(input: Layout, widths: tuple[int, ...], mode: str) -> None:
    """Raise unless the result has elements, and the input has elements to copy.

    Raises:
        RuntimeError: if there are none.
    """
    rank, count = len(input.shape), len(widths) // 2
    extents = input.shape[rank - count :]
    sizes = [input.shape[dim] + low + high for dim, low, high in _by_dimension(rank, widths)]
    if mode == "circular":
        check(
            min(sizes) >= 0,
            "Negative padding value is resulting in an empty dimension (padding {} of shape {})", widths, input,
        )
        return
    check(
        0 not in input.shape[int(rank == count + 2) :],
        "Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
        "but got: {}", count + 1, count + 2, input,
    )
    if min(sizes) < 0 or max(sizes) < 1:
        before, after = [
            [f"{name}: {size}" for name, size in zip("DHW"[-count:], shape, strict=True)]
            for shape in (extents, reversed(sizes))
        ]
        raise RuntimeError(f"input ({', '.join(before)}) is too small. Calculated output {' '.join(after)}")


@lookup(export=False)
def pad(input: Layout, pad: Any, mode: str = "constant", value: Layout | Any = None) -> Any:
    """Return the tensor with elements added or removed at the ends of its last dimensions.

    ``pad`` holds two numbers, before and after, for the last dimension, then two for the one before it, and so on.  The
    new elements are a constant ``value``, or copies of the tensor's own: ``reflect`` mirrors them at the edge,
    ``replicate`` repeats the edge, ``circular`` continues at the other end.  A negative number removes elements.

    Raises:
        RuntimeError: if there is an odd number of numbers, or more than the dimensions can take, or nothing is left.
        NotImplementedError: if there is no such mode, or not for that number of dimensions.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.pad(numgrad.tensor([[1, 2]]), (1, 2))
        tensor([[0, 1, 2, 0, 0]])
    """
    widths = sizes_of((), pad, "pad(): argument 'pad'")
    rank = len(input.shape)
    if len(widths) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2 (pad {list(widths)})")
    check(
        len(widths) <= 2 * rank,
        "Padding length should be less than or equal to two times the input dimension but got padding length {} and "
        "input of dimension {}", len(widths), rank,
    )
    if mode == "constant":
        _padded_shape(input.shape, widths)
        if isinstance(value, Layout):
            return lambda input, value: constant_pad(input, widths, _as_value(value, input.dtype)), ()
        number = None if value is None else _as_value(value, input.type.dtype)
        return constant_pad, (input, widths, number)
    check_implemented(mode in _MODES, "Unrecognised padding mode {}", mode)
    check(value in (None, 0), "Padding mode \"{}\" doesn't take in value argument", mode)
    check_implemented(
        rank - len(widths) // 2 in (1, 2) and 0 < len(widths) <= 6,
        "Padding size {} is not supported for {}D input tensor (shape {}): all dimensions but the first, or but the "
        "first two, are padded, and those are 1 to 3", len(widths), rank, input,
    )
    _check_extents(input, widths, mode)
    return (_wrapped, (widths,)) if mode == "circular" else _at_edges(input, widths, mode)


def _wrapped(input: Tensor, widths: tuple[int, ...]) -> Tensor:
    result = input
    for dim, low, high in _by_dimension(len(input._layout.shape), widths):
        result = _circular(result, dim, low, high)
    return contiguous(result)


def _as_value(value: Any, dtype: dtype) -> Any:
    """Return the constant as a Python number that the dtype can hold."""
    if isinstance(value, Tensor):
        value = value.item()
    if dtype.is_floating_point or dtype.is_complex:
        return fitting(value, dtype)
    if dtype.category == 0:
        return bool(value)
    return np.int64(fitting(int(value), dtype)).astype(dtype.numpy).item()  # negative ones wrap around
