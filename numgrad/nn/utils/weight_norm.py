"""Weight normalization by a hook, which computes the weight before each call of the module."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ...ops.network.weight_normalization import norm_except_dim
from ...ops.network.weight_normalization import weight_norm as normalized
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "hook_key", "refuse_second", "remove_hook", "remove_weight_norm", "weight_norm"]


def hook_key(hooks: Mapping[int, Any], kind: Any, name: str) -> int | None:
    """Return the key of the hook of this kind for the parameter ``name``, None if there is none."""
    return next((key for key, hook in hooks.items() if isinstance(hook, kind) and hook.name == name), None)


def refuse_second(kind: type, module: Module, name: str, function: str) -> None:
    """Raise if the module already has a hook of this kind, which ``function`` adds, for the parameter.

    Raises:
        RuntimeError: there is such a hook.
    """
    if hook_key(module._forward_pre_hooks, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {function} hooks on the same parameter {name}")


def remove_hook(kind: type, module: Module, name: str, function: str) -> None:
    """Remove the hook of this kind, which ``function`` added, and restore the parameter.

    Raises:
        ValueError: there is no such hook.
    """
    key = hook_key(module._forward_pre_hooks, kind, name)
    if key is None:
        raise ValueError(f"{function} of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks[key]
    hook.remove(module)
    del module._forward_pre_hooks[key]


class WeightNorm:
    """The hook that computes the parameter ``name`` of a module from ``<name>_g`` and ``<name>_v``.

    Args:
        name: the parameter's name.
        dim: the dimension along which each slice has its own length; None or -1 for one length for the whole.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight at its present value."""
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return normalized(direction, length, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replace the parameter by its length and its direction, and register the hook.

        Raises:
            RuntimeError: there is already such a hook.
            ValueError: the parameter has no shape yet.
        """
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        refuse_second(WeightNorm, module, name, "weight_norm")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Turn the weight, with its present value, into a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a weight by its length ``<name>_g`` and its direction ``<name>_v``; return the module.

    The weight, ``g * v / norm(v)``, is computed before each call of the module.  As in PyTorch,
    ``parametrizations.weight_norm`` supersedes this function.

    Args:
        module: the module with the parameter.
        name: the parameter's name.
        dim: the dimension along which each slice has its own length; None for one length for the whole.

    Raises:
        RuntimeError: the weight is already normalized.
        ValueError: the weight has no shape yet.
        AttributeError: there is no such parameter.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Turn a weight replaced by ``weight_norm`` into a parameter again; return the module.

    Raises:
        ValueError: ``weight_norm`` was not applied to a weight with this name.
    """
    remove_hook(WeightNorm, module, name, "weight_norm")
    return module
