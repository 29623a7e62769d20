"""Steps of reductions over the middle axis of a buffer, seen as (outer, length, inner), on a GPU."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numgrad_kernels.cpu import reductions as terms
from numgrad_kernels.cpu.extremes import adaptive_window, window
from numgrad_kernels.cuda import adapter, extremes, reductions
from numgrad_kernels.halves import WIDENING

from ..common import FOLDS, least_sure_norm, nothing
from ..plan import Buffer, New, Plan, Step
from .launching import INT64, THREADS
from .lines import power_of_two
from .memory import as_numbers, no_buffer, or_empty
from .pointwise import sum_step

__all__ = ["extreme_axis", "fold_axis", "logsumexp_axis", "max_pool", "norm_axis", "simplify", "variance_axis"]


#: Least number of elements that a thread folds where blocks share a column, or more threads share a row.
_LEAST = 16

#: Least number of elements of a row that are read four at once: fewer would gain little.
_SHORTEST_PACKED = 16

#: Threads whose accesses to neighbouring elements are combined.
_WARP = min(32, THREADS)

#: Greatest number of blocks of threads that share columns: some for each multiprocessor of a large GPU.
_BLOCKS = 8 if adapter.is_simulated() else 2048


@functools.lru_cache(maxsize=4096)
def shared_out(columns: int, length: int, inner: int, least: int = _LEAST) -> tuple[int, int, int, int, int]:
    """Return the number of blocks that share columns, and ``shift``, ``depth``, ``pieces`` and ``piece_size``.

    A thread has at least about ``least`` elements of a column.
    """
    enough = power_of_two(length)
    if inner == 1:
        depth = min(THREADS, max(min(_WARP, enough // 8), enough // least, 1))
    else:
        depth = min(THREADS // min(_WARP, power_of_two(inner)), max(enough // least, 1))
    groups = -(-columns // (THREADS // depth))
    pieces = max(1, min(_BLOCKS // groups, length // (depth * least)))
    piece_size = -(-length // (pieces * 4 * depth)) * 4 * depth  # whole lots of four elements for each thread
    pieces = max(1, -(-length // max(piece_size, 1)))
    near = depth if inner == 1 else THREADS // depth
    return groups * pieces, near.bit_length() - 1, depth, pieces, piece_size


def _joining(columns: int, pieces: int) -> tuple[int, int, tuple[int, int]]:
    """Return the kernels' ``shift`` and ``depth``, and the grid, where threads join the results of pieces."""
    _, shift, depth, *_ = shared_out(columns, pieces, 1)
    return shift, depth, (-(-columns // (THREADS // depth)), THREADS)


#: Parts of kernels that read four elements at once.
_PACKED: dict[str, Any] = {"read4": reductions.read4_packed, "PACKED": 1}


def packed(dtype: np.dtype, columns: int, length: int, inner: int) -> dict[str, Any] | None:
    """Return the parts of a kernel that reads four elements at once; None if not every row is aligned for that."""
    if inner > 1 or length < _SHORTEST_PACKED or (columns > 1 and length % 4) or dtype.kind == "c":
        return None
    return _PACKED


def _fold(
    p: Plan, x: Buffer, sizes: tuple[int, int, int], out: Buffer, *, term: Callable[..., Any] = terms.term,
    fold: Callable[..., Any] = terms.fold, finish: Callable[..., Any] = reductions.finish, initial: float = 0,
    divisor: float = 1.0, number: float = 0.0, parameters: Buffer | None = None,
) -> Buffer:
    """Add the steps of a reduction into ``out``, in its dtype; the functions replace the kernels' placeholders.

    The functions take ``number``, or for each column an element of ``parameters``.
    """
    outer, length, inner = sizes
    columns, compute = outer * inner, out.dtype
    if columns == 0:
        return out
    as_number: Any = float if compute.kind in "fc" else int
    given = reductions.given if parameters is None else reductions.own_parameter
    numbers: Any = or_empty(parameters, compute), as_number(number), as_number(initial), as_number(divisor)
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    totals = out if pieces == 1 else p.new(columns * pieces, compute)
    p.run(
        reductions.fold_axis, compute, x, columns, length, inner, *shares, *numbers, totals,
        grid=(blocks, THREADS), aligned=packed(x.dtype, columns, length, inner), term=term, fold=fold, given=given,
        finish=finish if pieces == 1 else reductions.finish,
    )
    if pieces > 1:
        shift, depth, grid = _joining(columns, pieces)
        p.run(
            reductions.fold_axis, compute, totals, columns, pieces, 1, shift, depth, 1, pieces, *numbers, out,
            grid=grid, term=terms.term, fold=fold, given=given, finish=finish,
        )
    return out


def fold_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, name: str, dtype: np.dtype, divisor: float = 1.0
) -> Buffer:
    """Return the buffer of the reduction ``name`` over the middle axis, of this dtype: "sum", "max" and so on.

    A floating-point or complex result is divided by ``divisor``.
    """
    if x.dtype in WIDENING:
        x = p.widened(x)
    out = p.new(outer * inner, dtype)
    values = as_numbers(out)
    finish = reductions.truth if dtype.kind == "b" else reductions.finish
    if divisor != 1:
        finish = reductions.share_of_complex if dtype.kind == "c" else reductions.share
    term, fold = FOLDS[name]
    _fold(
        p, as_numbers(x), (outer, length, inner), values, term=term, fold=fold, finish=finish,
        initial=nothing(name, values.dtype), divisor=divisor,
    )
    return out


#: Parts of the kernel for sums, and for their quotients.
_SUM, _SHARE = [
    (("term", terms.term), ("fold", terms.fold), ("given", reductions.given), ("finish", finish))
    for finish in (reductions.finish, reductions.share)
]


def simplify(p: Plan) -> None:
    """Merge sums of all elements of new memory with the passes that compute these, if nothing else reads them."""
    uses = Counter([getattr(operand, "memory", None) for step in p.steps for operand in step.operands])
    uses.update([result.memory for result in p.results])
    for number in reversed(range(len(p.steps) - 1)):
        computing, adding = p.steps[number : number + 2]
        if adding.__class__ is not Step or adding.kernel[0] is not reductions.fold_axis:
            continue
        (x, columns, *_, divisor, sums), parts = adding.operands, adding.kernel.parts
        if columns == 1 and x.memory.__class__ is New and uses[x.memory] == 2 and parts in (_SUM, _SHARE):
            merged = sum_step(computing, x, sums, divisor if parts == _SHARE else 1.0, adding.grid)
            p.steps[number : number + 2] = [merged] if merged else [computing, adding]


def variance_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, correction: float, root: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the variance over the middle axis, or its square root if ``root``, and of the mean.

    The variance is the sum of the squared distances from the mean, divided by ``length - correction``.
    """
    dtype, columns = x.dtype, outer * inner
    means, out = p.new(columns, dtype), p.new(columns, dtype)
    if columns == 0:
        return out, means
    blocks, shift, depth, pieces, piece_size = shared_out(columns, length, inner)
    finish = reductions.root_of_share if root else reductions.share
    freedom = float(max(length - correction, 0))
    moments = out if pieces == 1 else p.new(columns * pieces * 3, dtype)
    p.run(
        reductions.moments_axis, dtype, x, columns, length, inner, shift, depth, pieces, piece_size, freedom, moments,
        means, grid=(blocks, THREADS), aligned=packed(dtype, columns, length, inner), finish=finish,
        WHOLE=int(pieces == 1),
    )
    if pieces > 1:
        shift, depth, grid = _joining(columns, pieces)
        p.run(
            reductions.join_moments, dtype, moments, columns, length, pieces, piece_size, 1, 1, 0, shift, depth,
            freedom, out, means, grid=grid, finish=finish,
        )
    return out, means


def set_moments(
    p: Plan, x: Buffer, columns: int, length: int, inner: int, sets: int, members: int, first: int, step: int
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the variances and of the means of sets of columns of ``length`` elements, which are not 0.

    The columns are those of the middle axis, and their elements ``inner`` apart.  Set ``r`` has ``members`` columns,
    from number ``r * first`` on by ``step``.
    """
    dtype = x.dtype
    out, means = p.new(sets, dtype), p.new(sets, dtype)
    blocks, shift, depth, pieces, piece_size = shared_out(columns, length, inner)
    moments = p.new(columns * pieces * 3, dtype)
    p.run(
        reductions.moments_axis, dtype, x, columns, length, inner, shift, depth, pieces, piece_size, 1.0, moments,
        means, grid=(blocks, THREADS), aligned=packed(dtype, columns, length, inner), finish=reductions.share, WHOLE=0,
    )
    shift, depth, grid = _joining(sets, members * pieces)
    p.run(
        reductions.join_moments, dtype, moments, sets, length, pieces, piece_size, members, first, step, shift, depth,
        float(members * length), out, means, grid=grid, finish=reductions.share,
    )
    return out, means


def logsumexp_axis(p: Plan, x: Buffer, outer: int, length: int, inner: int) -> Buffer:
    """Return the buffer of the logarithm of the sum of exponentials over the middle axis."""
    sizes, columns = (outer, length, inner), outer * inner
    largest = _fold(
        p, x, sizes, p.new(columns, x.dtype), fold=terms.larger, finish=reductions.finite, initial=-np.inf
    )
    out = p.new(columns, x.dtype)
    return _fold(p, x, sizes, out, term=terms.exponential, finish=reductions.logarithm, parameters=largest)


#: Reductions for norms of special orders; all other norms are roots of sums of powers.
_NORMS: dict[float, dict[str, Any]] = {
    np.inf: {"term": terms.magnitude, "fold": terms.larger},
    -np.inf: {"term": terms.magnitude, "fold": terms.smaller, "initial": np.inf},
    0: {"term": terms.nonzero},
    1: {"term": terms.magnitude},
    2: {"term": terms.square, "finish": reductions.root},
}


def norm_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, order: float, dtype: np.dtype
) -> Buffer:
    """Return the buffer of the norms, of this order and dtype, of the vectors along the middle axis."""
    functions = _NORMS.get(order)
    if functions is None:
        functions = {"term": terms.power, "finish": reductions.to_the_power, "number": order, "divisor": 1 / order}
    columns = outer * inner
    norms = _fold(p, x, (outer, length, inner), p.new(columns, dtype), **functions)
    if 1 < order < np.inf:
        least = least_sure_norm(dtype, order)
        p.run(
            reductions.sure_norms, dtype, x, columns, length, inner, order, least, norms,
            grid=(-(-columns // THREADS), THREADS),
        )
    return norms


def extreme_axis(
    p: Plan, x: Buffer, outer: int, length: int, inner: int, largest: bool
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest (or smallest) elements over the middle axis, and of their indices."""
    columns = outer * inner
    out, indices = p.new(columns, x.dtype), p.new(columns, INT64)
    if columns == 0:
        return out, indices
    x, values = as_numbers(x), as_numbers(out)
    fold = terms.larger if largest else terms.smaller
    blocks, *shares = shared_out(columns, length, inner)
    pieces = shares[2]
    candidates: Any = no_buffer(INT64)
    if pieces > 1:
        bests, bests_indices = p.new(columns * pieces, x.dtype), p.new(columns * pieces, INT64)
        p.run(
            extremes.extreme_axis, x.dtype, x, candidates, columns, length, inner, *shares, bests, bests_indices,
            grid=(blocks, THREADS), aligned=packed(x.dtype, columns, length, inner), fold=fold,
            index_of=extremes.index_of,
        )
        x, candidates, length, inner = bests, bests_indices, pieces, 1
        shift, depth, (blocks, _) = _joining(columns, pieces)
        shares = [shift, depth, 1, pieces]
    p.run(
        extremes.extreme_axis, x.dtype, x, candidates, columns, length, inner, *shares, values, indices,
        grid=(blocks, THREADS), aligned=packed(x.dtype, columns, length, inner), fold=fold,
        index_of=extremes.index_found if pieces > 1 else extremes.index_of,
    )
    return out, indices


def max_pool(
    p: Plan, x: Buffer, sizes: Sequence[int], work: int, count: int, adaptive: bool = False
) -> tuple[Buffer, Buffer]:
    """Return the buffers of the largest elements of ``count`` windows, and of their indices in the images.

    See the function of the CPU for the arguments.
    """
    out, indices = p.new(count, x.dtype), p.new(count, INT64)
    operands = x, *sizes, nothing("max", x.dtype), count, out, indices
    p.run(extremes.max_pool, x.dtype, *operands, work=count, window=adaptive_window if adaptive else window)
    return out, indices
