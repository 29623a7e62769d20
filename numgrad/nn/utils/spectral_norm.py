"""Spectral normalization by a hook: the weight is divided by its largest singular value before each call."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ...core.types import contiguous_format
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from .weight_norm import hook_key, refuse_second, remove_hook

__all__ = ["SpectralNorm", "output_dim", "remove_spectral_norm", "rows_first", "spectral_norm"]


def rows_first(weight: Tensor, dim: int) -> Tensor:
    """The weight with dimension ``dim`` moved to the front."""
    return weight if dim == 0 else weight.movedim(dim, 0)


def output_dim(module: Module) -> int:
    """The dimension of a module's weight that belongs to its outputs."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def _matrix(weight: Tensor, dim: int) -> Tensor:
    return rows_first(weight, dim).reshape(weight.shape[dim], -1)


class SpectralNorm:
    """The hook: computes the parameter ``name`` of a module from ``<name>_orig``, ``<name>_u`` and ``<name>_v``.

    The two vectors come nearer to the singular ones, with each call in training.

    Args:
        name: of the parameter.
        n_power_iterations: how often they are multiplied by the weight then.
        dim: the dimension that belongs to the outputs.
        eps: keeps norms that are divided by from 0.

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
        """The weight divided by its norm, as the vectors have it after or without further steps."""
        weight, u, v = [getattr(module, self.name + end) for end in ("_orig", "_u", "_v")]
        matrix = _matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
                # the graph keeps what the next call will not change
                u, v = u.clone(memory_format=contiguous_format), v.clone(memory_format=contiguous_format)
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Take the parameter out of the module, and add it as ``<name>_orig``, the two vectors, and the hook.

        Raises:
            RuntimeError: there is such a hook already.
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
        """Make the weight, as it now is, a parameter again."""
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
    """Have a weight divided by its largest singular value before each call of the module; returns the module.

    The weight becomes ``<name>_orig``.  The value is estimated by power iteration, whose vectors are the buffers
    ``<name>_u`` and ``<name>_v``.  ``parametrizations.spectral_norm`` is the newer form.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        n_power_iterations: the steps of power iteration at each call in training.
        eps: keeps norms that are divided by from 0.
        dim: the dimension that belongs to the outputs: 0 unless given, and 1 of transposed convolutions.

    Raises:
        RuntimeError: the weight is normalized already.
        ValueError: ``n_power_iterations`` is not positive, or the weight has no shape yet.
        KeyError: there is none.

    Source: Miyato et al., Spectral Normalization for Generative Adversarial Networks, 2018.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that ``spectral_norm`` divides a parameter again, as it now is; returns the module.

    Raises:
        ValueError: it divides none of that name.
    """
    remove_hook(SpectralNorm, module, name, "spectral_norm")
    noting = {key: getattr(hook, "__self__", None) for key, hook in module._state_dict_hooks.items()}
    key = hook_key(noting, SpectralNorm, name)
    if key is not None:
        del module._state_dict_hooks[key]
    return module
