"""Batch normalization over the batches of all processes."""

from __future__ import annotations

from typing import Any

from ... import distributed
from ...autograd.grad_mode import no_grad
from ...core.types import float32
from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor
from .batchnorm import _BatchNorm
from .module import Module

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """``BatchNorm1d``, ``2d`` and ``3d`` whose statistics in training are those of the batches of all processes.

    Means, variances and numbers of elements are exchanged by one gather forward and one reduction backward.  Batches
    may have different sizes.  In evaluation, and without a process group, it is ordinary batch normalization.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype: as for ``BatchNorm1d``.
        process_group: the processes, by default all.

    Example:
        >>> import numgrad
        >>> model = numgrad.nn.Sequential(numgrad.nn.Conv2d(3, 8, 3), numgrad.nn.BatchNorm2d(8))
        >>> numgrad.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
        SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        alone = not distributed.is_initialized() or distributed.get_world_size(self.process_group) == 1
        return super().forward(input) if alone or not of_batch else self._synchronized(input)

    def _synchronized(self, input: Tensor) -> Tensor:
        """Normalize by the statistics of all ranks."""
        wide = input.to(float32) if input.dtype.is_half else input
        dims = [dim for dim in range(input.dim()) if dim != 1]
        own = input.numel() // input.shape[1]
        mean = wide.sum(dims) / max(own, 1)
        shape = [1, -1] + [1] * (input.dim() - 2)
        square = (wide - mean.view(shape)).square().sum(dims)
        row = cat([mean, square, mean.new_full([1], own)])
        every = distributed.nn.functional.all_gather_into_tensor(row.unsqueeze(0), self.process_group)
        features = self.num_features
        means, squares, counts = every[:, :features], every[:, features : 2 * features], every[:, -1:]
        total = counts.sum()
        if float(total) <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        mean = (means * counts).sum(0) / total
        variance = (squares + (means - mean).square() * counts).sum(0) / total
        if self.training and self.track_running_stats:
            self._learn(mean, variance * (total / (total - 1)))
        result = (wide - mean.view(shape)) * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            result = result * self.weight.view(shape)
        if self.bias is not None:
            result = result + self.bias.view(shape)
        return result.to(input.dtype)

    def _learn(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics towards those of a batch."""
        share = self._count_batch()
        with no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
            self.running_var.lerp_(variance.to(self.running_var.dtype), share)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace the layers ``BatchNorm1d``, ``2d`` and ``3d`` in a module by ``SyncBatchNorm`` with their parameters.

        Return the module, or the replacement if it is itself such a layer.
        """
        result = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )
            result.weight, result.bias, result.training = module.weight, module.bias, module.training
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked = module.num_batches_tracked
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
