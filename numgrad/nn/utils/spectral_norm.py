"""Spectral normalization by a hook, which divides the weight by its largest singular value before each call."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.types import contiguous_format
from ...tensors.tensor import Tensor
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from .weight_norm import hook_key, refuse_second, remove_hook

__all__ = ["SpectralNorm", "output_dim", "remove_spectral_norm", "rows_first", "spectral_norm"]


def rows_first(weight: Tensor, dim: int) -> Tensor:
    """Return the weight with dimension ``dim`` moved to the front."""
    return weight if dim == 0 else weight.movedim(dim, 0)


def output_dim(module: Module) -> int:
    """Return the output dimension of a module's weight."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def _matrix(weight: Tensor, dim: int) -> Tensor:
    return rows_first(weight, dim).reshape(weight.shape[dim], -1)


class SpectralNorm:
    """The hook that computes the parameter ``name`` of a module from ``<name>_orig``, ``<name>_u`` and ``<name>_v``.

    Each call in training moves the two vectors closer to the singular vectors.

    Args:
        name: the parameter's name.
        n_power_iterations: the number of power iteration steps per call in training.
        dim: the output dimension.
        eps: a small number that keeps divisors from 0.

    Raises:
        ValueError: ``n_power_iterations`` is not positive.
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by its norm as estimated with the vectors, optionally after further steps."""
        weight, u, v = [getattr(module, self.name + end) for end in ("_orig", "_u", "_v")]
        matrix = _matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                # the graph must keep copies that the next call does not change
                u, v = u.clone(memory_format=contiguous_format), v.clone(memory_format=contiguous_format)
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace the parameter by ``<name>_orig`` and the two vectors, and register the hook.

        Raises:
            RuntimeError: there is already such a hook.
            ValueError: the parameter has no shape yet, or ``n_power_iterations`` is not positive.
        """
        refuse_second(SpectralNorm, module, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with no_grad():
            sizes = _matrix(weight, dim).shape
            u, v = [normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in sizes]
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module.register_state_dict_post_hook(hook._note_version)
        return hook

    def _note_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version

    def remove(self, module: Module) -> None:
        """Turn the weight, with its present value, into a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for end in ("_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value before each call of the module; return the module.

    The weight becomes ``<name>_orig``.  The singular value is estimated by power iteration, whose vectors are the
    buffers ``<name>_u`` and ``<name>_v``.  ``parametrizations.spectral_norm`` is the newer form.

    Args:
        module: the module with the parameter.
        name: the parameter's name.
        n_power_iterations: the number of power iteration steps at each call in training.
        eps: a small number that keeps divisors from 0.
        dim: the output dimension: 0 by default, and 1 for transposed convolutions.

    Raises:
        RuntimeError: the weight is already normalized.
        ValueError: ``n_power_iterations`` is not positive, or the weight has no shape yet.
        KeyError: there is no such parameter.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Turn a weight divided by ``spectral_norm`` into a parameter again, with its present value; return the module.

    Raises:
        ValueError: ``spectral_norm`` was not applied to a weight with this name.
    """
    remove_hook(SpectralNorm, module, name, "spectral_norm")
    noting = {key: getattr(hook, "__self__", None) for key, hook in module._state_dict_hooks.items()}
    key = hook_key(noting, SpectralNorm, name)
    if key is not None:
        del module._state_dict_hooks[key]
    return module
