"""Dropout of random elements or whole channels in training."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ...ops.network import dropout as ops
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check
from ...ops.table.op import check_tensors
from ...tensors.tensor import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@tensors_checked
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input with each element, in training, set to 0 with probability ``p`` and divided by ``1 - p``
    otherwise.

    The random numbers equal PyTorch's for the same seed.

    Args:
        input: floating-point numbers, of any shape.
        p: the probability of 0, in [0, 1].
        training: False to return the input itself.
        inplace: True to overwrite the input.

    Raises:
        ValueError: ``p`` is not a probability.
        RuntimeError: the input is not floating-point.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.dropout(numgrad.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    _check_probability(p)
    return (ops.dropout_ if inplace else ops.dropout)(input, p, training)


@tensors_checked
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply :func:`dropout` with SELU's limit instead of 0, then scale and shift to keep mean 0 and variance 1."""
    _check_probability(p)
    check_tensors("alpha_dropout", input=input)
    return (ops.alpha_dropout_ if inplace else ops.alpha_dropout)(input, p, training)


@tensors_checked
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply :func:`alpha_dropout` to whole channels: all of ``input[n, c]`` together."""
    _check_probability(p)
    check_tensors("feature_alpha_dropout", input=input)
    return (ops.feature_alpha_dropout_ if inplace else ops.feature_alpha_dropout)(input, p, training)


@tensors_checked
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Apply :func:`dropout` to whole channels of an input of shape (batch, channels, length) or (channels, length).

    Raises:
        ValueError: ``p`` is not a probability.
        RuntimeError: the input has another number of dimensions.
    """
    _check_probability(p)
    rank = len(input._layout.shape)
    check(
        rank in (2, 3),
        "dropout1d: Expected 2D or 3D input, but received a {}D input. Note that dropout1d exists to provide "
        "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
        "dimension (i.e. 2D or 3D inputs).", rank,
    )
    return _of_channels(input, p, training, inplace, rank == 3)


@tensors_checked
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Apply :func:`dropout` to whole channels of an input of shape (batch, channels, height, width).

    An input of another rank is taken as (batch, channels, ...), with a warning.
    """
    _check_probability(p)
    rank = len(input._layout.shape)
    if rank not in (3, 4):
        _warn_of_rank("dropout2d", rank, 2)
    elif rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=3,
        )
    return _of_channels(input, p, training, inplace, True)


@tensors_checked
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Apply :func:`dropout` to whole channels of an input of shape ([batch,] channels, depth, height, width).

    An input of another rank is taken as (channels, ...), with a warning.
    """
    _check_probability(p)
    rank = len(input._layout.shape)
    if rank not in (4, 5):
        _warn_of_rank("dropout3d", rank, 3)
    return _of_channels(input, p, training, inplace, rank == 5)


def _warn_of_rank(name: str, rank: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=4,
    )


def _of_channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    drop: Callable[[Tensor, float, bool], Tensor] = ops.feature_dropout_ if inplace else ops.feature_dropout
    if batched:
        return drop(input, p, training)
    result = drop(input.unsqueeze(0), p, training)
    return input if inplace else result.squeeze(0)
