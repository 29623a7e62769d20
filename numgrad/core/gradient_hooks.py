"""What a tensor has to do with its own gradient: hooks on it, its dtype, and keeping it if the tensor is no leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..autograd.hooks import Hooks, RemovableHandle, TensorHooks, add_hook
from ..autograd.node import give_gradient_type, gradient_type
from .types import dtype, tensor_type


class GradientHooks:
    """The part of Tensor that knows of hooks."""

    __slots__ = ()

    if TYPE_CHECKING:  # the fields of Tensor
        _accumulator: Any
        _grad: Any
        _grad_type: Any
        _hooks: Any

        def __getattr__(self, name: str) -> Any: ...

    def retain_grad(self) -> None:
        """Have backward fill in ``grad`` although this tensor is not a leaf.

        It gets what the hooks make of the gradient, those registered later, too.  If the tensor is changed in place
        afterwards, it gets the gradient of the new value.  Does nothing to a leaf.

        Raises:
            RuntimeError: the tensor requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is not None:
            node.attachments().tensor_hooks.retained[self.output_nr] = ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on this non-leaf tensor."""
        node = self.grad_fn
        if node is None or node.attached is None:
            return False
        weak = node.attached.tensor_hooks.retained.get(self.output_nr)
        return weak is not None and weak() is self

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype that gradients of this leaf are converted to, at first its own; None leaves them as they are.

        Raises:
            RuntimeError: the tensor is no leaf; when it is set, ``grad`` is there in another dtype, or what is given
                is neither a dtype nor None.
        """
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        kind = gradient_type(self)
        return None if kind is None else kind.dtype

    @grad_dtype.setter
    def grad_dtype(self, value: dtype | None) -> None:
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None:
            if not isinstance(value, dtype):
                raise RuntimeError(f"grad_dtype must be a dtype or None, but got {type(value).__name__}")
            if self._grad is not None and self._grad.dtype is not value:
                raise RuntimeError(
                    f"Cannot set grad_dtype to '{value.legacy}' because there is already a gradient with dtype "
                    f"'{self._grad.dtype.legacy.lower()}'. Please clear the gradient (.grad = None) before changing "
                    "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
                )
        give_gradient_type(self, None if value is None else tensor_type(value, self.device))

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(gradient)`` whenever this tensor's gradient is computed; what it returns replaces it.

        Hooks run in the order of their registration, before those of ``grad_fn``.  They must not change the gradient
        but may return one of the same shape, dtype and device in its place.  A hook belongs to the value that the
        tensor has now: if the tensor is changed in place later, the gradient is that of the value before.  As in
        PyTorch, the hook is called with None if backward comes by without a gradient for this tensor.

        Raises:
            RuntimeError: the tensor requires no gradient; in backward, if what is returned has another shape or dtype.
            TypeError: in backward, if what is returned is no tensor.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.grad_fn
        if node is not None:
            return add_hook(node.attachments().tensor_hooks.of_output(self.output_nr), hook)
        return add_hook(self._leaf_hooks().of_output(0), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever backward has added to the ``grad`` of this leaf.

        The hook may use ``grad`` up: take an optimizer's step and set ``grad`` to None, so that the gradients of all
        parameters need not be there at once.  It runs after the hooks of :meth:`register_hook`, and not in
        :func:`numgrad.autograd.grad`, which adds to no ``grad``.

        Raises:
            RuntimeError: the tensor requires no gradient or is no leaf; in backward, if the hook returns a tensor.
            TypeError: in backward, if the hook returns anything else but None.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return add_hook(self._leaf_hooks().after_accumulation(), hook)

    def _leaf_hooks(self) -> TensorHooks:
        if self._hooks is None:
            self._hooks = TensorHooks()
        return self._hooks

    @property
    def _backward_hooks(self) -> Hooks | None:
        """The hooks of :meth:`register_hook` by number, None if there never were any; others may be assigned.

        Raises:
            TypeError: what is assigned is neither a dictionary nor None.
        """
        node = self.grad_fn
        if node is None:
            return None if self._hooks is None else self._hooks.hooks.get(0)
        return None if node.attached is None else node.attached.tensor_hooks.hooks.get(self.output_nr)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Hooks | None) -> None:
        _check_hooks("_backward_hooks", hooks)
        node = self.grad_fn
        by_output = (self._leaf_hooks() if node is None else node.attachments().tensor_hooks).hooks
        if hooks is None:
            by_output.pop(self.output_nr, None)
        else:
            by_output[self.output_nr] = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def _post_accumulate_grad_hooks(self) -> Hooks | None:
        """The hooks of :meth:`register_post_accumulate_grad_hook` by number, None if there never were any."""
        return None if self._hooks is None else self._hooks.post_accumulate

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, hooks: Hooks | None) -> None:
        _check_hooks("_post_accumulate_grad_hooks", hooks)
        self._leaf_hooks().post_accumulate = hooks

    @_post_accumulate_grad_hooks.deleter
    def _post_accumulate_grad_hooks(self) -> None:
        raise RuntimeError("Deletion of _post_accumulate_grad_hooks not allowed!")


def _check_hooks(name: str, hooks: Any) -> None:
    if not (hooks is None or isinstance(hooks, dict)):
        raise TypeError(f"{name} must be a dictionary of hooks by number or None, not {type(hooks).__name__}")
