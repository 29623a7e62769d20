"""Modules that merge dimensions into one, or split one into several."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .module import Configured

__all__ = ["Flatten", "Unflatten"]


class Flatten(Configured):
    """The input with the dimensions from ``start_dim`` to ``end_dim`` merged into one; by default all but the first.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Flatten()(numgrad.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    _shown = "start_dim=", "end_dim="

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__(start_dim=start_dim, end_dim=end_dim)

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Configured):
    """The input with the dimension ``dim`` split into the given sizes, one of which may be -1.

    Raises:
        TypeError: the dimension or a size is not an int.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Unflatten(1, (2, 3))(numgrad.ones(5, 6)).shape
        torch.Size([5, 2, 3])
    """

    _shown = "dim=", "unflattened_size="

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__(dim=dim, unflattened_size=unflattened_size)
        if not isinstance(dim, int):
            raise TypeError(f"invalid argument type {type(dim).__name__} for dim: numgrad's dimensions are ints")
        if not isinstance(unflattened_size, list | tuple):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
