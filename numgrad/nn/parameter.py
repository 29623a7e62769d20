"""Parameter and Buffer, the tensors that a module registers on assignment, and their variants without a shape yet."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..ops.creation.factories import empty
from ..tensors.printing import text_of
from ..tensors.tensor import Tensor, show_elements_of, tensor_of

__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]


def _alias_of(class_name: str, data: Any) -> Tensor:
    """Return a leaf on the memory of ``data``, or on that of an empty tensor if it is None."""
    if data is None:
        data = empty(0)
    if not isinstance(data, Tensor):
        raise TypeError(f"{class_name}(): argument 'data' must be Tensor, not {type(data).__name__}")
    return data.detach()


class _MarkedTensor(type):
    """The metaclass of a class whose instances include tensors that bear its mark."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            isinstance(instance, Tensor) and instance.__dict__.get(cls._mark, False)
        )


class Parameter(Tensor, metaclass=_MarkedTensor):
    """A learnable tensor: assigned to a module, it appears among its ``parameters()``.

    It shares the memory of ``data`` and requires a gradient by default.

    Raises:
        TypeError: ``data`` is not a tensor.
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
        cls = type(self)
        text = text_of(self) if cls is Parameter else f"Parameter({text_of(self, cls.__name__)})"
        return "Parameter containing:\n" + text


class Buffer(Tensor, metaclass=_MarkedTensor):
    """A tensor that is part of a module's state but is not learnt: assigned to a module, it is registered.

    The call returns a plain tensor on the memory of ``data``, marked as a buffer.  Unless it is ``persistent``, it is
    left out of the module's ``state_dict``.

    Example:
        >>> import numgrad
        >>> module = numgrad.nn.Module()
        >>> module.mean = numgrad.nn.Buffer(numgrad.zeros(2))
        >>> list(module.state_dict())
        ['mean']
    """

    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        buffer = _alias_of("Buffer", data)
        if data is not None and data.requires_grad:
            buffer.requires_grad = True
        buffer.__dict__.update(persistent=persistent, _is_buffer=True)
        return buffer


_layout_of_tensors: Any = vars(Tensor)["_layout"]


class UninitializedTensorMixin:
    """A tensor that has a dtype and a device, but no shape until ``materialize`` gives it one.

    Until then it cannot be used: ``_layout``, which all operations read, raises.
    """

    if TYPE_CHECKING:  # gives type checkers the attributes of a tensor
        _layout: Any

    def _unusable(self) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    if not TYPE_CHECKING:
        _layout = property(_unusable)

    @property
    def shape(self) -> Any:
        """Raise, because there is no shape yet.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    @property
    def data(self: Any) -> Tensor:
        """An empty tensor of the future dtype, on the future device."""
        return tensor_of(_layout_of_tensors.__get__(self), self._storage)

    @data.setter
    def data(self: Any, value: Tensor) -> None:
        _layout_of_tensors.__set__(self, value._layout)
        self._storage = value._storage

    @property
    def dtype(self) -> Any:
        """The dtype that the tensor will have."""
        return self.data.dtype

    @property
    def device(self) -> Any:
        """The device that the tensor will be on."""
        return self.data.device

    def is_floating_point(self) -> bool:
        """Return True if the dtype is floating-point."""
        return self.data.is_floating_point()

    def is_complex(self) -> bool:
        """Return True if the dtype is complex."""
        return self.data.is_complex()

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return an empty tensor converted by ``Tensor.to``, for use by ``Module.to``."""
        return self.data.to(*args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return an empty tensor on a GPU, for use by ``Module.cuda``."""
        return self.data.cuda(*args, **kwargs)

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Turn this object into an ordinary parameter or buffer of this shape, with uninitialized elements."""
        tensor = empty(tuple(shape), device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self._becomes()
        show_elements_of(self, tensor)

    def _becomes(self) -> Any:
        return Parameter if isinstance(self, Parameter) else Tensor

    def _arguments(self: Any) -> dict[str, Any]:
        return {"requires_grad": self.requires_grad, "device": self.device, "dtype": self.dtype}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(**self._arguments())
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return partial(type(self), **self._arguments()), ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet, as in lazy modules before their first call."""

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _uninitialized(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet, as in lazy modules before their first call."""

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        buffer = _uninitialized(cls, requires_grad, device, dtype)
        buffer.__dict__.update(persistent=persistent, _is_buffer=True)
        return buffer

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "persistent": self.__dict__["persistent"]}


def _uninitialized(cls: Any, requires_grad: bool, device: Any, dtype: Any) -> Any:
    tensor: Any = empty(0, device=device, dtype=dtype)
    tensor.requires_grad = requires_grad
    tensor.__class__ = cls
    return tensor


def is_lazy(param: Any) -> bool:
    """Return True for a parameter or buffer whose shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)
