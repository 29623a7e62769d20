"""Hooks of modules: functions called before and after ``forward``, and with the gradients during backward."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...autograd.hooks import RemovableHandle, add_hook
from ...autograd.node import next_sequence
from ...tensors.tensor import Tensor

__all__ = [
    "CALLS", "Hooks", "calls_made", "every_module", "next_sequence", "note_call", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]


Hook = Callable[..., Any]


class Hooks:
    """The part of a module that holds its forward and backward hooks."""

    # Hooks by the number of their handle; each set of marks has the numbers of the hooks registered with that option.
    _backward_hooks: OrderedDict[int, Hook]
    _backward_pre_hooks: OrderedDict[int, Hook]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; its result, unless None, replaces the arguments.

        With ``with_kwargs``, it is called as ``hook(module, args, kwargs)`` and returns both or None.  With
        ``prepend``, it runs before the existing hooks.
        """
        marked = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, marks=marked)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; its result, unless None, replaces the output.

        With ``with_kwargs``, it is called as ``hook(module, args, kwargs, output)``.  With ``prepend``, it runs before
        the existing hooks.  With ``always_call``, it runs even if ``forward`` raised an exception, which then
        propagates.
        """
        marked = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            marked.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, prepend=prepend, marks=marked)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients of the inputs are computed.

        Its result, unless None, replaces ``grad_output``.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` once the gradients of the inputs are computed.

        Both are tuples with None in the place of non-tensors.  The hook's result, unless None, replaces ``grad_input``.
        Inputs and outputs of a module with such a hook must not be changed in place.
        """
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` at the node of the graph that made the output.

        Deprecated: ``grad_input`` has the gradients of that node's inputs, which differ from the module's unless its
        ``forward`` is a single operation.  Use :meth:`register_full_backward_hook`.
        """
        return self.register_forward_hook(functools.partial(_watch_last_node, hook))

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``forward`` and all hooks around it."""
        called: set[int] = set()
        result = None
        try:
            for owner in (every_module, self):
                for number, hook in list(owner._forward_pre_hooks.items()):
                    if number in owner._forward_pre_hooks_with_kwargs:
                        args, kwargs = _replaced(hook(self, args, kwargs), args, kwargs)
                    else:
                        new = hook(self, args)
                        args = args if new is None else new if isinstance(new, tuple) else (new,)
            backward = _BackwardHooks.of(self)
            if backward is not None:
                args = backward.watch_inputs(args)
            result = self.forward(*args, **kwargs)  # type: ignore[attr-defined]
            for owner in (every_module, self):
                for number, hook in list(owner._forward_hooks.items()):
                    called.add(number)
                    result = self._after(owner, number, hook, args, kwargs, result)
            return result if backward is None else backward.watch_outputs(result)
        except Exception:
            self._call_in_spite_of_error(called, args, kwargs, result)
            raise

    def _after(
        self, owner: Hooks, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """Return the result after one of the owner's forward hooks."""
        if number in owner._forward_hooks_with_kwargs:
            new = hook(self, args, kwargs, result)
        else:
            new = hook(self, args, result)
        return result if new is None else new

    def _call_in_spite_of_error(
        self, called: set[int], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Call the hooks registered with ``always_call`` that have not run yet."""
        for owner in (every_module, self):
            waiting = owner._forward_hooks_always_called.keys() - called
            for number, hook in list(owner._forward_hooks.items()):
                if number not in waiting:
                    continue
                try:
                    result = self._after(owner, number, hook, args, kwargs, result)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=4,
                    )


def _watch_last_node(hook: Hook, module: Hooks, args: tuple[Any, ...], result: Any) -> None:
    """Register a hook at the node that made the first tensor of a result."""
    while not isinstance(result, Tensor):
        values = list(result.values() if isinstance(result, dict) else result)
        result = next((value for value in values if isinstance(value, Tensor)), values[0])
    if result.grad_fn is not None:
        result.grad_fn.register_hook(functools.partial(hook, module))


def _replaced(new: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments after a pre-hook with keywords."""
    if new is None:
        return args, kwargs
    if isinstance(new, tuple) and len(new) == 2:
        return new
    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {new}.")


class _EveryModule(Hooks):
    """The hooks that run for every module, before the module's own."""

    def __init__(self) -> None:
        self.__dict__.update({name: OrderedDict() for name in Hooks.__annotations__})

    @property
    def has_hooks(self) -> bool:
        """True if any hooks exist."""
        return bool(
            self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
        )


every_module = _EveryModule()


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before ``forward`` of every module."""
    return every_module.register_forward_pre_hook(hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after ``forward`` of every module."""
    return every_module.register_forward_hook(hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return every_module.register_full_backward_pre_hook(hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of every module."""
    return every_module.register_full_backward_hook(hook)


class BackwardHookFunction(Function):
    """The identity on tensors, whose gradients pass through ``seen``; missing gradients arrive as zeros or None."""

    @staticmethod
    def forward(ctx: Any, seen: Callable[[tuple[Any, ...]], tuple[Any, ...]], zeros: bool, *tensors: Tensor) -> Any:
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        ctx.set_materialize_grads(zeros)
        ctx.seen = seen
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, None, *ctx.seen(gradients))


class _BackwardHooks:
    """The backward hooks of one call of a module.

    One identity function on the inputs and one on the outputs observe the gradients.  The one on the outputs runs first
    and keeps its gradients for the other.
    """

    def __init__(self, module: Any, hooks: list[Hook], pre_hooks: list[Hook]):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.tensor_inputs: list[int] = []
        self.tensor_outputs: list[int] = []
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_count = self.output_count = 0

    @classmethod
    def of(cls, module: Any) -> _BackwardHooks | None:
        """Return the hooks of this module and of every module, or None if there are none."""
        hooks = [*every_module._backward_hooks.values(), *module._backward_hooks.values()]
        pre_hooks = [*every_module._backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        return cls(module, hooks, pre_hooks) if hooks or pre_hooks else None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, with the gradients of tensors observed if any of them requires a gradient."""
        self.input_count = len(args)
        args, self.tensor_inputs = _watched(args, self._saw_grad_inputs, zeros=True)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """Return the output, a tensor or a tuple with tensors, with its gradients observed."""
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=3,
            )
            return result
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.tensor_outputs = _watched(results, self._saw_grad_outputs, zeros=False)
        return results if isinstance(result, tuple) else results[0]

    def _saw_grad_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        seen = _spread(gradients, self.tensor_outputs, self.output_count)
        for hook in self.pre_hooks:
            seen = _replaced_gradients(hook(self.module, seen), seen, "pre hook", "grad_output")
        if self.tensor_inputs:
            self.grad_outputs = seen
        else:
            self._call_without_inputs(seen)
        return tuple([seen[position] for position in self.tensor_outputs])

    def _call_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Call the hooks of a module whose inputs require no gradient."""
        if not self.hooks:
            return
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients.",
            stacklevel=2,
        )
        for hook in self.hooks:
            new = hook(self.module, (None,) * self.input_count, grad_outputs)
            if new is not None and not (isinstance(new, tuple) and all(gradient is None for gradient in new)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )

    def _saw_grad_inputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:  # the gradient reached the inputs by another path than through the outputs
            return gradients
        seen = _spread(gradients, self.tensor_inputs, self.input_count)
        for hook in self.hooks:
            seen = _replaced_gradients(hook(self.module, seen, self.grad_outputs), seen, "hook", "grad_input")
        self.grad_outputs = None
        return tuple([seen[position] for position in self.tensor_inputs])


def _replaced_gradients(new: Any, seen: tuple[Any, ...], hook: str, argument: str) -> tuple[Any, ...]:
    """Return the gradients after a hook that received ``seen`` and returned ``new``."""
    if new is None:
        return seen
    if not isinstance(new, tuple):
        new = (new,)
    if len(new) != len(seen):
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {argument}, got {len(new)}, but expected {len(seen)}"
        )
    return new


def _watched(values: tuple[Any, ...], seen: Callable[..., Any], zeros: bool) -> tuple[tuple[Any, ...], list[int]]:
    """Return the values, with tensors passed through the identity if a gradient flows, and the positions of those."""
    positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[position].requires_grad for position in positions)):
        return values, []
    result = list(values)
    passed = BackwardHookFunction.apply(seen, zeros, *[values[position] for position in positions])
    for position, tensor in zip(positions, passed, strict=True):
        result[position] = tensor
    cls = values.__class__
    return cls(*result) if hasattr(cls, "_fields") else tuple(result), positions  # preserves named tuples


def _spread(gradients: tuple[Any, ...], positions: list[int], count: int) -> tuple[Any, ...]:
    """Return the gradients at their positions among ``count`` values."""
    result: list[Any] = [None] * count
    for position, gradient in zip(positions, gradients, strict=True):
        result[position] = gradient
    return tuple(result)


#: The number of calls that are remembered; a training step of a GPT of 12 layers makes about 150.
CALLS = 4096

#: For each call, the identity of the module, and the next sequence numbers when it began and when it ended.
calls_made: deque[tuple[int, int, int]] = deque(maxlen=CALLS)

#: Called with such a triple at the end of a call.
note_call = calls_made.append
