"""Linear layers: identity, linear, its lazy variant, and bilinear."""

from __future__ import annotations

import math
from typing import Any

from ...tensors.tensor import Tensor
from .. import functional, init
from ..parameter import Parameter
from .lazy import LazyLayer
from .module import Configured, Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """A module that returns its input; any arguments are ignored.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Identity(54, unused="argument")(numgrad.arange(3))
        tensor([0, 1, 2])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Configured):
    """``x @ weight.T + bias``, which maps (..., in_features) to (..., out_features).

    The weight, of shape (out_features, in_features), and the bias are drawn uniformly between
    ``-1 / sqrt(in_features)`` and ``1 / sqrt(in_features)``.

    Example:
        >>> import numgrad
        >>> generator = numgrad.manual_seed(0)
        >>> layer = numgrad.nn.Linear(3, 2)
        >>> layer.weight.shape, layer(numgrad.ones(4, 3)).shape
        (torch.Size([2, 3]), torch.Size([4, 2]))
    """

    _shown = "in_features=", "out_features=", "bias="
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(in_features=in_features, out_features=out_features)
        shape = out_features, in_features
        self._add_parameters(device, dtype, weight=shape, bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)


class LazyLinear(LazyLayer, Linear):
    """A lazy ``Linear`` that infers ``in_features`` from its first input and then becomes an ordinary one.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.LazyLinear(2)
        >>> layer(numgrad.ones(4, 3)).shape, layer.in_features
        (torch.Size([4, 2]), 3)
    """

    cls_to_become = Linear
    _inferred = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._leave_open(device, dtype, weight=True, bias=bias)

    def initialize_parameters(self, input: Tensor) -> None:
        """Create weight and bias for the input's number of features."""
        self.in_features = input.shape[-1]
        if self.has_uninitialized_params():
            self._materialize(weight=(self.out_features, self.in_features), bias=(self.out_features,))


class Bilinear(Configured):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output ``k``, of vectors of in1_features and in2_features elements.

    The weight, of shape (out_features, in1_features, in2_features), and the bias are drawn uniformly between
    ``-1 / sqrt(in1_features)`` and ``1 / sqrt(in1_features)``.

    Raises:
        ValueError: ``in1_features`` is not positive.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Bilinear(2, 3, 4)(numgrad.ones(5, 2), numgrad.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    _shown = "in1_features=", "in2_features=", "out_features=", "bias="
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in1_features=in1_features, in2_features=in2_features, out_features=out_features)
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        shape = out_features, in1_features, in2_features
        self._add_parameters(device, dtype, weight=shape, bias=out_features if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return functional.bilinear(input1, input2, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """A ``Linear`` under the name of PyTorch's output projection."""
