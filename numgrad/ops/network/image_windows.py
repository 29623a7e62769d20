"""Pooling windows of images: their sizes as users specify them, their counts, and checks of both."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.layout import Ints, Layout, layout_of
from ...devices import Plan, TensorRef
from ..shapes.views import for_each_dimension
from ..table.checks import check

#: A size for the dimensions of a window: one number for all, or one for each.
Numbers = int | Sequence[int]


def window_numbers(name: str, argument: str, value: Numbers, rank: int) -> Ints:
    """Return a number for each dimension, from an argument of the function ``name``.

    Raises:
        RuntimeError: the argument has more or fewer numbers.
    """
    numbers = for_each_dimension(value, rank, argument)
    if len(numbers) != rank:
        if rank == 1 and not name.startswith("max"):
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(numbers)})")
        must = {"stride": "must either be omitted,", "dilation": "must be either"}.get(argument, "must either be")
        if name == "avg_pool3d":
            must = must.replace("either be omitted", "be omitted").replace("either be", "be")
        count = ("one int", "two ints", "three ints")[rank - 1]
        raise RuntimeError(f"{name}: {argument} {must} a single int, or a tuple of {count}")
    return numbers


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """Return the number of windows along a dimension; ``ceil`` counts those that begin before the end padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-span // stride) + 1 if ceil else span // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def window_counts(
    input: Layout, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> Ints:
    """Return the number of windows along each of the last dimensions.

    Raises:
        RuntimeError: no window fits.
    """
    rank = len(kernel_size)
    outer, size = input.shape[:-rank], input.shape[-rank:]
    each_dim = zip(size, kernel_size, stride, padding, dilation, strict=True)
    windows = tuple([window_count(*each, ceil) for each in each_dim])
    if min(windows) < 1:
        before, after = [f"({'x'.join(map(str, (outer[-1], *each)))})" for each in (size, windows)]
        raise RuntimeError(f"Given input size: {before}. Calculated output size: {after}. Output size is too small")
    return windows


def check_windows(input: Layout, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    """Raise unless the images, batched or not, can be pooled with these windows.

    Raises:
        RuntimeError: the shape or the numbers do not fit.
    """
    rank = len(kernel_size)
    ranks = f"{rank + 1}D or {rank + 2}D (batch mode) tensor"
    check(len(input.shape) in (rank + 1, rank + 2), "non-empty {} expected for input", ranks)
    for k, s, p, d in zip(kernel_size, stride, padding, dilation, strict=True):
        check(s != 0, "stride should not be zero")
        check(p >= 0, "pad must be non-negative, but got pad: {}", p)
        check(
            p <= int((d * (k - 1) + 1) / 2),
            "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}",
            p, k, d,
        )
    numbers = ("kernel size", "k", kernel_size), ("stride", "d", stride), ("dilation", "dilation", dilation)
    for name, letter, extents in numbers:
        if min(extents) < 1:
            sizes = " ".join([f"{letter}{dim}: {number}" for dim, number in zip("THW"[-rank:], extents, strict=True)])
            raise RuntimeError(f"{name} should be greater than zero, but got {sizes}")
    if 0 in input.shape[-rank - 1 :]:
        raise RuntimeError(f"Expected {ranks} with optional 0 dim batch size for input, but got:{list(input.shape)}")


def spread(
    p: Plan, input: TensorRef, sizes: Sequence[int], low: Sequence[int], step: Sequence[int] = ()
) -> TensorRef:
    """Add the steps that put images into zeros of ``sizes``: the first element at ``low``, the next ``step`` later.

    Images are the last ``len(sizes)`` dimensions.  Elements that would lie outside are dropped.
    """
    step, outer = step or (1,) * len(sizes), len(input.shape) - len(sizes)
    if tuple(sizes) == input.shape[outer:] and not any(low):
        return input
    first, begin, counts = zip(*map(_inside, input.shape[outer:], sizes, low, step), strict=True)
    shape, strides = (*input.shape[:outer], *counts), input.layout.strides
    source = input.viewed(layout_of(input.type, shape, strides), _offset(first, strides[outer:]))
    out = p.new_tensor(layout_of(input.type, (*input.shape[:outer], *sizes)), zeroed=counts != tuple(sizes))
    wide = [each * stride for each, stride in zip(step, out.layout.strides[outer:], strict=True)]
    within = layout_of(input.type, shape, (*out.layout.strides[:outer], *wide))
    p.assign(source, out.viewed(within, _offset(begin, out.layout.strides[outer:])))
    return out


def _inside(extent: int, size: int, low: int, step: int) -> tuple[int, int, int]:
    """Return the number of elements before position 0, the position of the next, and the number in [0, ``size``)."""
    skipped = max(0, -(low // step))
    begin = low + step * skipped
    return skipped, begin, max(0, min(extent - skipped, -((begin - size) // step)))


def _offset(indices: Sequence[int], strides: Sequence[int]) -> int:
    return sum([index * stride for index, stride in zip(indices, strides, strict=True)])
