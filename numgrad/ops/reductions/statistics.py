"""Variances, log-sum-exp, and sums and counts that pass over NaN or zeros."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ... import devices
from ..._layout import normal_dims, numel
from ..._tensor import Tensor, fresh
from ..._types import dtype, get_default_dtype, int64, tensor_type, to_dtype
from ..arguments import checked
from ..copying import convert
from ..pointwise.arithmetic import add, div, exp, mul, sub
from ..pointwise.comparison import eq, where
from ..pointwise.complexes import imag, real
from ..pointwise.powers import sqrt
from ..table import operation, public
from .axes import axis_view, numpy_names, reduced_shape, restored
from .sums import fold, folded, mean_dims, mean_gradient, summed_type

__all__ = [
    "count_nonzero", "logsumexp", "nanmean", "nansum", "std", "std_mean", "var", "var_mean",
]

# -- variances --------------------------------------------------------------------------------------------------


def _moments(
    input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool, root: bool
) -> tuple[Tensor, Tensor]:
    """The variance, or its square root, and the mean."""
    layout = input._layout
    if layout.type.dtype.is_complex:  # the squared distances of both parts
        spread = add(*[_moments(part(input), dims, correction, keepdim, False)[0] for part in (real, imag)])
        return sqrt(spread) if root else spread, mean_dims(input, dims, keepdim)
    spread, mean = devices.variance_axis(*axis_view(input, dims), correction, root)
    shape = reduced_shape(layout.shape, dims, keepdim)
    return fresh(spread, shape, layout.type), fresh(mean, shape, layout.type)


def _var_gradient(grad: Tensor, input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    """``2 / (n - correction) * (x - mean) * grad``."""
    grad = restored(grad, dims, keepdim)
    distance = sub(input, mean_dims(input, dims, True))
    freedom = numel(tuple([input._layout.shape[d] for d in dims])) - correction
    if freedom <= 0 and len(dims) == len(input._layout.shape):
        # As in PyTorch, where all is reduced: the mean's place is undefined, everything else infinitely far.
        return mul(grad, where(eq(distance, 0), float("nan"), float("inf")))
    return mul(mul(grad, 2 / freedom if freedom else float("inf")), distance)


def _std_gradient(
    grad: Tensor, input: Tensor, out: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool
) -> Tensor:
    """The gradient of the root of the variance, 0 where that is 0."""
    flat = eq(out, 0)
    of_variance = where(flat, 0, div(grad, where(flat, 1, mul(out, 2))))  # also when this is differentiated
    return _var_gradient(of_variance, input, dims, correction, keepdim)


@operation("VarBackward0", dims=["dims"])
def var_op(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    return _moments(input, dims, correction, keepdim, False)[0]


@var_op.gradient("input")
def _(grad, input, dims, correction, keepdim):
    """``grad * 2 * (input - mean(input)) / (count - correction)``."""
    return _var_gradient(grad, input, dims, correction, keepdim)


@operation("StdBackward0", dims=["dims"])
def std_op(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> Tensor:
    return _moments(input, dims, correction, keepdim, True)[0]


@std_op.gradient("input")
def _(grad, input, out, dims, correction, keepdim):
    """``grad * (input - mean(input)) / (out * (count - correction))``."""
    return _std_gradient(grad, input, out, dims, correction, keepdim)


@operation("VarMeanBackward0", outputs=["var", "mean"], dims=["dims"])
def var_mean_op(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _moments(input, dims, correction, keepdim, False)


@var_mean_op.gradient("input")
def _(grad, input, dims, correction, keepdim):
    """``grad[0] * 2 * (input - mean(input)) / (count - correction) + grad[1] / count``."""
    spread, mean = grad
    if mean is None:
        return _var_gradient(spread, input, dims, correction, keepdim)
    of_mean = mean_gradient(mean, input._layout.shape, dims, keepdim)
    return of_mean if spread is None else add(of_mean, _var_gradient(spread, input, dims, correction, keepdim))


@operation("StdMeanBackward0", outputs=["std", "mean"], dims=["dims"])
def std_mean_op(input: Tensor, dims: tuple[int, ...], correction: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    return _moments(input, dims, correction, keepdim, True)


@std_mean_op.gradient("input")
def _(grad, input, std, dims, correction, keepdim):
    """``grad[0] * (input - mean(input)) / (std * (count - correction)) + grad[1] / count``."""
    spread, mean = grad
    if mean is None:
        return _std_gradient(spread, input, std, dims, correction, keepdim)
    of_mean = mean_gradient(mean, input._layout.shape, dims, keepdim)
    if spread is None:
        return of_mean
    return add(of_mean, _std_gradient(spread, input, std, dims, correction, keepdim))


def _spread(
    name: str, compute: Callable[..., Any], input: Tensor, dim: Any, unbiased: bool | None, keepdim: bool,
    correction: float | None,
) -> Any:
    """Check the arguments of ``var``, ``std`` and their like, and compute."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() got both 'unbiased' and 'correction'")
    if correction is None:
        correction = 0 if unbiased is False else 1
    layout = input._layout
    kind = layout.type.dtype
    if kind.category <= int64.category:
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, not {kind} (shape {list(input.shape)})"
        )
    dims = normal_dims(dim, len(layout.shape))
    count = numel(tuple([layout.shape[d] for d in dims]))
    if count <= correction and numel(reduced_shape(layout.shape, dims, False)):
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            f"(input numel divided by output numel), but they are {correction} and {count}.",
            UserWarning,
            stacklevel=3,
        )
    return compute(input, dims, correction, keepdim)


def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None, **names: Any,
) -> Tensor:
    """The variance over all or some dimensions: the mean squared distance from the mean.

    The sum of squares is divided by the number of elements less ``correction`` (1; 0 if ``unbiased`` is False).

    Raises:
        RuntimeError: the elements are integers or bools.
    """
    if names:
        dim, keepdim = numpy_names("var", names, dim, keepdim)
    return _spread("var", var_op, input, dim, unbiased, keepdim, correction)


def std(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None, **names: Any,
) -> Tensor:
    """The standard deviation over all or some dimensions: the square root of :func:`var`.

    Raises:
        RuntimeError: the elements are integers or bools.
    """
    if names:
        dim, keepdim = numpy_names("std", names, dim, keepdim)
    return _spread("std", std_op, input, dim, unbiased, keepdim, correction)


@checked
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None, **names: Any,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean over all or some dimensions, as :func:`var`.

    Raises:
        RuntimeError: the elements are integers or bools.
    """
    if names:
        dim, keepdim = numpy_names("var_mean", names, dim, keepdim)
    return _spread("var_mean", var_mean_op, input, dim, unbiased, keepdim, correction)


@checked
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
    correction: float | None = None, **names: Any,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over all or some dimensions, as :func:`std`.

    Raises:
        RuntimeError: the elements are integers or bools.
    """
    if names:
        dim, keepdim = numpy_names("std_mean", names, dim, keepdim)
    return _spread("std_mean", std_mean_op, input, dim, unbiased, keepdim, correction)


# -- log-sum-exp ------------------------------------------------------------------------------------------------


@operation("LogsumexpBackward0", dims=["dims"])
def logsumexp_op(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    row = devices.logsumexp_axis(*axis_view(input, dims))
    return fresh(row, reduced_shape(input._layout.shape, dims, keepdim), input._layout.type)


@logsumexp_op.gradient("input")
def _(grad, input, out, dims, keepdim):
    return mul(restored(grad, dims, keepdim), exp(sub(input, restored(out, dims, keepdim))))


def logsumexp(input: Tensor, dim: Any = None, keepdim: bool = False, **names: Any) -> Tensor:
    """The logarithm of the sum of the exponentials over some dimensions, without overflow.

    Raises:
        TypeError: no dimensions are given.
        NotImplementedError: the elements are complex.
    """
    if names:
        dim, keepdim = numpy_names("logsumexp", names, dim, keepdim)
    if dim is None:
        raise TypeError("logsumexp() missing 1 required positional argument: 'dim'")
    kind = input._layout.type.dtype
    if kind.is_complex:
        raise NotImplementedError(
            f"\"logsumexp_cpu\" not implemented for '{kind.legacy}' (shape {list(input.shape)})"
        )
    if not kind.is_floating_point:
        input = convert(input, get_default_dtype())
    return logsumexp_op(input, normal_dims(dim, len(input._layout.shape)), keepdim)


# -- without NaN ------------------------------------------------------------------------------------------------


@operation("NansumBackward0", dims=["dims"])
def nansum_op(input: Tensor, dims: tuple[int, ...], keepdim: bool, kind: dtype | None = None) -> Tensor:
    return fold("nansum", input, dims, keepdim, summed_type(input._layout, kind))


@nansum_op.gradient("input")
def _(grad, input, dims, keepdim):
    return mul(restored(grad, dims, keepdim), convert(eq(input, input), input.dtype))


def nansum(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None, **names: Any
) -> Tensor:
    """The sum of the elements that are not NaN, over all or some dimensions.

    Raises:
        RuntimeError: the elements are complex.
    """
    if names:
        dim, keepdim = numpy_names("nansum", names, dim, keepdim)
    if input._layout.type.dtype.is_complex:
        raise RuntimeError(
            f"nansum on CPU does not support complex inputs ({input.dtype}, shape {list(input.shape)})"
        )
    return nansum_op(
        input, normal_dims(dim, len(input._layout.shape)), keepdim, None if dtype is None else to_dtype(dtype)
    )


def nanmean(
    input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None, **names: Any
) -> Tensor:
    """The mean of the elements that are not NaN, over all or some dimensions.

    Raises:
        RuntimeError: the elements are not floating-point numbers.
    """
    if names:
        dim, keepdim = numpy_names("nanmean", names, dim, keepdim)
    kind = input._layout.type.dtype
    if kind.category <= int64.category:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {kind.legacy} "
            f"(shape {list(input.shape)})"
        )
    total = nansum(input, dim, keepdim, dtype=dtype)
    dims = normal_dims(dim, len(input._layout.shape))
    return div(total, folded("numbers", input.detach(), dims, keepdim, total._layout.type))


def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None, **names: Any) -> Tensor:
    """How many elements are not 0, over all or some dimensions, as int64."""
    if names:
        dim, _ = numpy_names("count_nonzero", names, dim)
    dims = normal_dims(dim, len(input._layout.shape))
    return folded("nonzero", input.detach(), dims, False, tensor_type(int64, input.device))


for _function in (var, std, logsumexp, nansum, nanmean, count_nonzero):
    public(_function)
public(var_mean, method=False)
public(std_mean, method=False)
