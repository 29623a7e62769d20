"""What losses share: how they are reduced, and what they ask of their arguments."""

from __future__ import annotations

import warnings

from ..._tensor import Tensor

__all__ = ["check_sizes", "newer_reduction", "reduction_of"]


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction meant by a loss's arguments.

    Raises:
        ValueError: it is not "none", "mean" or "sum".
    """
    reduction = newer_reduction(reduction, size_average, reduce, stacklevel=5)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def newer_reduction(reduction: str, size_average: bool | None, reduce: bool | None, *, stacklevel: int = 4) -> str:
    """The reduction as newer programs name it; what older ones say instead wins, with a warning."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=stacklevel,
        )
    return reduction


def check_sizes(input: Tensor, target: Tensor) -> None:
    """Warn if the target has not the input's shape, and has to be broadcast."""
    if target._layout.shape != input._layout.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )
