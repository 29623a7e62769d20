"""Batch normalization, and the base class that it shares with instance normalization."""

from __future__ import annotations

from typing import Any

from ...core.missing import found_later
from ...core.types import int64
from ...ops.creation.factories import ones, zeros
from ...ops.creation.from_data import tensor
from ...tensors.tensor import Tensor
from .. import functional
from ..parameter import UninitializedBuffer
from .lazy import LazyLayer
from .normalization import AffineNorm

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d"]


class _NormBase(AffineNorm):
    """The base class of normalizations of channels: ``weight`` and ``bias`` per channel, and running means and
    variances.

    Args:
        num_features: the number of channels.
        eps: a number added to the variance.
        momentum: the weight of new statistics in the running ones: 1 replaces them, and None makes them the means of
            all batches so far.
        affine: True for a weight, initially ones, and a bias, initially zeros.
        track_running_stats: True to keep running statistics.
        device: the device of all of these.
        dtype: the dtype of all of these.
        bias: True for a bias, if ``affine``.
    """

    _version = 2
    _shown = "num_features", "eps=", "momentum=", "affine=", "bias=", "track_running_stats="
    #: The numbers of dimensions that an input may have.
    _ranks: tuple[int, ...]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__(
            num_features=num_features, eps=eps, momentum=momentum, affine=affine,
            track_running_stats=track_running_stats,
        )
        shape, tracked = num_features if affine else None, track_running_stats
        self._add_parameters(device, dtype, weight=shape, bias=shape if bias else None)
        for name, values in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, values(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running means to 0, the variances to 1 and the number of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics, and fill the weight with ones and the bias with zeros."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        """Raise unless the input's rank fits the module's name, with or without a batch dimension.

        Raises:
            ValueError: the rank does not fit.
        """
        if input.dim() not in self._ranks:
            ranks = " or ".join([f"{rank}D" for rank in self._ranks])
            raise ValueError(f"expected {ranks} input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        """Load a state; states that predate ``num_batches_tracked`` leave it unchanged."""
        name = f"{prefix}num_batches_tracked"
        if local_metadata.get("version", 1) < 2 and self.track_running_stats and name not in state_dict:
            state_dict[name] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        learns = self.training and self.track_running_stats
        share = self._count_batch() if learns else 0.0
        running = (self.running_mean, self.running_var) if learns or not self.training else (None, None)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        return functional.batch_norm(input, *running, self.weight, self.bias, of_batch, share, self.eps)

    def _count_batch(self) -> float:
        """Count a batch, and return the weight of its statistics in the running ones."""
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return self.momentum or 0.0


class BatchNorm1d(_BatchNorm):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel of (n, channels[, length]).

    In training, mean and variance are those of the batch, and the running statistics are moved towards them.  In
    evaluation, the running statistics are used.  Arguments are those of PyTorch; with ``track_running_stats=False`` the
    statistics are always the batch's.

    Example:
        >>> import numgrad
        >>> numgrad.nn.BatchNorm1d(3)(numgrad.ones(2, 3)).shape
        torch.Size([2, 3])
    """

    _ranks = 2, 3


class BatchNorm2d(_BatchNorm):
    """``BatchNorm1d`` of images (n, channels, height, width).

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.BatchNorm2d(3)
        >>> layer(numgrad.zeros(2, 3, 4, 4)).shape, layer.num_batches_tracked
        (torch.Size([2, 3, 4, 4]), tensor(1))
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """``BatchNorm1d`` of volumes (n, channels, depth, height, width).

    Example:
        >>> import numgrad
        >>> numgrad.nn.BatchNorm3d(2)(numgrad.ones(3, 2, 2, 2, 2)).shape
        torch.Size([3, 2, 2, 2, 2])
    """

    _ranks = (5,)


class _LazyNorm(LazyLayer, _NormBase):
    """A normalization that infers the number of channels from its first input and then becomes an ordinary one."""

    _inferred = "num_features"

    def __init_subclass__(cls, becomes: Any = None, **options: Any) -> None:
        super().__init_subclass__(becomes, **options)
        if becomes is not None:
            cls._ranks = becomes._ranks

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        self._leave_open(device, dtype, weight=affine, bias=affine and bias)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters and buffers for the input's number of channels."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            names = "weight", "bias", "running_mean", "running_var"
            self._materialize(**dict.fromkeys(names, (self.num_features,)))


class LazyBatchNorm1d(_LazyNorm, _BatchNorm, becomes=BatchNorm1d):
    """A lazy ``BatchNorm1d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""


class LazyBatchNorm2d(_LazyNorm, _BatchNorm, becomes=BatchNorm2d):
    """A lazy ``BatchNorm2d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""


class LazyBatchNorm3d(_LazyNorm, _BatchNorm, becomes=BatchNorm3d):
    """A lazy ``BatchNorm3d`` that infers ``num_features`` from its first input and then becomes an ordinary one."""


#: Classes that PyTorch has in this module.
_ELSEWHERE = ["SyncBatchNorm"]
__getattr__, _ = found_later(globals(), "nn.modules.batchnorm", dict.fromkeys(_ELSEWHERE, ".sync_batchnorm"))
