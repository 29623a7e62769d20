"""Piecewise linear activation functions, as in ``nn.functional``.

Each formula is a pointwise operation with its derivative; the public function after it takes PyTorch's arguments.
All are defined for floating-point tensors of any shape; functions that only limit values also accept integers.  With
``inplace=True`` the tensor itself is overwritten.  The derivative at a kink is PyTorch's.
"""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ...core.types import bool_, float64
from ...tensors.tensor import Tensor
from ..creation.factories import empty, ones_like
from ..shapes.views import reshape
from ..table.callables import overload
from ..table.checks import check_supported
from ..table.declaring import pointwise
from ..table.op import check_tensors, in_place_form, public
from . import comparison
from .comparison import threshold_backward, where

#: The public functions of ``nn.functional`` defined here.
__all__ = [
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "softshrink", "threshold", "threshold_",
]


def activated(name: str, op: Any, input: Any, inplace: bool = False, **numbers: float) -> Tensor:
    """Return an activation function's operation applied to ``input``, in place if ``inplace``.

    ``numbers`` holds all parameters of the operation, in its own order.
    """
    if input.__class__ is not Tensor:
        check_tensors(name, input=input)
    if inplace:
        return op.inplace(input, **numbers)
    if numbers == op.op.attributes and all(numbers.values()):  # a zero may be -0.0
        return op.op.short(input)
    return op.op.configured(input, *numbers.values())


# -- cut off ----------------------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.relu(numgrad.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    return activated("relu", comparison.relu, input, inplace)


@pointwise("HardtanhBackward0", refused={bool_: "Bool inputs not supported for hardtanh"}, export=False)
def hardtanh_op(input, *, min_val=-1, max_val=1):
    """``input``, but at least ``min_val`` and at most ``max_val``."""
    return scalar.minimum(scalar.maximum(input, min_val), max_val)


@pointwise("HardtanhBackwardBackward0", dtypes="f", export=False, inplace=False, constant=["input"])
def hardtanh_backward(grad_output, input, *, min_val=-1, max_val=1):
    """The gradient of :func:`hardtanh`; its derivative with respect to the input is 0, not undefined."""
    return where((input <= min_val) | (input >= max_val), 0, grad_output)


@hardtanh_op.gradient("input")
@hardtanh_backward.gradient("grad_output")
def _(grad, input, min_val, max_val):
    return hardtanh_backward(grad, input, min_val=min_val, max_val=max_val)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``min(max(input, min_val), max_val)``; at the two bounds the derivative is 0.

    Raises:
        ValueError: ``min_val`` is greater than ``max_val``.
        RuntimeError: a bound is negative and the tensor unsigned.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.hardtanh(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-1.,  0.,  1.,  1.])
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
    """Return the numbers as PyTorch takes them with an integer tensor: truncated."""
    if not isinstance(input, Tensor) or input._layout.type.dtype.is_floating_point:
        return numbers
    return tuple([int(x) if isinstance(x, float) else x for x in numbers])


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.relu6(numgrad.tensor([-2.0, 0.0, 8.0]))
        tensor([0., 0., 6.])
    """
    return activated("relu6", hardtanh_op, input, inplace, min_val=0, max_val=6)


@pointwise("ThresholdBackward0", dtypes="if", export=False)
def threshold_op(input, *, threshold=0, value=0):
    """``value`` up to ``threshold``, ``input`` above."""
    return where(input <= threshold, value, input)


@threshold_op.gradient("input")
def _(grad, input, threshold):
    return threshold_backward(grad, input, threshold=threshold)


threshold_op.inplace = overload(threshold_op, "ThresholdBackward1").inplace


@public(method=False, direct=True)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is greater than ``threshold``, ``value`` elsewhere."""
    threshold, value = _whole(input, threshold, value)
    return activated("threshold", threshold_op, input, inplace, threshold=threshold, value=value)


@pointwise("HardshrinkBackward0", dtypes="f", inplace=False, export=False)
def hardshrink_op(input, *, lambd=0.5):
    """0 from ``-lambd`` to ``lambd``, ``input`` outside."""
    return where((input >= -lambd) & (input <= lambd), 0, input)


@pointwise("HardshrinkBackwardBackward0", dtypes="f", export=False, inplace=False, constant=["input"])
def hardshrink_backward(grad_output, input, *, lambd=0.5):
    """The gradient of :func:`hardshrink`; its derivative with respect to the input is 0, not undefined."""
    return where((input >= -lambd) & (input <= lambd), 0, grad_output)


@hardshrink_op.gradient("input")
@hardshrink_backward.gradient("grad_output")
def _(grad, input, lambd):
    return hardshrink_backward(grad, input, lambd=lambd)


softshrink_backward = overload(hardshrink_backward, "SoftshrinkBackwardBackward0")


@public(direct=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 where the magnitude is at most ``lambd``, ``input`` elsewhere.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.hardshrink(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-2.,  0.,  1.,  2.])
    """
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

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.softshrink(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-1.5000,  0.0000,  0.5000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return activated("softshrink", softshrink_op, input, lambd=lambd)


# -- two slopes -------------------------------------------------------------------------------------------------


@pointwise("LeakyReluBackward0", dtypes="f", export=False)
def leaky_relu_op(input, *, negative_slope=0.01):
    """``input`` above 0, ``negative_slope * input`` elsewhere."""
    return where(input > 0, input, input * negative_slope)


@pointwise("LeakyReluBackwardBackward0", dtypes="f", export=False, inplace=False, constant=["input"])
def leaky_relu_backward(grad_output, input, *, negative_slope=0.01):
    """The gradient of :func:`leaky_relu`; its derivative with respect to the input is 0, not undefined."""
    return where(input > 0, grad_output, grad_output * negative_slope)


@leaky_relu_op.gradient("input")
@leaky_relu_backward.gradient("grad_output")
def _(grad, input, negative_slope):
    return leaky_relu_backward(grad, input, negative_slope=negative_slope)


leaky_relu_op.inplace = overload(leaky_relu_op, "LeakyReluBackward1").inplace
_rrelu = overload(leaky_relu_op, "RreluWithNoiseBackward0")
_rrelu.inplace = overload(leaky_relu_op, "RreluWithNoiseBackward1").inplace


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, ``negative_slope * input`` elsewhere.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.leaky_relu(numgrad.tensor([-2.0, 0.0, 8.0]))
        tensor([-0.0200,  0.0000,  8.0000])
    """
    return activated("leaky_relu", leaky_relu_op, input, inplace, negative_slope=negative_slope)


@pointwise("RreluWithNoiseBackward0", dtypes="f", export=False, nondifferentiable=["noise"])
def rrelu_with_noise(input, noise):
    """``input * noise``, where the noise is a random slope, or 1 for positive input."""
    return input * noise


@rrelu_with_noise.gradient("input")
def _(grad, noise):
    return grad * noise


rrelu_with_noise.inplace = overload(rrelu_with_noise, "RreluWithNoiseBackward1").inplace


@public(method=False, direct=True)
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """:func:`leaky_relu` with the slope halfway between ``lower`` and ``upper``, or in training a random one for each
    element, from the uniform distribution.

    The random numbers are PyTorch's for the same seed.

    Raises:
        RuntimeError: in training, ``lower`` exceeds ``upper``.
        NotImplementedError: the input's dtype is not a floating-point one.
    """
    if not training:
        return activated("rrelu", _rrelu, input, inplace, negative_slope=(lower + upper) / 2)
    check_tensors("rrelu", input=input)
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound: {lower}, {upper}")
    check_supported(input._layout, "f", "rrelu_with_noise_out_cpu")
    falling = input.detach() <= 0
    slopes = empty(int(falling.sum()), dtype=float64, device=input.device).uniform_(lower, upper)
    noise = ones_like(input).masked_scatter(falling, slopes.to(input.dtype))
    return (rrelu_with_noise.inplace if inplace else rrelu_with_noise)(input, noise)


@pointwise("PreluKernelBackward0", dtypes="f", inplace=False, export=False)
def prelu_op(input, weight):
    """``input`` above 0, ``weight * input`` elsewhere."""
    return where(input > 0, input, input * weight)


@pointwise(
    "PreluKernelBackwardBackward0", aten="_prelu_kernel_backward", dtypes="f", export=False, inplace=False,
    constant=["input"],
)
def prelu_backward(grad_output, input, weight):
    """The gradient of :func:`prelu` for its input; its derivative with respect to the input is 0, not undefined."""
    return where(input > 0, grad_output, grad_output * weight)


@prelu_op.gradient("input")
@prelu_backward.gradient("grad_output")
def _(grad, input, weight):
    return prelu_backward(grad, input, weight)


@prelu_backward.gradient("weight")
def _(grad, grad_output, input):
    return where(input > 0, 0, grad * grad_output)


@prelu_op.gradient("weight")
def _(grad, input):
    return where(input > 0, 0, grad * input)


@public
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """:func:`leaky_relu` with a learnt slope: one for all elements, or one for each index of dimension 1.

    Raises:
        RuntimeError: the weight's shape or dtype does not fit.
    """
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.legacy} and {weight.dtype.legacy}")
    shape, weight_shape = input._layout.shape, weight._layout.shape
    if len(weight_shape) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(weight_shape)}")
    if weight.numel() != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {weight.numel()} and channel size = {channels}."
            )
    if len(weight_shape) != len(shape):
        weight = reshape(weight, (1, weight.numel(), *[1] * (len(shape) - 2))[: len(shape)])
    return prelu_op(input, weight)


@pointwise("HardsigmoidBackward0", dtypes="f", export=False)
def hardsigmoid_op(input):
    """A line from (-3, 0) to (3, 1)."""
    return scalar.minimum(scalar.maximum(input + 3, 0), 6) / 6


@hardsigmoid_op.gradient("input")
def _(grad, input):
    return where((input > -3) & (input < 3), grad / 6, 0)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input + 3, 0), 6) / 6``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.hardsigmoid(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([0.1667, 0.5000, 0.6667, 0.8333])
    """
    return activated("hardsigmoid", hardsigmoid_op, input, inplace)


@pointwise("HardswishBackward0", dtypes="f", export=False)
def hardswish_op(input):
    """``input * hardsigmoid(input)``."""
    return where(input >= 3, input, input * scalar.maximum(input + 3, 0) / 6)  # input * 6 may overflow


@hardswish_op.gradient("input")
def _(grad, input):
    inside = (input > -3) & (input < 3)
    bent = where(inside, grad, 0) * (where(inside, input, 0) / 3 + 0.5)  # avoids 0 * inf, a NaN, outside
    return where(input <= -3, 0, where(inside, bent, grad))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * min(max(input + 3, 0), 6) / 6``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.functional.hardswish(numgrad.tensor([-2.0, 0.0, 1.0, 2.0]))
        tensor([-0.3333,  0.0000,  0.6667,  1.6667])
    """
    return activated("hardswish", hardswish_op, input, inplace)


relu_, hardtanh_, threshold_ = in_place_form(relu), in_place_form(hardtanh), in_place_form(threshold)
leaky_relu_, rrelu_ = in_place_form(leaky_relu), in_place_form(rrelu)

for _function in (relu_, rrelu_, threshold_):
    public(_function, method=False, direct=True)
