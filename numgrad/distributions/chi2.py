"""The chi-squared distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensors.tensor import Tensor
from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of the squares of ``df`` standard normal numbers; ``df`` need not be an integer.

    Example:
        >>> import numgrad
        >>> numgrad.distributions.Chi2(3.0).variance
        tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}  # noqa: RUF012 - as PyTorch has it

    def __init__(self, df: Any, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return Gamma.expand(self, batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
