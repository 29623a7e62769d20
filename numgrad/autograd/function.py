"""User-defined operations: a forward and a backward in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .anomaly_mode import forward_trace
from .grad_mode import ANOMALY, GRAD, _Mode, state
from .graph import Node, edge_of
from .operations import operations
from .saved import freed_error, modified_error, restored_output
from .variable import is_tensor
from .views import FunctionView, check_writable, record_inplace

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
        #: Which inputs of forward are tensors, and which outputs: only those have an edge, or a gradient.
        self._tensor_inputs: tuple[bool, ...] = ()
        self._tensor_outputs: tuple[bool, ...] = ()

    def record(self, edges: tuple[Any, ...], outputs: list[Any]) -> None:
        """Complete the node, given the edges of its tensor inputs and its tensor outputs."""
        metadata = [(output._shape, output._type) for output in outputs]
        Node.__init__(self, edges, *metadata[0])
        if len(metadata) > 1:
            self.more_outputs = tuple(metadata[1:])

    def keep_saved(self, outputs: dict[int, Any]) -> None:
        """Keep what is to be saved; ``outputs`` are, by number, those that this node is the origin of."""
        saved: list[tuple[Any, Any, int | None]] = []
        for tensor in self.to_save:
            if tensor is None:
                saved.append((None, None, None))
                continue
            if not is_tensor(tensor):
                raise TypeError(
                    "save_for_backward can only save variables, but argument "
                    f"{len(saved)} is of type {type(tensor).__name__}"
                )
            number = next((n for n, output in outputs.items() if output is tensor), None)
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
        arrived = iter(gradients)
        results = self.function.backward(self, *[next(arrived) if one else None for one in self._tensor_outputs])
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self._tensor_inputs)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        for number, (result, of_tensor) in enumerate(zip(results, self._tensor_inputs, strict=True), 1):
            if result is None:
                continue
            if not of_tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {number}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not is_tensor(result):
                raise RuntimeError(
                    f"expected Variable or None (got {type(result).__name__}) as gradient {number} of function "
                    f"{self.name()}"
                )
        return tuple([r for r, of_tensor in zip(results, self._tensor_inputs, strict=True) if of_tensor])

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
        """Run ``forward`` and record it.

        Raises:
            RuntimeError: an input marked as dirty is not among the outputs, or cannot be recorded as changed.
        """
        node = cls._node_class()
        node._tensor_inputs = tuple([is_tensor(a) for a in args])
        tensors = [a for a in args if is_tensor(a)]
        recording = bool(state.mode & GRAD) and any(t.requires_grad for t in tensors)
        node.needs_input_grad = tuple(is_tensor(a) and a.requires_grad for a in args)
        with _Mode(GRAD, False):
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args)
        several = isinstance(output, tuple)
        returned = output if several else (output,)
        _check_dirty(node, returned)
        results = [_own(o, args, node) for o in returned]
        node._tensor_outputs = tuple([is_tensor(r) for r in results])
        outputs = [r for r in results if is_tensor(r)]
        connected: dict[int, Any] = {}
        if recording and outputs:
            edges = tuple([edge_of(t) for t in tensors])
            connected = cls._connect(node, edges, tensors, outputs)
        node.keep_saved(connected)
        node.dirty_tensors = node.non_differentiable = ()  # those that the node made hold the node
        return tuple(results) if several else results[0]

    @classmethod
    def _connect(
        cls, node: _FunctionNode, edges: tuple[Any, ...], inputs: list[Any], outputs: list[Any]
    ) -> dict[int, Any]:
        """Make ``node`` the origin of the differentiable outputs, which are returned by their number."""
        node.record(edges, outputs)
        if state.mode & ANOMALY:
            node.attachments().forward_trace = forward_trace()
        connected = {}
        for number, output in enumerate(outputs):
            if _among(output, node.non_differentiable) or not output.dtype.is_floating_point:
                continue
            connected[number] = output
            place = next((n for n, tensor in enumerate(inputs) if tensor is output), None)
            if place is not None and _among(output, node.dirty_tensors):
                check_writable(output)
                if output._view is not None and len(outputs) > 1:
                    raise RuntimeError(
                        f"{cls.__name__} changes a view in place and returns {len(outputs)} tensors: a Function that "
                        "does the one may return no other tensor."
                    )
                record_inplace(output, node, number, place)
                continue
            parent = next((tensor for tensor in inputs if tensor._storage is output._storage), None)
            output._view = None if parent is None else FunctionView(parent, _REFUSED.format(number, cls.__name__))
            output._edge = (node, number)
            output._requires_grad = True
        return connected


_REFUSED = (
    "Output {} of {} is a view and is being modified inplace. This view was created inside a custom Function (or "
    "because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You "
    "can fix this by cloning the output of the custom Function."
)


def _among(tensor: Any, tensors: tuple[Any, ...]) -> bool:
    return any(tensor is other for other in tensors)


def _check_dirty(node: _FunctionNode, returned: tuple[Any, ...]) -> None:
    """Count the change of the inputs marked as dirty; forward may have written to their memory by any means."""
    for tensor in node.dirty_tensors:
        tensor._counter[0] += 1
        if not _among(tensor, returned):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )


def _own(output: Any, inputs: tuple[Any, ...], node: _FunctionNode) -> Any:
    """The output as the caller gets it: an input passed through unchanged is another tensor on the same memory."""
    passed_through = is_tensor(output) and _among(output, inputs) and not _among(output, node.dirty_tensors)
    return output._alias() if passed_through else output


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
