"""Variances, log-sum-exp, and sums and counts that skip NaN or zeros."""

from __future__ import annotations

import warnings
from typing import Any

from numgrad_kernels import scalar

from ...core.layout import Layout, layout_of, normal_dims, numel
from ...core.types import bool_, dtype, get_default_dtype, int64, real_of
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..memory.copying import convert
from ..pointwise.arithmetic import add, conj, div, mul, sub
from ..pointwise.comparison import eq, isinf, where
from ..pointwise.exponential import exp
from ..table.arguments import ALL, Dims, DType
from ..table.checks import check, check_supported, check_type
from ..table.declaring import pointwise
from ..table.lookup import lookup, operation
from ..table.op import named
from ..table.operands import fused
from ..table.planned import Planned
from .axes import reduced_along, reduced_shape, restored
from .sums import folded, mean_dims, mean_gradient, sum_dims, summed_type

# -- variances --------------------------------------------------------------------------------------------------


def _moments_op(name: str, node: str, **declared: Any) -> Planned:
    """Return the operation ``name``: the variance or its root, and perhaps the mean.

    With ``warns``, a call warns if the variance is undefined.
    """
    root, several = name.startswith("std"), name.endswith("mean")

    def decide(
        p: Plan, input: TensorRef, dims: tuple[int, ...], correction: float, keepdim: bool, warns: bool = False
    ) -> TensorRef | tuple[TensorRef, TensorRef]:
        if warns:
            count = numel(tuple([input.shape[d] for d in dims]))
            p.call(_warn_of_freedom, name, correction, count)
        if input.type.dtype.is_complex:
            spread, mean = _complex_moments(p, input, dims, correction, keepdim, root)
        else:
            shape = reduced_shape(input.shape, dims, keepdim)
            spread, mean = [
                p.tensor(buffer, input.type, shape)
                for buffer in reduced_along(p, "variance_axis", input, dims, correction, root)
            ]
        return (spread, mean) if several else spread

    decide.__name__ = f"{name}_op"
    return operation(node, dims=["dims"], **declared)(decide)


def _warn_of_freedom(name: str, correction: float, count: int) -> None:
    warnings.warn(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
        f"numel divided by output numel), but they are {correction} and {count}.",
        UserWarning,
        stacklevel=4,
    )


def _complex_moments(
    p: Plan, input: TensorRef, dims: tuple[int, ...], correction: float, keepdim: bool, root: bool
) -> tuple[TensorRef, TensorRef]:
    """Add the steps that compute the variance over both parts of complex numbers, or its root, and the mean."""
    type, shape = input.type.with_dtype(real_of(input.type.dtype)), reduced_shape(input.shape, dims, keepdim)
    parts = [fused(p, "part", part, [input], layout_of(type, input.shape), input.type.numpy) for part in _PARTS]
    spreads = [
        p.tensor(reduced_along(p, "variance_axis", part, dims, correction, False)[0], type, shape) for part in parts
    ]
    out = fused(p, "variances", _root_of_parts if root else _sum_of_parts, spreads, layout_of(type, shape))
    return out, mean_dims.build(p, input, dims, keepdim)


def _real_of(input):
    return input.real


def _imag_of(input):
    return input.imag


#: The functions that take the parts of a complex number.
_PARTS = _real_of, _imag_of


def _sum_of_parts(real, imag):
    return real + imag


def _root_of_parts(real, imag):
    return scalar.sqrt(real + imag)


def _var_gradient(grad, input, dims, correction, keepdim):
    """``grad * 2 * (input - mean(input)) / (count - correction)``."""
    grad = restored(grad, dims, keepdim)
    mean = mean_dims(input, dims, True)
    freedom = numel(tuple([input._layout.shape[d] for d in dims])) - correction
    if freedom <= 0 and len(dims) == len(input._layout.shape):
        # As in PyTorch, if all dimensions are reduced: undefined for elements equal to the mean, else infinite.
        return mul(grad, where(eq(sub(input, mean), 0), float("nan"), float("inf")))
    return distance_product(mul(grad, 2 / freedom if freedom else float("inf")), input, mean)


@pointwise("VarBackwardBackward0", aten="mul", dtypes="fc", inplace=False, export=False)
def distance_product(grad_output, input, mean):
    """``grad_output * (input - mean)``."""
    return grad_output * (input - mean)


@distance_product.gradient("grad_output")
def _(grad, input, mean):
    return grad * conj(input - mean)


@distance_product.gradient("input")
def _(grad, grad_output):
    return grad * conj(grad_output)


@distance_product.gradient("mean")
def _(grad, grad_output):
    return -grad * conj(grad_output)


def _std_gradient(grad, input, out, dims, correction, keepdim):
    """``grad * (input - mean(input)) / (out * (count - correction))``, 0 where the deviation is 0."""
    return _var_gradient(root_slope(grad, out), input, dims, correction, keepdim)


@pointwise("StdBackwardBackward0", aten="div", dtypes="f", inplace=False, export=False)
def root_slope(grad_output, root):
    """``grad_output / (2 * root)``, 0 where ``root`` is 0."""
    return where(root == 0, 0, grad_output / (2 * where(root == 0, 1, root)))


@root_slope.gradient("grad_output")
def _(grad, root):
    return root_slope(grad, root)


@root_slope.gradient("root")
def _(grad, grad_output, root):
    return -2 * root_slope(root_slope(grad * grad_output, root), root)


var_op, std_op = _moments_op("var", "VarBackward0"), _moments_op("std", "StdBackward0")
var_mean_op = _moments_op("var_mean", "VarMeanBackward0", outputs=["var", "mean"])
std_mean_op = _moments_op("std_mean", "StdMeanBackward0", outputs=["std", "mean"])


var_op.gradient("input")(_var_gradient)
std_op.gradient("input")(_std_gradient)


@var_mean_op.gradient("input")
def _(grad, input, dims, correction, keepdim):
    """``grad[0] * 2 * (input - mean(input)) / (count - correction) + grad[1] / count``."""
    spread, mean = grad
    if mean is None:
        return _var_gradient(spread, input, dims, correction, keepdim)
    of_mean = mean_gradient(mean, input._layout.shape, dims, keepdim)
    return of_mean if spread is None else add(of_mean, _var_gradient(spread, input, dims, correction, keepdim))


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


def _moments(op: Planned, example: str, text: str) -> Any:
    """Return the public function of one of these operations.

    ``text`` begins its docstring; ``example`` is the result for three numbers.
    """
    name = op.name.removesuffix("_op")

    def resolve(
        input: Layout, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        check_type(unbiased is None or correction is None, "{}() got both 'unbiased' and 'correction'", name)
        if correction is None:
            correction = 0 if unbiased is False else 1
        dtype = input.type.dtype
        check(
            dtype.category > int64.category,
            "std and var only support floating point and complex dtypes, not {}", dtype, input,
        )
        dims = normal_dims(dim, len(input.shape))
        undefined = numel(tuple([input.shape[d] for d in dims])) <= correction
        return op, (dims, correction, keepdim, undefined and numel(reduced_shape(input.shape, dims, False)) > 0)

    resolve.__annotations__["return"] = Tensor if len(op.outputs) == 1 else tuple[Tensor, Tensor]
    doc = f"""{text}

    Raises:
        RuntimeError: the elements are integers or bools.

    Example:
        >>> import numgrad
        >>> numgrad.{name}(numgrad.tensor([1.0, 2.0, 4.0]))
        {example}
    """
    return lookup(named(resolve, name, doc), method=op in (var_op, std_op))


var = _moments(
    var_op,
    "tensor(2.3333)",
    """The variance over all or some dimensions: the mean squared distance from the mean.

    The sum of squares is divided by the number of elements less ``correction`` (1; 0 if ``unbiased`` is False).""",
)
std = _moments(
    std_op, "tensor(1.5275)", "The standard deviation over all or some dimensions: the square root of :func:`var`."
)
var_mean = _moments(
    var_mean_op, "(tensor(2.3333), tensor(2.3333))",
    "The variance and the mean over all or some dimensions, as :func:`var`.",
)
std_mean = _moments(
    std_mean_op, "(tensor(1.5275), tensor(2.3333))",
    "The standard deviation and the mean over all or some dimensions, as :func:`std`.",
)


# -- log-sum-exp ------------------------------------------------------------------------------------------------


@operation("LogsumexpBackward0", public=True)
def logsumexp_op(p: Plan, input: TensorRef, dim: Dims, keepdim: bool = False) -> TensorRef:
    """The logarithm of the sum of the exponentials over some dimensions, without overflow.

    Raises:
        NotImplementedError: the elements are complex.

    Example:
        >>> import numgrad
        >>> numgrad.logsumexp(numgrad.tensor([1000.0, 1000.0]), 0)
        tensor(1000.6932)
    """
    check_supported(input, "bif", "logsumexp_cpu")
    dtype = input.type.dtype if input.type.dtype.is_floating_point else get_default_dtype()
    out = reduced_along(p, "logsumexp_axis", input, dim, dtype=dtype)
    return p.tensor(out, input.type.with_dtype(dtype), reduced_shape(input.shape, dim, keepdim))


@logsumexp_op.gradient("input")
def _(grad, input, out, dim, keepdim):
    """``grad * softmax(input, dim)``."""
    # The rounding error of a large out, a logarithm, scales exp(input - out) by a factor.  The sum over the dimensions,
    # which would be 1 without it, has the same factor.
    top = restored(out, dim, keepdim)
    shares = exp(sub(input, top))
    total = where(isinf(top), 1.0, sum_dims(shares, dim, True))
    return mul(restored(grad, dim, keepdim), div(shares, total))


# -- without NaN ------------------------------------------------------------------------------------------------


@operation("NansumBackward0", public=True)
def nansum_op(p: Plan, input: TensorRef, dim: Dims = ALL, keepdim: bool = False, *, dtype: DType = None) -> TensorRef:
    """The sum of the elements that are not NaN, over all or some dimensions.

    Raises:
        RuntimeError: the elements are complex.

    Example:
        >>> import numgrad
        >>> numgrad.nansum(numgrad.tensor([1.0, numgrad.nan]))
        tensor(1.)
    """
    kind = input.type.dtype
    check(not kind.is_complex, "nansum on CPU does not support complex inputs ({}, shape {})", kind, input)
    type = summed_type(input, dtype)
    return folded(p, "nanany" if type.dtype is bool_ else "nansum", input, dim, keepdim, type)


@nansum_op.gradient("input")
def _(grad, input, dim, keepdim):
    return mul(restored(grad, dim, keepdim), convert(eq(input, input), input.dtype))


@lookup
def nanmean(input: Layout, dim: Dims = ALL, keepdim: bool = False, *, dtype: DType = None) -> Any:
    """The mean of the elements that are not NaN, over all or some dimensions.

    Raises:
        RuntimeError: the elements are not floating-point numbers.

    Example:
        >>> import numgrad
        >>> numgrad.nanmean(numgrad.tensor([1.0, numgrad.nan, 3.0]))
        tensor(2.)
    """
    chosen = input.type.dtype
    check(
        chosen.category > int64.category,
        "nanmean(): expected input to have floating point or complex dtype but got {}", chosen.legacy, input,
    )
    return _nanmean, (dim, keepdim, dtype)


def _nanmean(input: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: dtype | None) -> Tensor:
    total = nansum_op(input, dims, keepdim, dtype)
    return div(total, sum_dims(eq(input, input), dims, keepdim, total.dtype))


@operation("CountNonzeroBackward0", public=True, nondifferentiable=["input"])
def count_nonzero_op(p: Plan, input: TensorRef, dim: Dims = ALL) -> TensorRef:
    """The number of nonzero elements, over all or some dimensions, as int64.

    Example:
        >>> import numgrad
        >>> numgrad.count_nonzero(numgrad.tensor([0, 3, 5]))
        tensor(2)
    """
    return folded(p, "nonzero", input, dim, False, input.type.with_dtype(int64))
