"""Normalization of each channel of each example."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensors.tensor import Tensor
from .. import functional
from .batchnorm import _LazyNorm, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._ranks[0]
        dim = 0 if alone else 1
        if input.shape[dim] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.shape[dim]}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                stacklevel=3,
            )
        out = functional.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps,
        )
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel of each example, ([n,] channels, length).

    Mean and variance are those of each channel of each example or, in evaluation with ``track_running_stats``, the
    running ones.

    Example:
        >>> import numgrad
        >>> numgrad.nn.InstanceNorm1d(1)(numgrad.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[-1.2247,  0.0000,  1.2247]]])
    """

    _ranks = 2, 3


class InstanceNorm2d(_InstanceNorm):
    """``InstanceNorm1d`` of images ([n,] channels, height, width)."""

    _ranks = 3, 4


class InstanceNorm3d(_InstanceNorm):
    """``InstanceNorm1d`` of volumes ([n,] channels, depth, height, width)."""

    _ranks = 4, 5


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm, becomes=InstanceNorm1d):
    """A lazy ``InstanceNorm1d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm, becomes=InstanceNorm2d):
    """A lazy ``InstanceNorm2d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm, becomes=InstanceNorm3d):
    """A lazy ``InstanceNorm3d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""
