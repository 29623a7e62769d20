"""Activation functions built from exponentials: ELU and its relatives, softplus, SiLU, mish, GELU, GLU."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ...core.layout import Layout, layout_of, normal_dim
from ...core.types import bool_
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..shapes.joining import cat
from ..shapes.parts import slice_op
from ..table.callables import overload
from ..table.checks import check, check_supported
from ..table.declaring import pointwise
from ..table.lookup import lookup, operation
from ..table.op import in_place_form, public
from .activation import activated
from .arithmetic import abs, conj, mul
from .comparison import where
from .exponential import exp, log1p, sigmoid, sigmoid_backward, tanh, tanh_backward
from .special import erfc, log_one_plus_exp

#: The public functions of ``nn.functional`` defined here.
__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "logsigmoid", "mish", "selu", "selu_", "silu", "softplus",
    "softsign", "tanhshrink",
]


@pointwise("EluBackward0", dtypes="f", export=False)
def elu_op(input, *, alpha=1, scale=1, input_scale=1):
    """``scale * input`` above 0, ``scale * alpha * (exp(input_scale * input) - 1)`` elsewhere."""
    return where(input <= 0, scalar.expm1(input * input_scale) * (alpha * scale), input * scale)


@elu_op.gradient("input")
def _(grad, input, alpha, scale, input_scale):
    """``grad * where(input <= 0, scale * alpha * input_scale * exp(input * input_scale), scale)``."""
    slope = alpha * scale * input_scale
    negative = where(input <= 0, input, 0)  # elsewhere the exponential may overflow, and 0 times infinity is NaN
    at_most_0 = where(input == 0, grad * slope, grad * exp(negative * input_scale) * slope)  # no curvature at 0
    return where(input <= 0, at_most_0, grad * scale)


elu_op.inplace = overload(elu_op, "EluBackward1").inplace
_celu = overload(elu_op, "CeluBackward0")
_celu.inplace = overload(elu_op, "CeluBackward1").inplace

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.elu(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-0.8647,  0.0000,  1.0000,  2.0000])
    """
    return activated("elu", elu_op, input, inplace, alpha=alpha, scale=1, input_scale=1)


@public(method=False, direct=True)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * elu(input, alpha)`` with the two constants that keep mean 0 and variance 1."""
    return activated("selu", elu_op, input, inplace, alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1)


@public(method=False, direct=True)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Raises:
        RuntimeError: ``alpha`` is 0.
    """
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    return activated("celu", _celu, input, inplace, alpha=alpha, scale=1, input_scale=1 / alpha)


@pointwise("SoftplusBackward0", dtypes="f", inplace=False, export=False)
def softplus_op(input, *, beta=1, threshold=20):
    """``log(1 + exp(beta * input)) / beta``, and ``input`` where ``beta * input`` exceeds ``threshold``."""
    return where(input * beta > threshold, input, scalar.log1p(scalar.exp(input * beta)) / beta)


@softplus_op.gradient("input")
def _(grad, input, beta, threshold):
    return where(input * beta > threshold, grad, grad * sigmoid(input * beta))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; just ``input`` where ``beta * input`` exceeds ``threshold``.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.softplus(numgrad.tensor([0.0, 50.0]))
        tensor([ 0.6931, 50.0000])
    """
    return activated("softplus", softplus_op, input, beta=beta, threshold=threshold)


@pointwise("LogSigmoidBackward0", aten="log_sigmoid", dtypes="f", inplace=False, export=False)
def logsigmoid_op(input):
    """``log(sigmoid(input))`` without overflow."""
    return scalar.minimum(input, 0) - scalar.log1p(scalar.exp(-scalar.abs(input)))


@logsigmoid_op.gradient("input")
def _(grad, input):
    return grad * sigmoid(-input)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(1 / (1 + exp(-input)))``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.logsigmoid(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-2.1269, -0.6931, -0.3133, -0.1269])
    """
    return activated("logsigmoid", logsigmoid_op, input)


@pointwise(
    "TanhshrinkBackward0", aten="sub", result="float", dtypes="bifc", inplace=False, export=False,
    refused={bool_: "Subtraction, the `-` operator, with a bool tensor is not supported."},
)
def tanhshrink(input):
    """``input - tanh(input)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.tanhshrink(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-1.0360,  0.0000,  0.2384,  1.0360])
    """
    return input - scalar.tanh(input)


@tanhshrink.gradient("input")
def _(grad, input):
    step = tanh(input)
    return grad * conj(step * step)


@pointwise("SoftsignBackward0", aten="div", result="float", dtypes="if", inplace=False, export=False)
def softsign(input):
    """``input / (1 + abs(input))``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.softsign(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-0.6667,  0.0000,  0.5000,  0.6667])
    """
    return input / (1 + scalar.abs(input))


@softsign.gradient("input")
def _(grad, input):
    size = 1 + abs(input)
    return grad / size / size


elu_, selu_, celu_ = in_place_form(elu), in_place_form(selu), in_place_form(celu)

for _function in (celu_, selu_):
    public(_function, method=False, direct=True)


# -- a number times a smooth step from 0 to 1 ------------------------------------------------------------------


@pointwise("SiluBackward0", dtypes="f", export=False)
def silu_op(input):
    """``input * sigmoid(input)``."""
    return input * scalar.sigmoid(input)


@pointwise("SiluBackwardBackward0", dtypes="f", inplace=False, export=False)
def silu_backward(grad_output, input):
    """The gradient of :func:`silu`, whose derivative has a formula without cancellation."""
    step = sigmoid(input)
    return grad_output * step * (1 + input * (1 - step))


@silu_op.gradient("input")
@silu_backward.gradient("grad_output")
def _(grad, input):
    return silu_backward(grad, input)


@silu_backward.gradient("input")
def _(grad, grad_output, input):
    return sigmoid_backward(grad * grad_output, input, sigmoid(input)) * (2 - input * tanh(0.5 * input))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.silu(numgrad.tensor([-2.0, 0.0, 8.0]))
        tensor([-0.2384,  0.0000,  7.9973])
    """
    return activated("silu", silu_op, input, inplace)


@pointwise("MishBackward0", dtypes="f", export=False)
def mish_op(input):
    """``input * tanh(log(1 + exp(input)))``."""
    return input * scalar.tanh(scalar.log1p(scalar.exp(input)))


@pointwise("MishBackwardBackward0", dtypes="f", inplace=False, export=False)
def mish_backward(grad_output, input):
    """The gradient of :func:`mish`, whose derivative has a formula without cancellation."""
    step = tanh(log1p(exp(where(input < 40, input, 40))))  # 1 for larger input
    return grad_output * (step + input * sigmoid(input) * (1 - step * step))


@mish_op.gradient("input")
@mish_backward.gradient("grad_output")
def _(grad, input):
    return mish_backward(grad, input)


@mish_backward.gradient("input")
def _(grad, grad_output, input):
    inner = log_one_plus_exp(input)
    outer = tanh(inner)
    step = sigmoid(input)
    bend = 2 + input * (sigmoid(-input) - 2 * outer * step)
    return tanh_backward(grad * grad_output, inner, outer) * step * bend


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.mish(numgrad.tensor([-2.0, 0.0, 8.0]))
        tensor([-0.2525,  0.0000,  8.0000])
    """
    return activated("mish", mish_op, input, inplace)


_SQRT_HALF, _DENSITY_AT_0 = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_GELU_SLOPE, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


@pointwise("GeluBackward0", dtypes="f", inplace=False, export=False)
def gelu_op(input):
    """``input`` times the probability that a standard normal number is less than ``input``."""
    return input * 0.5 * scalar.erfc(input * -_SQRT_HALF)


@gelu_op.gradient("input")
def _(grad, input):
    z = input * -_SQRT_HALF
    return grad * (0.5 * erfc(z) + input * (exp(-(z * z)) * _DENSITY_AT_0))


@pointwise("GeluBackward0", aten="gelu", dtypes="f", inplace=False, export=False)
def gelu_tanh_op(input):
    """:func:`gelu` with the error function approximated by ``tanh``: ``(1 + tanh(u)) / 2`` is ``sigmoid(2 * u)``."""
    return input * scalar.sigmoid(2 * _GELU_SLOPE * input * (1 + _GELU_CUBE * input * input))


@pointwise("GeluBackwardBackward0", aten="gelu_backward", dtypes="f", inplace=False, export=False)
def gelu_tanh_backward(grad_output, input):
    """The gradient of :func:`gelu` with ``tanh``, whose derivative has a formula without cancellation."""
    x = scalar.maximum(scalar.minimum(input, 30), -30)  # the step is 0 or 1 beyond, where powers may overflow
    step = sigmoid(2 * _GELU_SLOPE * x * (1 + _GELU_CUBE * x * x))
    slope = 2 * _GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x)
    return grad_output * step * (1 + x * (1 - step) * slope)


@gelu_tanh_op.gradient("input")
@gelu_tanh_backward.gradient("grad_output")
def _(grad, input):
    return gelu_tanh_backward(grad, input)


@gelu_tanh_backward.gradient("input")
def _(grad, grad_output, input):
    """``g = sigmoid_backward(grad * grad_output, z, sigmoid(z)); g * (2 * z1 + input * (z2 - z1**2 * tanh(z / 2)))``,
    where ``z`` is what the sigmoid is taken of, with its derivatives ``z1`` and ``z2``."""
    x = where(abs(input) > 30, 30, input)
    inner = 2 * _GELU_SLOPE * x * (1 + _GELU_CUBE * x * x)
    slope = 2 * _GELU_SLOPE * (1 + 3 * _GELU_CUBE * x * x)
    bend = 12 * _GELU_SLOPE * _GELU_CUBE * x * x - x * slope * slope * tanh(0.5 * inner)
    return sigmoid_backward(grad * grad_output, inner, sigmoid(inner)) * (2 * slope + bend)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``input * (1 + erf(input / sqrt(2))) / 2``.

    With ``approximate="tanh"`` it is ``input * (1 + tanh(sqrt(2 / pi) * (input + 0.044715 * input**3))) / 2``.

    Raises:
        RuntimeError: ``approximate`` is neither "none" nor "tanh".

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.gelu(numgrad.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    if not isinstance(approximate, str):
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {type(approximate).__name__}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not '{approximate}'.")
    return activated("gelu", gelu_op if approximate == "none" else gelu_tanh_op, input)


# -- a step of another number -----------------------------------------------------------------------------------


@operation("GluBackward0", dims=["dim"])
def glu_op(p: Plan, input: TensorRef, dim: int) -> TensorRef:
    extent = input.shape[dim] // 2
    strides = input.layout.strides
    half = layout_of(input.type, (*input.shape[:dim], extent, *input.shape[dim + 1 :]), strides)
    step = sigmoid.op.build(p, input.viewed(half, extent * strides[dim]))
    return mul.op.build(p, input.viewed(half), step)


@glu_op.gradient("input")
def _(grad, input, dim):
    """``s = sigmoid(gate); cat((grad * s, grad * value * s * (1 - s)), dim)``, of the two halves of ``input``."""
    extent = grad._layout.shape[dim]
    value, gate = [slice_op(input, dim, start, start + extent, 1) for start in (0, extent)]
    step = sigmoid(gate)
    return cat((mul(grad, step), sigmoid_backward(mul(grad, value), gate, step)), dim)


@lookup(export=False)
def glu(input: Layout, dim: int = -1) -> Any:
    """The first half of dimension ``dim`` times the sigmoid of the second.

    Raises:
        RuntimeError: the dimension's size is odd.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.glu(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-1.4621,  0.0000])
    """
    shape = input.shape
    check(shape, "glu does not support scalars because halving size must be even")
    dim = normal_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    check_supported(input, "f", "glu_cpu")
    return glu_op, (dim,)
