"""Conversion of parameters to one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all elements of the parameters, concatenated; gradients flow back.

    Example:
        >>> import numgrad
        >>> numgrad.nn.utils.parameters_to_vector(numgrad.nn.Linear(2, 3).parameters()).shape
        torch.Size([9])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the parameters' elements by consecutive parts of a vector, whose memory they then share.

    Raises:
        TypeError: ``vec`` is not a tensor.
        RuntimeError: ``vec`` has too few elements; no parameter is changed.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.Linear(2, 1)
        >>> numgrad.nn.utils.vector_to_parameters(numgrad.tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer(numgrad.ones(2)).item()
        6.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parts, start = [], 0
    for parameter in parameters:
        stop = start + parameter.numel()
        parts.append((parameter, vec[start:stop].view_as(parameter).data))
        start = stop
    for parameter, part in parts:
        parameter.data = part
