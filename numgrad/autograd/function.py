"""User-defined operations: a forward and a backward in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .anomaly_mode import forward_trace
from .grad_mode import ANOMALY, GRAD, _Mode, state
from .graph import Node, edge_of
from .operations import operations
from .saved import freed_error, modified_error, restored_output
from .views import check_writable, record_inplace

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` and ``backward`` of a Function share; at the same time the node in the graph."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``backward``, which finds them in ``saved_tensors``."""
        self.to_save = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that ``forward`` changed in place; they must be among its outputs."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the outputs that have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for an output that no gradient reached."""
        self.materialize_grads = value


class _FunctionNode(Node, FunctionCtx):
    """The node of a Function; each Function has a subclass of it, called ``<Function>Backward``."""

    makes_fresh_gradients = False  # the user's backward may return anything, its saved tensors for one
    wants_undefined = True
    function: type[Function]

    def __init__(self) -> None:  # the fields of Node are filled in once forward has run
        self.to_save: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize_grads = True
        self.needs_input_grad: tuple[bool, ...] = ()
        self._saved: tuple[tuple[Any, Any, int | None], ...] | None = ()

    def record(self, edges: tuple[Any, ...], outputs: list[Any]) -> None:
        """Complete the node, given its tensor outputs."""
        metadata = [(output._shape, output._type) for output in outputs]
        Node.__init__(self, edges, *metadata[0])
        if len(metadata) > 1:
            self.more_outputs = tuple(metadata[1:])

    def keep_saved(self, outputs: list[Any]) -> None:
        saved: list[tuple[Any, Any, int | None]] = []
        for tensor in self.to_save:
            if tensor is None:
                saved.append((None, None, None))
                continue
            if not hasattr(tensor, "_counter"):
                raise TypeError(
                    "save_for_backward can only save variables, but argument "
                    f"{len(saved)} is of type {type(tensor).__name__}"
                )
            number = next((n for n, output in enumerate(outputs) if output is tensor), None)
            kept = tensor if number is None else tensor._alias()
            saved.append((kept, tensor._counter[0], number))
        self._saved = tuple(saved)
        self.to_save = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: backward has run and freed them, or one was modified in place since.
        """
        if self._saved is None:
            raise freed_error()
        result = []
        for tensor, version, number in self._saved:
            if tensor is not None and tensor._counter[0] != version:
                raise modified_error(self, tensor, version, number is not None)
            result.append(tensor if number is None else restored_output(self, tensor, number))
        return tuple(result)

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        gradients = gradient if self.more_outputs else [gradient]
        if gradients is None:
            gradients = [None] * (1 + len(self.more_outputs or ()))
        if self.materialize_grads:
            gradients = [
                operations.zeros(*self.output(number)) if g is None else g for number, g in enumerate(gradients)
            ]
        results = self.function.backward(self, *gradients)
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self.edges)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        for number, result in enumerate(results):
            if result is not None and not hasattr(result, "_counter"):
                raise TypeError(
                    f"function {self.name()} returned {type(result).__name__} as gradient {number}; "
                    "expected a Tensor or None"
                )
        return results

    def release(self) -> None:
        self._saved = None


class _FunctionMeta(type):
    """Gives each Function its node class."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]):
        super().__init__(name, bases, namespace)
        cls._node_class = type(f"{name}Backward", (_FunctionNode,), {"function": cls, "__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """Base class of operations with a backward of their own.

    Subclasses define ``forward(ctx, *inputs)`` and ``backward(ctx, *grad_outputs)`` as static methods (or
    ``forward(*inputs)`` and ``setup_context(ctx, inputs, output)``), and are called through ``apply``.

    Example:
        >>> import numgrad
        >>> class Double(numgrad.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = numgrad.tensor([1.0, 2.0], requires_grad=True)
        >>> Double.apply(x)
        tensor([2., 4.], grad_fn=<DoubleBackward>)
    """

    _node_class: type[_FunctionNode]

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: tensors, or anything else among them."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what backward needs, where ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradient of every input of ``forward`` (None for what is not a tensor)."""
        raise NotImplementedError("You must implement the backward function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run ``forward`` and record it."""
        node = cls._node_class()
        tensors = [a for a in args if hasattr(a, "_counter")]
        recording = bool(state.mode & GRAD) and any(t.requires_grad for t in tensors)
        node.needs_input_grad = tuple(hasattr(a, "_counter") and a.requires_grad for a in args)
        with _Mode(GRAD, False):
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        several = isinstance(output, tuple)
        results = [_own(o, args, node) for o in output] if several else [_own(output, args, node)]
        outputs = [r for r in results if hasattr(r, "_counter")]
        if recording and outputs:
            edges = tuple(edge_of(a) if hasattr(a, "_counter") else None for a in args)
            cls._connect(node, edges, outputs)
        originals = [o for o in (output if several else (output,)) if hasattr(o, "_counter")]
        node.keep_saved(originals)
        return tuple(results) if several else results[0]

    @classmethod
    def _connect(cls, node: _FunctionNode, edges: tuple[Any, ...], outputs: list[Any]) -> None:
        node.record(edges, outputs)
        if state.mode & ANOMALY:
            node.attachments().forward_trace = forward_trace()
        for number, output in enumerate(outputs):
            skipped = any(output is tensor for tensor in node.non_differentiable)
            if skipped or not output.dtype.is_floating_point:
                continue
            if any(output is tensor for tensor in node.dirty_tensors):
                check_writable(output)
                record_inplace(output, node)
            else:
                output._edge = (node, number)
                output._requires_grad = True
                output._view = None


def _own(output: Any, inputs: tuple[Any, ...], node: _FunctionNode) -> Any:
    """The output as the caller gets it: an input passed through unchanged is another tensor on the same memory."""
    if not hasattr(output, "_counter"):
        return output
    dirty = any(output is tensor for tensor in node.dirty_tensors)
    return output._alias() if any(output is i for i in inputs) and not dirty else output


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot itself be differentiated: trying to raises an error."""

    def wrapped(ctx: Any, *gradients: Any) -> Any:
        with _Mode(GRAD, False):
            results = backward(ctx, *gradients)
        if not state.mode & GRAD or not any(g is not None and g.requires_grad for g in gradients):
            return results
        several = isinstance(results, tuple)
        refused = [
            None if r is None else _Refuse.apply(r._alias().requires_grad_())
            for r in (results if several else (results,))
        ]
        return tuple(refused) if several else refused[0]

    return wrapped


class _Refuse(Function):
    """Passes a gradient on but has no backward."""

    @staticmethod
    def forward(ctx: Any, gradient: Any) -> Any:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
