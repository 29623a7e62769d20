"""``torch.library``: functions of tensors as operations, with a gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...autograd.function import Function

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake"]

#: The operations by their names.
defined: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """A function of tensors, with the gradient that :meth:`register_autograd` gives it."""

    _differentiable: type[Function] | None

    def __init__(self, name: str, function: Callable[..., Any]):
        self._qualname, self._function, self._differentiable = name, function, None
        self._signature = inspect.signature(function)
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._differentiable is None:
            return self._function(*args, **kwargs)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise NotImplementedError(f"{self._qualname}: operations with a gradient have no keyword-only arguments")
        return self._differentiable.apply(*bound.args)

    def register_autograd(
        self, backward: Callable[..., Any], *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Set the gradient: ``backward(ctx, *grads)`` returns that of each argument.

        ``setup_context(ctx, inputs, output)`` saves what it needs.
        """
        saved = setup_context or (lambda ctx, inputs, output: None)
        contents = {
            "forward": staticmethod(self._function), "backward": staticmethod(backward),
            "setup_context": staticmethod(saved),
        }
        self._differentiable = type(self._function.__name__, (Function,), contents)

    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which computes shapes for traces and is not needed."""
        return fn

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Replace the function by that for the CPU; may be used as a decorator.

        Raises:
            NotImplementedError: the function is for another device.
        """
        if device_types not in (None, "cpu"):
            raise NotImplementedError(f"{self._qualname}: numgrad has no kernels by device; one function serves all")
        if fn is None:
            return functools.partial(self.register_kernel, device_types)
        self._function = fn
        return fn


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Return a function of tensors as an operation, or a decorator.

    Args:
        name: "namespace::name".
        fn: the function.
        options: accepted for compatibility with PyTorch, as operations need no schema.

    Example:
        >>> import numgrad
        >>> with numgrad.install_as_torch():
        ...     from torch.library import custom_op
        >>> @custom_op("example::double", mutates_args=())
        ... def double(x: numgrad.Tensor) -> numgrad.Tensor:
        ...     return 2 * x.detach()
        >>> double.register_autograd(lambda ctx, grad: 2 * grad)
        >>> double(numgrad.ones(1, requires_grad=True)).sum()
        tensor(2., grad_fn=<SumBackward0>)
    """
    if fn is None:
        return functools.partial(custom_op, name, **options)
    result = defined[name] = CustomOpDef(name, fn)
    return result


def _of(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in defined:
        raise NotImplementedError(f"{op!r} is not an operation that custom_op() defined: numgrad has no others")
    return defined[op]


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Set the gradient of an operation, given by itself or by its name; see :class:`CustomOpDef`."""
    _of(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Return the function, or a decorator that does so."""
    return _of(op).register_fake if func is None else func
