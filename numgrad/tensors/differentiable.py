"""Autograd attributes of tensors: ``requires_grad``, the edge in the graph, the gradient, and hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

from ..autograd.backward import backward
from ..autograd.checks import check_may_require_grad, is_inference
from ..autograd.hooks import Hooks, RemovableHandle, TensorHooks, add_hook, note_module_change
from ..autograd.node import MAYBE, give_gradient_type, gradient_type
from ..autograd.variable import reshaped_gradient
from ..core.types import dtype, tensor_type
from ..devices import recording
from .description import Description

if TYPE_CHECKING:
    from .tensor import Tensor


class AutogradAttributes(Description):
    """Part of Tensor that autograd uses."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded."""
        flag = self._requires_grad
        if flag == MAYBE:  # a view requires a gradient if its base does
            return self._edge is not None or bool(self._root._requires_grad)
        return bool(flag)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if self.grad_fn is not None:
            advice = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise RuntimeError(
                f"you can only change requires_grad flags of leaf variables.{'' if value else advice}"
            )
        if value:
            check_differentiable(self, "only Tensors of floating point and complex dtype")
            check_may_require_grad(self)
        self._requires_grad = bool(value) if value or self._view is None else MAYBE
        note_module_change()

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool, and cannot be deleted")

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` and return the tensor."""
        if not isinstance(requires_grad, bool):
            kind = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {kind}")
        if not (requires_grad and (self._edge is not None or self.grad_fn is not None)):
            if requires_grad:
                check_differentiable(self, "only Tensors of floating point dtype")
            self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor; None for a leaf."""
        edge = self._edge if self._view is None else self._view.edge(self)
        return None if edge is None else edge[0]

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the outputs of ``grad_fn``."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward, or None."""
        if self._grad is None and self._edge is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, AutogradAttributes):
                kind = type(value).__name__
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._layout.type.device is not self._layout.type.device:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device "
                    f"type '{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
                )
            stated = gradient_type(self)
            if stated is not None and value._layout.type is not stated:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype.legacy.lower()}' to a tensor with "
                    f"grad_dtype '{stated.dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to "
                    "the tensor's dtype)."
                )
            if value._layout.shape != self._layout.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradients of this tensor and add them to the ``grad`` of the leaves, or only of ``inputs``.

        ``gradient``, of this tensor's shape, may be omitted for a tensor of one element.  For compatibility with older
        programs, it may also have another shape with as many elements, or one that broadcasts, which causes a warning.
        The other arguments and the errors are those of :func:`numgrad.autograd.backward`.
        """
        if gradient is not None:
            gradient = reshaped_gradient(self, gradient)
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def is_inference(self) -> bool:
        """Return True if this is an inference tensor: made in inference mode, and not a view of a normal tensor."""
        recording.place_read(self._storage, "is_inference()")
        return is_inference(self)

    @property
    def _version(self) -> int:
        """The number of in-place operations that have modified the elements.

        Raises:
            RuntimeError: this is an inference tensor.
        """
        recording.place_read(self._storage, "_version")
        if is_inference(self):
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counter[0]

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None; always None for inference tensors."""
        recording.place_read(self._storage, "_base")
        return self._root if self._view is not None and not is_inference(self) else None

    def _is_view(self) -> bool:
        """Return True if this tensor is a view of another; always False for inference tensors."""
        recording.place_read(self._storage, "_is_view()")
        return self._view is not None and not is_inference(self)

    def retain_grad(self) -> None:
        """Make backward accumulate into ``grad`` although this tensor is not a leaf.

        The gradient is the one returned by the tensor's hooks, including those registered later.  If the tensor is
        later modified in place, the gradient is that of the new value.  No effect on a leaf.

        Raises:
            RuntimeError: the tensor does not require a gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is not None:
            node.attachments().tensor_hooks.retained[self.output_nr] = ref(self)

    @property
    def retains_grad(self) -> bool:
        """True if ``retain_grad`` was called on this non-leaf tensor."""
        node = self.grad_fn
        if node is None or node.attached is None:
            return False
        weak = node.attached.tensor_hooks.retained.get(self.output_nr)
        return weak is not None and weak() is self

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype that gradients of this leaf are converted to, by default its own; None disables the conversion.

        Raises:
            RuntimeError: the tensor is not a leaf; on assignment, if ``grad`` already has another dtype, or if the
                value is neither a dtype nor None.
        """
        if self.grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        accepted = gradient_type(self)
        return None if accepted is None else accepted.dtype

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
        """Call ``hook(gradient)`` whenever this tensor's gradient is computed.

        Hooks run in the order of registration, before those of ``grad_fn``.  A hook must not modify the gradient, but
        it may return a replacement of the same shape, dtype and device.  A hook belongs to the tensor's present value:
        if the tensor is later modified in place, the hook receives the gradient of the value before.  As in PyTorch,
        the hook is called with None if backward passes the tensor without a gradient for it.

        Raises:
            RuntimeError: the tensor does not require a gradient; in backward, if the result has another shape or dtype.
            TypeError: in backward, if the result is not a tensor.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.grad_fn
        if node is not None:
            return add_hook(node.attachments().tensor_hooks.of_output(self.output_nr), hook)
        return add_hook(self._leaf_hooks().of_output(0), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever backward has accumulated into the ``grad`` of this leaf.

        The hook may consume ``grad``: for example, take an optimizer step and set ``grad`` to None, so that the
        gradients of all parameters need not exist at once.  It runs after the hooks of :meth:`register_hook`.  It does
        not run in :func:`numgrad.autograd.grad`, which accumulates into no ``grad``.

        Raises:
            RuntimeError: the tensor does not require a gradient or is not a leaf; in backward, if the hook returns a
                tensor.
            TypeError: in backward, if the hook returns another value that is not None.
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
        """The hooks of :meth:`register_hook` by id, None if there never were any; assignment replaces them.

        Raises:
            TypeError: the assigned value is neither a dictionary nor None.
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
        """The hooks of :meth:`register_post_accumulate_grad_hook` by id, None if there never were any."""
        return None if self._hooks is None else self._hooks.post_accumulate

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, hooks: Hooks | None) -> None:
        _check_hooks("_post_accumulate_grad_hooks", hooks)
        self._leaf_hooks().post_accumulate = hooks

    @_post_accumulate_grad_hooks.deleter
    def _post_accumulate_grad_hooks(self) -> None:
        raise RuntimeError("Deletion of _post_accumulate_grad_hooks not allowed!")


def check_differentiable(tensor: AutogradAttributes, which: str) -> None:
    """Raise unless tensors of this dtype are differentiable; ``which`` names the tensors that are, for the message.

    Raises:
        RuntimeError: the dtype is not differentiable.
    """
    dtype = tensor._layout.type.dtype
    if not dtype.differentiable:
        raise RuntimeError(f"{which} can require gradients, not {dtype} (shape {list(tensor.shape)})")


def _check_hooks(name: str, hooks: Any) -> None:
    if not (hooks is None or isinstance(hooks, dict)):
        raise TypeError(f"{name} must be a dictionary of hooks by number or None, not {type(hooks).__name__}")
