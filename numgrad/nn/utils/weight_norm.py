"""Weight normalization by a hook: the weight is computed whenever the module is called."""

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
    """The key of the hook of this kind for the parameter ``name``, None if there is none."""
    return next((key for key, hook in hooks.items() if isinstance(hook, kind) and hook.name == name), None)


def refuse_second(kind: type, module: Module, name: str, function: str) -> None:
    """Raise if the module has a hook of this kind, which ``function`` adds, for the parameter.

    Raises:
        RuntimeError: it has.
    """
    if hook_key(module._forward_pre_hooks, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {function} hooks on the same parameter {name}")


def remove_hook(kind: type, module: Module, name: str, function: str) -> None:
    """Remove the hook of this kind, which ``function`` added, and what it made of the parameter.

    Raises:
        ValueError: there is none.
    """
    key = hook_key(module._forward_pre_hooks, kind, name)
    if key is None:
        raise ValueError(f"{function} of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks[key]
    hook.remove(module)
    del module._forward_pre_hooks[key]


class WeightNorm:
    """The hook: computes the parameter ``name`` of a module from ``<name>_g`` and ``<name>_v``.

    Args:
        name: of the parameter.
        dim: the dimension along which each part of it has a length of its own; None or -1 for none.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight, as it now is."""
        length, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return normalized(direction, length, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Take the parameter out of the module, and add its length, its direction, and the hook.

        Raises:
            RuntimeError: there is such a hook already.
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
        """Make the weight, as it now is, a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replace a weight by its length ``<name>_g`` and its direction ``<name>_v``; returns the module.

    The weight, ``g * v / norm(v)``, is computed before each call of the module.  ``parametrizations.weight_norm`` takes
    the place of this function, in PyTorch, too.

    Args:
        module: whose parameter it is.
        name: the parameter's name.
        dim: the dimension along which each part has a length of its own; None for one length of all.

    Raises:
        RuntimeError: the weight is normalized already.
        ValueError: it has no shape yet.
        AttributeError: there is none.
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that ``weight_norm`` replaced a parameter again; returns the module.

    Raises:
        ValueError: it replaced none of that name.
    """
    remove_hook(WeightNorm, module, name, "weight_norm")
    return module
