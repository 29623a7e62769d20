"""Activation functions as modules."""

from __future__ import annotations

from typing import Any

from ...ops.creation.factories import empty
from ...tensors.tensor import Tensor
from .. import functional
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention  # part of this module in PyTorch
from .module import CallsFunction

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]


class _Activation(CallsFunction):
    """A function whose arguments are shown in ``repr``, except ``inplace`` if it is False."""

    def extra_repr(self) -> str:
        values = [(name, getattr(self, name)) for name in self._arguments]
        return ", ".join(f"{name}={value!r}" for name, value in values if name != "inplace" or value)


class _NoArguments(_Activation):
    """A function without arguments; any arguments given are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input)


class _InPlace(_Activation):
    """A function that can overwrite its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.inplace)


class _ScaledInPlace(_Activation):
    """A function with a factor ``alpha`` that can overwrite its input."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.alpha, self.inplace)


class _Shrink(_Activation):
    """A function that is 0 within ``lambd`` of 0."""

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class _AlongDim(_Activation):
    """A function along one dimension."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.dim, _stacklevel=5)


# -- piecewise linear -------------------------------------------------------------------------------------------


class ReLU(_InPlace, function=functional.relu):
    """``max(0, x)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ReLU()(numgrad.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """


class LeakyReLU(_Activation, function=functional.leaky_relu):
    """``max(0, x) + negative_slope * min(0, x)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.LeakyReLU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.0200,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.negative_slope, self.inplace)


class RReLU(_Activation):
    """``max(0, x) + slope * min(0, x)`` of each element, with a random slope for each element in training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(_Activation):
    """``max(0, x) + weight * min(0, x)`` with a learnt weight, one for all or one per channel (dimension 1).

    Example:
        >>> import numgrad
        >>> numgrad.nn.PReLU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.5000,  0.0000,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__(num_parameters=num_parameters)
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the weight with ``init``."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)


class Hardtanh(_Activation, function=functional.hardtanh):
    """Each element clamped to at least ``min_val`` and at most ``max_val``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Hardtanh()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be larger than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ReLU6()(numgrad.tensor([-1.0, 3.0, 8.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return functional.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(_InPlace, function=functional.hardsigmoid):
    """``min(max(0, x + 3), 6) / 6`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Hardsigmoid()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1667, 0.5000, 0.8333])
    """

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace, function=functional.hardswish):
    """``x * min(max(0, x + 3), 6) / 6`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Hardswish()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.3333,  0.0000,  1.6667])
    """

    def extra_repr(self) -> str:
        return ""


class Threshold(_Activation, function=functional.threshold):
    """Each element above ``threshold``, with ``value`` instead of the others.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Threshold(0.5, -1.0)(numgrad.tensor([0.0, 1.0, 2.0]))
        tensor([-1.,  1.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.threshold, self.value, self.inplace)


class Hardshrink(_Shrink, function=functional.hardshrink):
    """Each element more than ``lambd`` away from 0, with 0 instead of the others.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Hardshrink()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-2.,  0.,  2.])
    """


class Softshrink(_Shrink, function=functional.softshrink):
    """Each element moved towards 0 by ``lambd``, with 0 instead of elements within ``lambd`` of 0.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Softshrink()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.5000,  0.0000,  1.5000])
    """


# -- smooth -----------------------------------------------------------------------------------------------------


class Sigmoid(_NoArguments, function=functional.sigmoid):
    """``1 / (1 + exp(-x))`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Sigmoid()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1192, 0.5000, 0.8808])
    """


class LogSigmoid(_NoArguments, function=functional.logsigmoid):
    """``log(1 / (1 + exp(-x)))`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.LogSigmoid()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-2.1269, -0.6931, -0.1269])
    """


class Tanh(_NoArguments, function=functional.tanh):
    """The hyperbolic tangent of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Tanh()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.9640,  0.0000,  0.9640])
    """


class Tanhshrink(_NoArguments, function=functional.tanhshrink):
    """``x - tanh(x)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Tanhshrink()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.0360,  0.0000,  1.0360])
    """


class Softsign(_NoArguments, function=functional.softsign):
    """``x / (1 + |x|)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Softsign()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.6667,  0.0000,  0.6667])
    """


class Softplus(_Activation, function=functional.softplus):
    """``log(1 + exp(beta * x)) / beta`` of each element, or the element itself where ``beta * x > threshold``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Softplus()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([0.1269, 0.6931, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.beta, self.threshold)


class GELU(_Activation, function=functional.gelu):
    """``x`` times the normal distribution function of ``x``, exact or, with "tanh", approximate.

    Example:
        >>> import numgrad
        >>> numgrad.nn.GELU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.0455,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, approximate=self.approximate)


class SiLU(_InPlace, function=functional.silu):
    """``x * sigmoid(x)`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.SiLU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.2384,  0.0000,  1.7616])
    """


class Mish(_InPlace, function=functional.mish):
    """``x * tanh(softplus(x))`` of each element.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Mish()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.2525,  0.0000,  1.9440])
    """


class ELU(_ScaledInPlace, function=functional.elu):
    """``x`` if it is positive, otherwise ``alpha * (exp(x) - 1)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.ELU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.8647,  0.0000,  2.0000])
    """


class CELU(_ScaledInPlace, function=functional.celu):
    """``x`` if it is positive, otherwise ``alpha * (exp(x / alpha) - 1)``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.CELU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.8647,  0.0000,  2.0000])
    """


class SELU(_InPlace, function=functional.selu):
    """A scaled ELU that preserves mean 0 and variance 1 from layer to layer.

    Example:
        >>> import numgrad
        >>> numgrad.nn.SELU()(numgrad.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.5202,  0.0000,  2.1014])
    """


# -- along a dimension ------------------------------------------------------------------------------------------


class GLU(_Activation, function=functional.glu):
    """The first half along ``dim`` times the sigmoid of the second half.

    Example:
        >>> import numgrad
        >>> numgrad.nn.GLU()(numgrad.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.dim)


class Softmax(_AlongDim, function=functional.softmax):
    """``exp(x)`` divided by its sum along ``dim``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Softmax(dim=1)(numgrad.tensor([[0.0, 1.0], [2.0, 2.0]]))
        tensor([[0.2689, 0.7311],
                [0.5000, 0.5000]])
    """


class Softmax2d(_NoArguments):
    """The softmax over the channels of inputs (batch, channels, height, width), with or without the batch."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return functional.softmax(input, -3)


class Softmin(_AlongDim, function=functional.softmin):
    """``exp(-x)`` divided by its sum along ``dim``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Softmin(dim=1)(numgrad.tensor([[0.0, 1.0], [2.0, 2.0]]))
        tensor([[0.7311, 0.2689],
                [0.5000, 0.5000]])
    """


class LogSoftmax(_AlongDim, function=functional.log_softmax):
    """The logarithm of the softmax along ``dim``.

    Example:
        >>> import numgrad
        >>> numgrad.nn.LogSoftmax(dim=1)(numgrad.tensor([[0.0, 1.0], [2.0, 2.0]]))
        tensor([[-1.3133, -0.3133],
                [-0.6931, -0.6931]])
    """
