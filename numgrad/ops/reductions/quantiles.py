"""Quantiles: the values below which a given share of the elements lies."""

from __future__ import annotations

from ...core.layout import normal_dim
from ...core.types import float32, int64
from ...tensors.tensor import Tensor
from ..creation.from_data import tensor
from ..indexing.gathering import gather_op
from ..memory.copying import convert
from ..pointwise.comparison import isnan
from ..shapes.dimensions import movedim, squeeze_dim, unsqueeze
from ..shapes.views import reshape
from ..table.autocasting import autocasting
from ..table.checks import check
from ..table.op import composite
from .sorting import sort

_INTERPOLATIONS = "linear", "lower", "higher", "midpoint", "nearest"

#: The limit up to which float32 represents every integer.
_MOST = 2**24


@composite
@autocasting
def quantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The ``q``-quantiles along a dimension; NaN where there is a NaN.

    Args:
        input: float32 or float64.
        q: one share from 0 to 1, or a 1-d tensor of several, of the input's dtype, for which the result has an
            additional first dimension.
        dim: the dimension; None for all elements.
        keepdim: True to keep the dimension, with size 1.
        interpolation: between two elements: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        RuntimeError: a share is not from 0 to 1, there are no elements, or more than 2**24 of float32 along the
            dimension, or the dtypes or shapes do not fit.

    Example:
        >>> import numgrad
        >>> numgrad.quantile(numgrad.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
        tensor(2.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite
@autocasting
def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN; NaN where all are.

    Example:
        >>> import numgrad
        >>> numgrad.nanquantile(numgrad.tensor([1.0, numgrad.nan, 3.0]), 0.5)
        tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _quantile(
    name: str, input: Tensor, q: float | Tensor, dim: int | None, keepdim: bool, interpolation: str, skip: bool
) -> Tensor:
    shares = _checked(name, input, q, interpolation)
    rank, is_single = len(input._layout.shape), len(shares._layout.shape) == 0
    axis = 0 if dim is None else normal_dim(dim, max(rank, 1))
    along = rank > 0 and dim is not None
    lines = movedim(input, axis, -1) if along else reshape(input, (1, -1) if dim is None else (1,))
    count = lines._layout.shape[-1]
    if count > _MOST and input.dtype is float32:
        raise RuntimeError(f"{name}() input tensor is too large: {count} elements; float32 cannot number them")
    ordered = sort(lines, -1)[0]

    missing = isnan(ordered).detach()
    last = (count - 1 - missing.sum(-1, keepdim=True)).clamp(min=0) if skip else count - 1
    where = shares.reshape(-1) * last  # fractional positions among the sorted elements: (..., shares)
    if not skip:
        where = where.where(missing[..., -1:].logical_not(), count - 1.0)  # NaNs sort last
    where = where.expand(*ordered._layout.shape[:-1], -1)
    if interpolation in ("lower", "higher", "nearest"):
        where = where.detach()
        chosen = {"lower": where.floor, "higher": where.ceil, "nearest": where.round}[interpolation]()
        out = gather_op(ordered, convert(chosen, int64), len(ordered._layout.shape) - 1)
    else:
        below = convert(where.detach(), int64)
        pair = below, convert(where.detach().ceil(), int64)
        low, high = [gather_op(ordered, index, len(ordered._layout.shape) - 1) for index in pair]
        out = low.lerp(high, 0.5 if interpolation == "midpoint" else where - below)
    out = movedim(out, -1, 0)  # (shares, ...)
    if keepdim:
        out = reshape(out, (-1, *(1,) * rank)) if dim is None else unsqueeze(out, axis + 1)
    elif dim is None:
        out = squeeze_dim(out, 1)
    if not rank and dim is not None:
        out = reshape(out, (-1,))
    return squeeze_dim(out, 0) if is_single else out


def _checked(name: str, input: Tensor, q: float | Tensor, interpolation: str) -> Tensor:
    """Return the shares as a tensor: 0-d for a single number, else 1-d."""
    check(input.numel(), "{}() input tensor must be non-empty", name, input)
    if not input.is_floating_point():
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, not {input.dtype}")
    check(
        interpolation in _INTERPOLATIONS,
        "{}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {}", name, interpolation,
    )
    if not isinstance(q, Tensor):
        check(0 <= q <= 1, "{}() q must be in the range [0, 1] but got {}", name, q)
        return tensor(q, dtype=input.dtype, device=input.device)
    check(len(q._layout.shape) <= 1, "{}() q must be a scalar or 1D tensor, not of shape {}", name, q)
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor: {q.dtype} and {input.dtype}")
    check(bool(((q >= 0) & (q <= 1)).all()), "{}() q values must be in the range [0, 1]", name)
    return q
