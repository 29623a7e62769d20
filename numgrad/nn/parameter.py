"""Parameter and Buffer: the tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops.creation.factories import empty

__all__ = ["Buffer", "Parameter"]


def _alias_of(class_name: str, data: Any) -> Tensor:
    """A leaf on the memory of ``data``, or on that of an empty tensor if it is None."""
    if data is None:
        data = empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(f"{class_name}(): argument 'data' must be Tensor, not {type(data).__name__}")
    return data.detach()


class _MarkedTensor(type):
    """The type of a class that counts as its instances also tensors that bear its mark."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            isinstance(instance, Tensor) and instance.__dict__.get(cls._mark, False)
        )


class Parameter(Tensor, metaclass=_MarkedTensor):
    """A tensor to be learnt: assigned to a module, it appears among its ``parameters()``.

    It lies in the memory of ``data`` (no copy) and requires a gradient unless told otherwise.

    Raises:
        TypeError: ``data`` is no tensor.
        RuntimeError: its dtype cannot require a gradient.

    Example:
        >>> import numgrad
        >>> numgrad.nn.Parameter(numgrad.tensor([1.0, 2.0]))
        Parameter containing:
        tensor([1., 2.], requires_grad=True)
    """

    _mark = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        parameter: Any = _alias_of("Parameter", data)
        parameter.__class__ = cls
        if requires_grad:
            parameter.requires_grad = True
        return parameter

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor, metaclass=_MarkedTensor):
    """A tensor that belongs to a module's state but is not learnt: assigned to a module, it is registered.

    What the call makes is a plain tensor on the memory of ``data``, marked as a buffer.  Unless it is
    ``persistent`` it is left out of the module's ``state_dict``.
    """

    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        buffer = _alias_of("Buffer", data)
        if data is not None and data.requires_grad:
            buffer.requires_grad = True
        buffer.__dict__.update(persistent=persistent, _is_buffer=True)
        return buffer
