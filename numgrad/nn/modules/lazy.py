"""Modules that infer the shapes of their parameters from the first input."""

from __future__ import annotations

import itertools
from typing import Any

from ...autograd.grad_mode import no_grad
from ..parameter import UninitializedParameter, is_lazy

__all__ = ["LazyLayer", "LazyModuleMixin"]


class LazyModuleMixin:
    """A mixin that makes a module lazy; it precedes the module's class among the bases.

    Parameters and buffers are an ``UninitializedParameter`` or ``UninitializedBuffer`` until the first call, in which
    ``initialize_parameters`` creates them, or until a state that has them is loaded.  After the first call the module
    becomes an instance of ``cls_to_become``, unless that is None.

    Example:
        >>> import numgrad
        >>> from numgrad import nn
        >>> layer = nn.LazyLinear(2)
        >>> layer
        LazyLinear(in_features=0, out_features=2, bias=True)
        >>> layer(numgrad.ones(1, 3)).shape, layer
        (torch.Size([1, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: Any = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Create the parameters and buffers for an input, given as to ``forward``; subclasses define it.

        Raises:
            NotImplementedError: the subclass does not define it.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Return True if a parameter or buffer of the module has no shape yet."""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        """Create the parameters before the first call, and turn the module into an ordinary one.

        Raises:
            RuntimeError: some parameters were not created.
        """
        with no_grad():
            module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self: Any, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save the state, with uninitialized parameters and buffers as they are."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, module: Any, state_dict: Any, prefix: str, *args: Any) -> None:
        """Give uninitialized parameters and buffers the shapes in a state, before it is loaded."""
        for name, tensor in module._own_state().items():
            loaded = state_dict.get(prefix + name)
            if is_lazy(tensor) and loaded is not None and not is_lazy(loaded):
                with no_grad():
                    tensor.materialize(loaded.shape)


class LazyLayer(LazyModuleMixin):
    """The lazy form of a layer that infers one number of features or channels: the attribute ``_inferred``.

    A subclass names the class that its instances become.
    """

    _inferred: str

    def __init_subclass__(cls, becomes: Any = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if becomes is not None:
            cls.cls_to_become = becomes

    def _leave_open(self: Any, device: Any, dtype: Any, **used: bool) -> None:
        """Leave the shapes of these parameters open; parameters that are not wanted remain None."""
        for name, is_used in used.items():
            if is_used:
                setattr(self, name, UninitializedParameter(device=device, dtype=dtype))

    def _materialize(self: Any, **shapes: tuple[int, ...]) -> None:
        """Give parameters and buffers these shapes, and draw the parameters."""
        for name, shape in shapes.items():
            tensor = getattr(self, name)
            if tensor is not None:
                tensor.materialize(shape)
        self.reset_parameters()

    def reset_parameters(self: Any) -> None:
        """Reinitialize the parameters if their shapes are known."""
        if not self.has_uninitialized_params() and getattr(self, self._inferred):
            super().reset_parameters()  # type: ignore[misc]
