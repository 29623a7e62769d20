"""Pruning: masks that set entries of a module's parameters to zero, chosen at random or by their size.

A pruned parameter ``weight`` is kept as ``weight_orig``, its mask is the buffer ``weight_mask``, and a hook sets
``weight`` to their product before each call of the module.  A parameter may be pruned again: its mask becomes that of
all methods together.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from ...ops.creation.factories import ones_like, zeros_like
from ...ops.creation.random_numbers import rand, rand_like
from ...ops.shapes.joining import cat
from ...tensors.tensor import Tensor
from ..modules.module import Module

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]


class BasePruningMethod:
    """A way to choose the entries of a parameter that are set to zero; subclasses define :meth:`compute_mask`.

    Attributes:
        PRUNING_TYPE: "unstructured" for single entries, "structured" for slices along a dimension ``dim``, "global".
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the parameter, before a call of the module."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask, of the shape of ``default_mask``, for the entries whose importance ``t`` states."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_mask")

    def apply_mask(self, module: Module) -> Tensor:
        """Return the product of the parameter and its mask."""
        name = self._tensor_name
        if name + "_mask" not in module._buffers:
            raise RuntimeError(f"Module {module} has to be pruned: it has no mask of {name}")
        pruned = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=pruned.dtype) * pruned

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter of a module, and return the method, or the container of all methods of the parameter.

        Args:
            module: the module.
            name: the parameter's name.
            args, kwargs: arguments of the class.
            importance_scores: the importance of the entries; by default, their values.
        """
        key, old = _method_of(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name if old is None else name + "_orig")
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(f"importance_scores have shape {tuple(scores.shape)}, {name} has {tuple(original.shape)}")
        if old is None:
            present = ones_like(original.detach())
        else:
            present = getattr(module, name + "_mask")
            method = PruningContainer(old, method)
            del module._forward_pre_hooks[key]
        mask = method.compute_mask(scores.detach(), present.clone()).to(original.dtype)
        if old is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """Return the product of a tensor and the mask for it."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise ValueError(f"importance_scores have shape {tuple(scores.shape)}, the tensor has {tuple(t.shape)}")
        return t * self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter; the hook remains until :func:`remove` deletes it."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original = module._parameters.pop(name + "_orig")
        assert original is not None
        del module._buffers[name + "_mask"]
        vars(module).pop(name, None)
        original.data = pruned.data
        setattr(module, name, original)


def _method_of(module: Module, name: str) -> tuple[Any, BasePruningMethod | None]:
    """Return the hook that prunes the parameter, with its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


class PruningContainer(BasePruningMethod):
    """Several methods that prune one parameter one after another, each what its predecessors left."""

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod | Iterable[BasePruningMethod]):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods = list(args) if len(args) != 1 or isinstance(args[0], BasePruningMethod) else list(args[0])
        for position, method in enumerate(methods):
            if not position and isinstance(method, BasePruningMethod):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same parameter.

        Raises:
            TypeError: it is not a method.
            ValueError: it prunes another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += method._pruning_methods if isinstance(method, PruningContainer) else (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with the zeros of the last method, which chooses among the remaining entries."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            chosen: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = _dimension(method.dim, t)  # type: ignore[attr-defined]
            chosen = (slice(None),) * dim + (mask.sum(_others(dim, t)) != 0,)
        elif method.PRUNING_TYPE == "global":
            chosen = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = mask.clone()
        result[chosen] = method.compute_mask(t[chosen], default_mask=mask[chosen]).to(result.dtype)
        return result


def _dimension(dim: int, t: Tensor) -> int:
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return dim % t.dim()


def _others(dim: int, t: Tensor) -> list[int]:
    return [other for other in range(t.dim()) if other != dim]


def _checked_amount(amount: float) -> float:
    """Return an amount, which must be a fraction or a number of entries."""
    if isinstance(amount, bool) or not isinstance(amount, Integral | float):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def _count(amount: float, size: int) -> int:
    """Return the number of entries, of ``size``, that an amount stands for."""
    if isinstance(amount, Integral):
        if amount > size:
            raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
        return int(amount)
    return round(amount * size)


class Identity(BasePruningMethod):
    """A method that prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask``."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method that prunes a number of entries or a fraction of them."""

    def __init__(self, amount: float):
        self.amount = _checked_amount(amount)


class RandomUnstructured(_Amount):
    """A method that prunes random entries: a number of them, or a fraction."""

    PRUNING_TYPE = "unstructured"

    def _lowest(self, t: Tensor, count: int) -> Tensor:
        return rand_like(t).view(-1).topk(count)[1]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with further zeros."""
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._lowest(t, count)] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """A method that prunes the entries of the smallest absolute values: a number of them, or a fraction."""

    def _lowest(self, t: Tensor, count: int) -> Tensor:
        return t.abs().view(-1).topk(count, largest=False)[1]


class RandomStructured(_Amount):
    """A method that prunes random slices along a dimension: a number of them, or a fraction."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, dim: int, count: int) -> Tensor:
        chances = rand(t.shape[dim])
        return chances > chances.kthvalue(count)[0]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return ``default_mask`` with further slices of zeros."""
        if t.dim() <= 1:
            raise ValueError(
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} "
                f"with {t.dim()} dims"
            )
        dim = _dimension(self.dim, t)
        count = _count(self.amount, t.shape[dim])
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[(slice(None),) * dim + (self._kept(t, dim, count),)] = 1
        return mask * default_mask.to(mask.dtype)


class LnStructured(RandomStructured):
    """A method that prunes the slices of the smallest norms along a dimension: a number of them, or a fraction.

    Args:
        amount: the number, or a fraction.
        n: the order of the norm, as in :func:`numgrad.norm`.
        dim: the dimension.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, dim: int, count: int) -> Tensor:
        norms = t.norm(p=self.n, dim=_others(dim, t))
        return norms.topk(t.shape[dim] - count)[1]


class CustomFromMask(BasePruningMethod):
    """A method with a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of ``default_mask`` and the mask."""
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give a parameter of a module a mask of ones; return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random entries of a parameter, a number or a fraction of them; return the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the entries of the smallest absolute values, or scores, a number or a fraction; return the module."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random slices of a parameter along ``dim``, a number or a fraction of them; return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices along ``dim`` whose norms of order ``n`` are the smallest; return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any,
) -> None:
    """Prune entries of several parameters, chosen among all of them by an unstructured method.

    Args:
        parameters: pairs of a module and the name of a parameter.
        pruning_method: the class of the method.
        importance_scores: importance of the entries, by pairs; by default, the values.
        kwargs: arguments of the class.

    Raises:
        TypeError: the method is not unstructured.
    """
    pairs, scores = list(parameters), importance_scores or {}
    values = [scores[pair] if pair in scores else getattr(*pair) for pair in pairs]
    masks = [getattr(module, name + "_mask", ones_like(getattr(module, name))) for module, name in pairs]
    method = PruningContainer()
    method._tensor_name = "temp"
    chooser = pruning_method(**kwargs)
    chooser._tensor_name = "temp"
    if chooser.PRUNING_TYPE != "unstructured":
        raise TypeError(f"Only 'unstructured' PRUNING_TYPE supported for the `pruning_method`. Found {pruning_method}")
    method.add_pruning_method(chooser)
    flat = [cat([tensor.detach().reshape(-1) for tensor in tensors]) for tensors in (values, masks)]
    chosen = method.compute_mask(flat[0], flat[1]).split([value.numel() for value in values])
    for (module, name), value, mask in zip(pairs, values, chosen, strict=True):
        custom_from_mask(module, name, mask.view(value.shape))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the entries of a parameter where ``mask`` is zero; return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make the pruned values of a parameter permanent; return the module.

    Raises:
        ValueError: the parameter is not pruned.
    """
    key, method = _method_of(module, name)
    if method is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Return True if a parameter of the module, or of one inside it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for inner in module.modules() for hook in inner._forward_pre_hooks.values()
    )
