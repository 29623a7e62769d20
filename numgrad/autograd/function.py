"""User-defined operations: a forward and a backward in Python."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..core.layout import Layout
from .calls import transformed
from .checks import is_tensor
from .function_call import FunctionCall, finish
from .function_node import BackwardCFunction, FunctionCtx
from .grad_mode import GRAD, TRANSFORMED, no_grad, state, with_recording
from .levels import share_tangents
from .node import Edge, Node, edge_of
from .thread_state import switch_back, thread_state

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]


class FunctionMeta(type):
    """Metaclass that gives each Function its own node class."""

    _backward_cls: type[BackwardCFunction]
    _parameters: Parameters | None  # of ``forward``, determined on first use

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]):
        super().__init__(name, bases, namespace)
        fields = {"function": cls, "op_name": name, "__slots__": (), "__module__": cls.__module__}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), fields)
        cls._parameters = None


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of operations with a user-defined backward.

    A subclass defines the static methods ``forward(ctx, *inputs)`` and ``backward(ctx, *grad_outputs)``, or splits the
    former into ``forward(*inputs)`` and ``setup_context(ctx, inputs, output)``.  It is called through ``apply``.

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

    #: True if ``vmap`` is to be derived from forward and backward.
    generate_vmap_rule = False
    #: True if reading ``ctx.saved_tensors`` drops the saved tensors.  They can then be read only once, and the memory
    #: of each is free as soon as ``backward`` has finished with it.
    clear_saved_tensors_on_access = False
    #: True if ``backward`` receives all gradients in one list, ``backward(ctx, grads)``, and may remove those that it
    #: has finished with.
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. "
            "(Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: a tensor, a tuple, or any other value.  A tuple may mix tensors and other values.

        The arguments are a context for saving values, followed by the arguments of ``apply``.  A class that also
        defines ``setup_context`` omits the context.  Nothing in ``forward`` is recorded.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save values for backward if ``forward`` takes no ``ctx``.

        ``inputs`` are the arguments of ``forward``, with defaults for omitted ones.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradient of every input of ``forward``, with None for arguments that are not tensors.

        It receives one gradient per output of ``forward``, with None for outputs that are not tensors, and must not
        modify them in place.  With ``create_graph``, it is recorded.  ``vjp`` is an alias.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the tangent of every output of ``forward``, given those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Compute ``(output, out_dims)`` for arguments with an additional dimension at the positions ``in_dims``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record it.

        Keyword arguments are reordered to match the signature of ``forward``.  With ``setup_context``, omitted
        arguments take their defaults, so ``backward`` returns a gradient for them too.

        Raises:
            TypeError: the arguments do not match ``forward`` or are keyword-only, or a saved value is not a tensor.
            RuntimeError: an input marked as dirty is not among the outputs, or its change cannot be recorded.
        """
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args = cls._parameters_of_forward().with_defaults(args, kwargs)
        elif kwargs:
            args = cls._parameters_of_forward().after_context(args, kwargs)
        if state.mode & TRANSFORMED:
            return transformed(FunctionCall(cls, args))
        return cls._call(args)

    @classmethod
    def _call(cls, args: tuple[Any, ...], call: FunctionCall | None = None) -> Any:
        """Run ``forward`` and record it; ``call`` keeps the values that ``jvp`` needs."""
        separate = cls.setup_context is not Function.setup_context
        node = cls._backward_cls(args)
        context = node.context
        before = thread_state()
        mode = state.mode
        record = bool(mode & GRAD) and True in context.needs_input_grad
        state.mode = with_recording(mode, False)
        try:
            if separate:
                output = cls.forward(*args)
                cls.setup_context(context, args, output)
            else:
                output = cls.forward(context, *args)
        finally:
            state.mode = mode  # first, because Ctrl-C may interrupt any call
            switch_back(before)
        if call is not None:
            call.note_forward(context, output)
        if isinstance(output, tuple):
            return tuple(finish(node, args, output, record))
        return finish(node, args, (output,), record)[0]

    @classmethod
    def _parameters_of_forward(cls) -> Parameters:
        parameters = cls._parameters
        if parameters is None or parameters.forward != cls.forward:
            parameters = cls._parameters = Parameters(cls.forward)
        return parameters

    @classmethod
    def _run_backward(cls, ctx: Any, gradients: list[Any]) -> Any:
        backward = cls.backward
        if cls.vjp is not Function.vjp:
            if backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                    "implement one of them."
                )
            backward = cls.vjp
        return backward(ctx, gradients) if cls.boxed_grads_call else backward(ctx, *gradients)


class InplaceFunction(Function):
    """Function with an ``inplace`` flag, for older programs."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot itself be differentiated; attempts to do so raise an error."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        listed = gradients[0] if gradients and isinstance(gradients[0], list) else gradients  # see boxed_grads_call
        differentiable = state.mode & GRAD and any(is_tensor(g) and g.requires_grad for g in listed)
        with no_grad():
            results = backward(ctx, *gradients)
        if not differentiable:
            return results
        return tuple(map(refusing, results)) if isinstance(results, tuple) else refusing(results)

    return wrapped


_ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"


def refusing(gradient: Any, message: str = _ONCE) -> Any:
    """Return the gradient with a node that raises when it is differentiated."""
    if gradient is None or not gradient._layout.type.dtype.differentiable:
        return gradient
    refused = gradient._alias()
    share_tangents(gradient, refused)
    edge = edge_of(gradient)
    refused._edge = Error(() if edge is None else (edge,), gradient._layout, message), 0
    refused._requires_grad = True
    return refused


class Error(Node):
    """Node of gradients that must not be differentiated, under PyTorch's name."""

    __slots__ = ("message",)

    def __init__(self, edges: tuple[Edge, ...], layout: Layout, message: str):
        super().__init__(edges, layout)
        self.message = message

    def name(self) -> str:
        """Return PyTorch's name of this node."""
        return "torch::autograd::Error"

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


# -- arguments of apply as parameters of forward -------------------------------------------------------------


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """Parameters of one ``forward``, cached in the Function because inspecting a signature is slow."""

    __slots__ = ("count", "forward", "names", "signature")

    def __init__(self, forward: Callable[..., Any]):
        self.forward = forward
        self.signature = inspect.signature(forward)
        parameters = self.signature.parameters.values()
        self.names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]
        #: Number of arguments, or None if it varies.
        self.count = len(self.names) if len(self.names) == len(parameters) else None

    def after_context(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of ``forward(ctx, ...)``.

        Raises:
            TypeError: a name is unknown or given twice, or an argument before a named one is missing.
        """
        names = self.names[1:]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
            if name in names[: len(args)]:
                raise TypeError(f"forward() got multiple values for argument '{name}'")
        values = list(args)
        end = max([names.index(name) for name in kwargs])
        for position in range(len(args), end + 1):
            if names[position] not in kwargs:
                raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
            values.append(kwargs[names[position]])
        return tuple(values)

    def with_defaults(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments in the order of a ``forward`` without context, with defaults for omitted ones.

        Raises:
            TypeError: the arguments do not match, or ``forward`` has keyword-only parameters.
        """
        if len(args) == self.count and not kwargs:
            return args
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'")
        return bound.args
