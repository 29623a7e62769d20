"""Activation functions that multiply a number by a step from 0 to 1."""

from __future__ import annotations

import math
from typing import Any

from numgrad_kernels import scalar

from ...core.layout import Layout, layout_of, normal_dim
from ...core.tensor import Tensor, tensor_of
from ..reductions.axes import Prepared
from ..shapes.joining import cat
from ..shapes.parts import slice_op
from ..table.elementwise import pointwise
from ..table.lookup import lookup
from ..table.op import check_tensors
from ..table.planned import planned
from .arithmetic import exp, mul, sigmoid, tanh
from .comparison import where
from .special import erfc, log1p


def activated(name: str, op: Any, input: Any, inplace: bool = False, **numbers: float) -> Tensor:
    """An activation function's operation on its argument ``input``, perhaps in place.

    The numbers that configure it are all given, in its own order.
    """
    if input.__class__ is not Tensor:
        check_tensors(name, input=input)
    if inplace:
        return op.inplace(input, **numbers)
    if numbers == op.op.statics and all(numbers.values()):  # a zero may be -0.0
        return op.short(input)
    return op.configured(input, *numbers.values())


@pointwise("SiluBackward0", dtypes="f", export=False)
def silu_op(input):
    """``input * sigmoid(input)``."""
    return input * scalar.sigmoid(input)


@silu_op.gradient("input")
def _(grad, input):
    step = sigmoid(input)
    return grad * step * (1 + input * (1 - step))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish."""
    return activated("silu", silu_op, input, inplace)


@pointwise("MishBackward0", dtypes="f", export=False)
def mish_op(input):
    """``input * tanh(log(1 + exp(input)))``."""
    return input * scalar.tanh(scalar.log1p(scalar.exp(input)))


@mish_op.gradient("input")
def _(grad, input):
    step = tanh(log1p(exp(input)))
    return grad * (step + input * sigmoid(input) * (1 - step * step))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return activated("mish", mish_op, input, inplace)


_SQRT_HALF, _DENSITY_AT_0 = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_GELU_SLOPE, _GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


@pointwise("GeluBackward0", dtypes="f", inplace=False, export=False)
def gelu_op(input):
    """``input`` times the normal distribution's probability of less than ``input``."""
    return input * 0.5 * scalar.erfc(input * -_SQRT_HALF)


@gelu_op.gradient("input")
def _(grad, input):
    z = input * -_SQRT_HALF
    return grad * (0.5 * erfc(z) + input * (exp(-(z * z)) * _DENSITY_AT_0))


@pointwise("GeluBackward0", dtypes="f", inplace=False, export=False)
def gelu_tanh_op(input):
    """:func:`gelu` with the error function approximated by ``tanh``."""
    return input * 0.5 * (1 + scalar.tanh(_GELU_SLOPE * (input + _GELU_CUBE * input * input * input)))


@gelu_tanh_op.gradient("input")
def _(grad, input):
    square = input * input
    step = tanh(_GELU_SLOPE * input * (1 + _GELU_CUBE * square))
    slope = _GELU_SLOPE * (1 + 3 * _GELU_CUBE * square)
    return grad * 0.5 * (1 + step + input * (1 - step * step) * slope)


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``input * (1 + erf(input / sqrt(2))) / 2``.

    With ``approximate="tanh"`` it is ``input * (1 + tanh(sqrt(2 / pi) * (input + 0.044715 * input**3))) / 2``.

    Raises:
        RuntimeError: ``approximate`` is neither "none" nor "tanh".
    """
    if not isinstance(approximate, str):
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {type(approximate).__name__}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not '{approximate}'.")
    return activated("gelu", gelu_op if approximate == "none" else gelu_tanh_op, input)


@pointwise("HardsigmoidBackward0", dtypes="f", export=False)
def hardsigmoid_op(input):
    """A line from (-3, 0) to (3, 1)."""
    return scalar.minimum(scalar.maximum(input + 3, 0), 6) / 6


@hardsigmoid_op.gradient("input")
def _(grad, input):
    return where((input > -3) & (input < 3), grad / 6, 0)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input + 3, 0), 6) / 6``."""
    return activated("hardsigmoid", hardsigmoid_op, input, inplace)


@pointwise("HardswishBackward0", dtypes="f", export=False)
def hardswish_op(input):
    """``input * hardsigmoid(input)``."""
    return input * scalar.minimum(scalar.maximum(input + 3, 0), 6) / 6


@hardswish_op.gradient("input")
def _(grad, input):
    inside = (input > -3) & (input < 3)
    bent = where(inside, grad, 0) * (where(inside, input, 0) / 3 + 0.5)  # outside, 0 times infinity is NaN
    return where(input <= -3, 0, where(inside, bent, grad))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * min(max(input + 3, 0), 6) / 6``."""
    return activated("hardswish", hardswish_op, input, inplace)


# -- a step of another number -----------------------------------------------------------------------------------


@planned("GluBackward0", dims=["dim"])
def glu_op(input: Layout, dim: int) -> Prepared:
    extent = input.shape[dim] // 2
    half = layout_of(input.type, (*input.shape[:dim], extent, *input.shape[dim + 1 :]), input.strides)
    second = extent * input.strides[dim]
    steps, step_of = sigmoid.op.decided((half,))
    out, times = mul.op.decided((half, steps))

    def launch(tensor: Tensor) -> Any:
        row, start = tensor._storage, tensor._offset
        return times(tensor_of(half, row, start), tensor_of(steps, step_of(tensor_of(half, row, start + second))))

    return out, launch


@glu_op.gradient("input")
def _(grad, input, dim):
    """``s = sigmoid(gate); cat((grad * s, grad * value * s * (1 - s)), dim)``, of the two halves of ``input``."""
    extent = grad._layout.shape[dim]
    value, gate = [slice_op(input, dim, start, start + extent, 1) for start in (0, extent)]
    step = sigmoid(gate)
    passed = mul(grad, step)
    return cat((passed, mul(mul(passed, value), 1 - step)), dim)


@lookup(export=False)
def glu(input: Layout, dim: int = -1) -> Any:
    """The first half of dimension ``dim`` times the sigmoid of the second.

    Raises:
        RuntimeError: the dimension's size is odd.
    """
    shape, kind = input.shape, input.type.dtype
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = normal_dim(dim, len(shape))
    if shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"glu_cpu\" not implemented for '{kind.legacy}' (shape {list(shape)})")
    return glu_op, (dim,)
