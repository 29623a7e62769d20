"""User-defined operations: a forward and a backward in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from .anomaly_mode import forward_trace
from .grad_mode import ANOMALY, GRAD, _Mode, state
from .node import Node, edge_of
from .operations import operations
from .saved import freed_error, modified_error, restored_output
from .variable import is_tensor
from .views import FunctionView, check_writable, record_inplace

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` and ``backward`` of a Function share; any attribute may be set on it.

    It belongs to the node in the graph, which shows its attributes, too, but keeps its own fields apart from them.
    """

    def __init__(self, node: _FunctionNode, needs_input_grad: tuple[bool, ...]):
        self._node = ref(node)
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize_grads = True
        #: For each input of ``forward`` whether it needs a gradient.
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``backward``, which finds them in ``saved_tensors``."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that ``forward`` changed in place; they must be among its outputs."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the outputs that have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for an output that no gradient reached."""
        self._materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: backward has run and freed them, or one was modified in place since.
        """
        node = self._node()
        if node is None:
            raise freed_error()
        return node.unpack()

    def __getattr__(self, name: str) -> Any:
        node = None if name == "_node" else self._node()
        if node is not None and name in _OF_THE_NODE:
            return getattr(node, name)
        kind = type(self if node is None else node).__name__
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")


#: What a context passes on of its node, which in PyTorch is the same object.
_OF_THE_NODE = frozenset({"metadata", "name", "next_functions", "register_hook", "register_prehook"})


class _FunctionNode(Node):
    """The node of a Function; each Function has a subclass of it, called ``<Function>Backward``.

    ``tensor_inputs`` and ``tensor_outputs`` say which inputs and outputs of ``forward`` are tensors: only those have
    an edge, or a gradient.
    """

    __slots__ = ("__weakref__", "context", "saved", "tensor_inputs", "tensor_outputs")

    makes_fresh_gradients = False  # the user's backward may return anything, its saved tensors for one
    wants_undefined = True
    function: type[Function]

    def __init__(self, inputs: tuple[Any, ...]):  # the fields of Node are filled in once forward has run
        self.tensor_inputs = tuple([is_tensor(value) for value in inputs])
        self.tensor_outputs: tuple[bool, ...] = ()
        self.context = FunctionCtx(self, tuple([is_tensor(value) and value.requires_grad for value in inputs]))
        self.saved: tuple[tuple[Any, Any, int | None], ...] | None = ()

    def __getattr__(self, name: str) -> Any:
        if name != "context" and not name.startswith("__"):
            context = self.context
            if name in context.__dict__ or hasattr(FunctionCtx, name):
                return getattr(context, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def record(self, edges: tuple[Any, ...], outputs: list[Any]) -> None:
        """Complete the node, given the edges of its tensor inputs and its tensor outputs."""
        metadata = [(output._shape, output._type) for output in outputs]
        Node.__init__(self, edges, *metadata[0])
        if len(metadata) > 1:
            self.more_outputs = tuple(metadata[1:])

    def keep_saved(self, outputs: dict[int, Any]) -> None:
        """Keep what is to be saved; ``outputs`` are, by number, those that this node is the origin of."""
        saved: list[tuple[Any, Any, int | None]] = []
        for tensor in self.context._to_save:
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
        self.saved = tuple(saved)

    def unpack(self) -> tuple[Any, ...]:
        """The saved tensors, checked, the outputs among them in their place in the graph."""
        if self.saved is None:
            raise freed_error()
        result = []
        for tensor, version, number in self.saved:
            if tensor is not None and tensor._counter[0] != version:
                raise modified_error(self, tensor, version, number is not None)
            result.append(tensor if number is None else restored_output(self, tensor, number))
        return tuple(result)

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        gradients = gradient if self.more_outputs else [gradient]
        if gradients is None:
            gradients = [None] * (1 + len(self.more_outputs or ()))
        if self.context._materialize_grads:
            gradients = [
                operations.zeros(*self.output(number)) if g is None else g for number, g in enumerate(gradients)
            ]
        arrived = iter(gradients)
        given = [next(arrived) if of_tensor else None for of_tensor in self.tensor_outputs]
        results = self.function.backward(self.context, *given)
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self.tensor_inputs)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        for number, (result, of_tensor) in enumerate(zip(results, self.tensor_inputs, strict=True), 1):
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
        return tuple([r for r, of_tensor in zip(results, self.tensor_inputs, strict=True) if of_tensor])

    def release(self) -> None:
        self.saved = None


class _FunctionMeta(type):
    """Gives each Function its node class."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]):
        super().__init__(name, bases, namespace)
        fields = {"function": cls, "__slots__": (), "__module__": cls.__module__}
        cls._node_class = type(f"{name}Backward", (_FunctionNode,), fields)


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
        node = cls._node_class(args)
        context = node.context
        tensors = [a for a in args if is_tensor(a)]
        recording = bool(state.mode & GRAD) and any(context.needs_input_grad)
        with _Mode(GRAD, False):
            if cls.setup_context is not Function.setup_context:
                output = cls.forward(*args)
                cls.setup_context(context, args, output)
            else:
                output = cls.forward(context, *args)
        several = isinstance(output, tuple)
        returned = output if several else (output,)
        _check_dirty(context._dirty, returned)
        results = [_own(o, args, context._dirty) for o in returned]
        if context._non_differentiable:  # an input that is passed through became another tensor: that one is meant
            constants = [r for o, r in zip(returned, results, strict=True) if _among(o, context._non_differentiable)]
            context._non_differentiable = tuple(constants)
        node.tensor_outputs = tuple([is_tensor(r) for r in results])
        outputs = [r for r in results if is_tensor(r)]
        connected: dict[int, Any] = {}
        if recording and outputs:
            edges = tuple([edge_of(t) for t in tensors])
            connected = cls._connect(node, edges, tensors, outputs)
        node.keep_saved(connected)
        context._to_save = context._dirty = context._non_differentiable = ()  # what the node made holds the node
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
            if _among(output, node.context._non_differentiable) or not output.dtype.is_floating_point:
                continue
            connected[number] = output
            place = next((n for n, tensor in enumerate(inputs) if tensor is output), None)
            if place is not None and _among(output, node.context._dirty):
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


def _check_dirty(dirty: tuple[Any, ...], returned: tuple[Any, ...]) -> None:
    """Count the change of the inputs marked as dirty; forward may have written to their memory by any means."""
    for tensor in dirty:
        tensor._counter[0] += 1
        if not _among(tensor, returned):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )


def _own(output: Any, inputs: tuple[Any, ...], dirty: tuple[Any, ...]) -> Any:
    """The output as the caller gets it: an input passed through unchanged is another tensor on the same memory."""
    passed_through = is_tensor(output) and _among(output, inputs) and not _among(output, dirty)
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
