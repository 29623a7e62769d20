"""Activation functions, as ``nn.functional`` names them.

Each formula is a pointwise operation with its derivative; the public function beside it takes PyTorch's arguments.
All are defined for floating-point tensors of any shape, and those that only cut off for integers, too.  With
``inplace=True`` the tensor itself is overwritten.  At a kink the derivative is the one that PyTorch chooses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numgrad_kernels import scalar

from ...core.tensor import Tensor
from ...core.types import bool_
from ..shapes.views import reshape
from ..table.callables import overload
from ..table.elementwise import pointwise
from ..table.op import composite, named_in_place, public
from . import comparison
from .arithmetic import abs, div, exp, sigmoid, sub, tanh
from .comparison import threshold_backward, where
from .gated import activated

# -- cut off ----------------------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``."""
    return activated("relu", comparison.relu, input, inplace)


@pointwise("HardtanhBackward0", refused={bool_: "Bool inputs not supported for hardtanh"}, export=False)
def hardtanh_op(input, *, min_val=-1, max_val=1):
    """``input``, but at least ``min_val`` and at most ``max_val``."""
    return scalar.minimum(scalar.maximum(input, min_val), max_val)


@pointwise("HardtanhBackwardBackward0", dtypes="f", export=False, inplace=False)
def hardtanh_backward(grad_output, input, *, min_val=-1, max_val=1):
    """The gradient of :func:`hardtanh`; its own derivative for the input is 0, and not nothing."""
    return where((input <= min_val) | (input >= max_val), 0, grad_output)


@hardtanh_op.gradient("input")
@hardtanh_backward.gradient("grad_output")
def _(grad, input, min_val, max_val):
    return hardtanh_backward(grad, input, min_val=min_val, max_val=max_val)


@hardtanh_backward.gradient("input")
def _(grad):
    return 0


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``min(max(input, min_val), max_val)``; at the two bounds the derivative is 0.

    Raises:
        ValueError: ``min_val`` is greater than ``max_val``.
        RuntimeError: a bound is negative and the tensor unsigned.
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val ({min_val} and {max_val})")
    low, high = _whole(input, min_val, max_val)
    if low < 0 and isinstance(input, Tensor) and not input.is_signed():
        raise RuntimeError(
            f"cannot do hardtanh on an unsigned type with negative limits: {input.dtype} (shape {list(input.shape)})"
        )
    return activated("hardtanh", hardtanh_op, input, inplace, min_val=low, max_val=high)


def _whole(input: Any, *numbers: Any) -> tuple[Any, ...]:
    """The numbers as PyTorch takes them beside an integer tensor: without their fractions."""
    if not isinstance(input, Tensor) or input._layout.type.dtype.is_floating_point:
        return numbers
    return tuple([int(x) if isinstance(x, float) else x for x in numbers])


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return activated("relu6", hardtanh_op, input, inplace, min_val=0, max_val=6)


@pointwise("ThresholdBackward0", dtypes="if", export=False)
def threshold_op(input, *, threshold=0, value=0):
    """``value`` up to ``threshold``, ``input`` above."""
    return where(input <= threshold, value, input)


@threshold_op.gradient("input")
def _(grad, input, threshold):
    return threshold_backward(grad, input, threshold=threshold)


_threshold_in_place = overload(threshold_op, "ThresholdBackward1")


@public(method=False, direct=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is greater than ``threshold``, ``value`` elsewhere."""
    threshold, value = _whole(input, threshold, value)
    op = _threshold_in_place if inplace else threshold_op
    return activated("threshold", op, input, inplace, threshold=threshold, value=value)


@pointwise("HardshrinkBackward0", dtypes="f", inplace=False, export=False)
def hardshrink_op(input, *, lambd=0.5):
    """0 from ``-lambd`` to ``lambd``, ``input`` outside."""
    return where((input >= -lambd) & (input <= lambd), 0, input)


@pointwise("HardshrinkBackwardBackward0", dtypes="f", export=False, inplace=False)
def hardshrink_backward(grad_output, input, *, lambd=0.5):
    """The gradient of :func:`hardshrink`; its own derivative for the input is 0, and not nothing."""
    return where((input >= -lambd) & (input <= lambd), 0, grad_output)


@hardshrink_op.gradient("input")
@hardshrink_backward.gradient("grad_output")
def _(grad, input, lambd):
    return hardshrink_backward(grad, input, lambd=lambd)


@hardshrink_backward.gradient("input")
def _(grad):
    return 0


softshrink_backward = overload(hardshrink_backward, "SoftshrinkBackwardBackward0")


@public(direct=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where the magnitude is at most ``lambd``, ``input`` elsewhere."""
    return activated("hardshrink", hardshrink_op, input, lambd=lambd)


@pointwise("SoftshrinkBackward0", dtypes="f", inplace=False, export=False)
def softshrink_op(input, *, lambd=0.5):
    """0 from ``-lambd`` to ``lambd``, outside nearer to 0 by ``lambd``."""
    outside = where(input < -lambd, input + lambd, input * 0)  # NaN stays NaN
    return where(input > lambd, input - lambd, outside)


@softshrink_op.gradient("input")
def _(grad, input, lambd):
    return softshrink_backward(grad, input, lambd=lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, and 0 where it would pass it.

    Raises:
        RuntimeError: ``lambd`` is negative.
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return activated("softshrink", softshrink_op, input, lambd=lambd)


@composite(export=False)
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return sub(input, tanh(input))


@composite(export=False)
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``."""
    return div(input, abs(input) + 1)


# -- two slopes -------------------------------------------------------------------------------------------------


@pointwise("LeakyReluBackward0", dtypes="f", export=False)
def leaky_relu_op(input, *, negative_slope=0.01):
    """``input`` above 0, ``negative_slope * input`` elsewhere."""
    return where(input > 0, input, input * negative_slope)


@pointwise("LeakyReluBackwardBackward0", dtypes="f", export=False, inplace=False)
def leaky_relu_backward(grad_output, input, *, negative_slope=0.01):
    """The gradient of :func:`leaky_relu`; its own derivative for the input is 0, and not nothing."""
    return where(input > 0, grad_output, grad_output * negative_slope)


@leaky_relu_op.gradient("input")
@leaky_relu_backward.gradient("grad_output")
def _(grad, input, negative_slope):
    return leaky_relu_backward(grad, input, negative_slope=negative_slope)


@leaky_relu_backward.gradient("input")
def _(grad):
    return 0


_leaky_relu_in_place = overload(leaky_relu_op, "LeakyReluBackward1")
_rrelu = overload(leaky_relu_op, "RreluWithNoiseBackward0")
_rrelu_in_place = overload(leaky_relu_op, "RreluWithNoiseBackward1")


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``negative_slope * input`` elsewhere."""
    op = _leaky_relu_in_place if inplace else leaky_relu_op
    return activated("leaky_relu", op, input, inplace, negative_slope=negative_slope)


@public(method=False, direct=True)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """:func:`leaky_relu` with the slope halfway between ``lower`` and ``upper``.

    Raises:
        NotImplementedError: ``training``, for which the slopes would be drawn at random.
    """
    if training:
        raise NotImplementedError("numgrad has rrelu only for evaluation, with training=False")
    op = _rrelu_in_place if inplace else _rrelu
    return activated("rrelu", op, input, inplace, negative_slope=(lower + upper) / 2)


@pointwise("PreluKernelBackward0", dtypes="f", inplace=False, export=False)
def prelu_op(input, weight):
    """``input`` above 0, ``weight * input`` elsewhere."""
    return where(input > 0, input, input * weight)


@pointwise("PreluKernelBackwardBackward0", dtypes="f", export=False, inplace=False)
def prelu_backward(grad_output, input, weight):
    """The gradient of :func:`prelu` for its input; its own derivative for the input is 0, and not nothing."""
    return where(input > 0, grad_output, grad_output * weight)


@prelu_op.gradient("input")
@prelu_backward.gradient("grad_output")
def _(grad, input, weight):
    return prelu_backward(grad, input, weight)


@prelu_backward.gradient("input")
def _(grad):
    return 0


@prelu_backward.gradient("weight")
def _(grad, grad_output, input):
    return where(input > 0, 0, grad * grad_output)


@prelu_op.gradient("weight")
def _(grad, input):
    return where(input > 0, 0, grad * input)


@public
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """:func:`leaky_relu` with a slope that is learnt: one for all, or one for each index of dimension 1.

    Raises:
        RuntimeError: the weight's shape or dtype does not fit.
    """
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.legacy} and {weight.dtype.legacy}")
    shape, given = input._layout.shape, weight._layout.shape
    if len(given) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(given)}")
    if weight.numel() != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {weight.numel()} and channel size = {channels}."
            )
    if len(given) != len(shape):
        weight = reshape(weight, (1, weight.numel(), *[1] * (len(shape) - 2))[: len(shape)])
    return prelu_op(input, weight)


# -- exponentials -----------------------------------------------------------------------------------------------


@pointwise("EluBackward0", dtypes="f", export=False)
def elu_op(input, *, alpha=1, scale=1, input_scale=1):
    """``scale * input`` above 0, ``scale * alpha * (exp(input_scale * input) - 1)`` elsewhere."""
    return where(input <= 0, scalar.expm1(input * input_scale) * (alpha * scale), input * scale)


@elu_op.gradient("input")
def _(grad, input, alpha, scale, input_scale):
    """``grad * where(input <= 0, scale * alpha * input_scale * exp(input * input_scale), scale)``."""
    slope = alpha * scale * input_scale
    negative = where(input <= 0, input, 0)  # elsewhere the exponential may overflow, and 0 times infinity is NaN
    at_most_0 = where(input == 0, grad * slope, grad * exp(negative * input_scale) * slope)  # at 0 it does not bend
    return where(input <= 0, at_most_0, grad * scale)


_elu_in_place = overload(elu_op, "EluBackward1")
_celu, _celu_in_place = overload(elu_op, "CeluBackward0"), overload(elu_op, "CeluBackward1")

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return activated("elu", _elu_in_place if inplace else elu_op, input, inplace, alpha=alpha, scale=1, input_scale=1)


@public(method=False, direct=True)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``scale * elu(input, alpha)`` with the two constants that keep mean 0 and variance 1."""
    op = _elu_in_place if inplace else elu_op
    return activated("selu", op, input, inplace, alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1)


@public(method=False, direct=True)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Raises:
        RuntimeError: ``alpha`` is 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    op = _celu_in_place if inplace else _celu
    return activated("celu", op, input, inplace, alpha=alpha, scale=1, input_scale=1 / alpha)


@pointwise("SoftplusBackward0", dtypes="f", inplace=False, export=False)
def softplus_op(input, *, beta=1, threshold=20):
    """``log(1 + exp(beta * input)) / beta``, and ``input`` where ``beta * input`` is beyond ``threshold``."""
    return where(input * beta > threshold, input, scalar.log1p(scalar.exp(input * beta)) / beta)


@softplus_op.gradient("input")
def _(grad, input, beta, threshold):
    return where(input * beta > threshold, grad, grad * sigmoid(input * beta))


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; just ``input`` where ``beta * input`` exceeds ``threshold``."""
    return activated("softplus", softplus_op, input, beta=beta, threshold=threshold)


@pointwise("LogSigmoidBackward0", dtypes="f", inplace=False, export=False)
def logsigmoid_op(input):
    """``log(sigmoid(input))`` without overflow."""
    return scalar.minimum(input, 0) - scalar.log1p(scalar.exp(-scalar.abs(input)))


@logsigmoid_op.gradient("input")
def _(grad, input):
    return grad * sigmoid(-input)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(1 / (1 + exp(-input)))``."""
    return activated("logsigmoid", logsigmoid_op, input)


# -- the functions with an underscore ---------------------------------------------------------------------------


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function that overwrites its tensor."""

    @functools.wraps(function)
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, **kwargs, inplace=True)

    return named_in_place(call, function.__name__)


relu_, hardtanh_, threshold_ = _in_place(relu), _in_place(hardtanh), _in_place(threshold)
leaky_relu_, rrelu_ = _in_place(leaky_relu), _in_place(rrelu)
elu_, selu_, celu_ = _in_place(elu), _in_place(selu), _in_place(celu)

for _function in (celu_, relu_, rrelu_, selu_, threshold_):
    public(_function, method=False, direct=True)
