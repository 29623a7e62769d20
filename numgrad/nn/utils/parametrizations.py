"""Parametrizations of weights: orthogonal weights, weight normalization and spectral normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import no_grad
from ...core.missing import found_later as _found_later
from ...core.types import contiguous_format
from ...ops.network.weight_normalization import norm_except_dim
from ...ops.network.weight_normalization import weight_norm as normalized
from ...tensors.tensor import Tensor
from ..functional import normalize
from ..modules.module import Module
from .orthogonal import orthogonal as orthogonal
from .parametrize import register_parametrization
from .spectral_norm import output_dim, rows_first

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """``g * v / norm(v)``, with norms over all dimensions but one."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Parametrize a weight by its length and its direction; return the module.

    The length is ``parametrizations.<name>.original0``, the direction ``original1``, and the weight
    ``original0 * original1 / norm(original1)``.  States saved after ``nn.utils.weight_norm`` can be loaded.

    Args:
        module: the module with the parameter.
        name: the parameter's name.
        dim: the dimension along which each slice has its own length; None for one length for the whole.

    Raises:
        ValueError: there is no such parameter.

    Source: Salimans and Kingma, Weight Normalization, 2016.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.utils.parametrizations.weight_norm(numgrad.nn.Linear(2, 3))
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(module: Module, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Rename the keys of ``nn.utils.weight_norm`` to the present ones."""
        old = [f"{prefix}{name}_{end}" for end in ("g", "v")]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module.register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, as estimated by power iteration; a vector divided by its norm."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if dim >= rank or dim < -rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = rows_first(weight, self.dim).flatten(1)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    @no_grad()
    def _iterate(self, matrix: Tensor, steps: int) -> None:
        """Move the vectors towards the singular vectors."""
        for _ in range(steps):
            self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = rows_first(weight, self.dim).flatten(1)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # the graph must keep copies that the next call does not change
        u, v = [vector.clone(memory_format=contiguous_format) for vector in (self._u, self._v)]
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # may have another norm, so that the weight differs from the assigned value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value; return the module.

    The singular value is estimated by power iteration, with 15 initial steps and ``n_power_iterations`` more whenever
    the weight is read in training.  A value assigned to the weight becomes ``parametrizations.<name>.original``.

    Args:
        module: the module with the parameter.
        name: the parameter's name.
        n_power_iterations: the number of steps at each read.
        eps: a small number that keeps divisors from 0.
        dim: the output dimension: 0 by default, and 1 for transposed convolutions.

    Raises:
        ValueError: there is no such parameter, or ``n_power_iterations`` is not positive.
        IndexError: there is no such dimension.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.utils.parametrizations.spectral_norm(numgrad.nn.Linear(2, 3))
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'parametrizations.weight.original']
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = output_dim(module) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


if not TYPE_CHECKING:
    __getattr__, __dir__ = _found_later(globals(), "nn.utils.parametrizations")
