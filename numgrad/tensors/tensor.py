"""The Tensor class: its memory and constructors.  The mathematics is attached by ``ops``."""

from __future__ import annotations

import copy
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from ..autograd.checks import is_inference, new_counter
from ..autograd.grad_mode import LEVELS, ORDINARY, inference_blocks, state
from ..autograd.hooks import note_rare_change
from ..autograd.locations import DETACHED
from ..autograd.node import MAYBE
from ..autograd.views import View, check_writable
from ..core.display import class_name, shown_by
from ..core.layout import Layout, layout_of, overlaps_itself
from ..core.types import TensorType
from ..devices.recording import place_read, values_read
from .conversions import Conversions
from .description import Description
from .differentiable import AutogradAttributes
from .printing import text_of
from .storage import TypedStorage, UntypedStorage

_new = object.__new__
_Subclass = TypeVar("_Subclass", bound="Tensor")


class Tensor(Conversions):
    """An n-dimensional array whose operations can be recorded.

    Tensors are made by :func:`numgrad.tensor` and related functions; ``Tensor(data)`` is PyTorch's older form for a
    float32 tensor.
    """

    __module__ = "numgrad"
    __slots__ = (
        "__dict__", "__weakref__", "_accumulator", "_counter", "_duals", "_edge", "_grad", "_grad_type",
        "_hooks", "_layout", "_mapped", "_offset", "_origin", "_requires_grad", "_root", "_seen", "_shared",
        "_storage", "_view",
    )

    __array_priority__ = 1000  # NumPy leaves ``array * tensor`` to the tensor

    if TYPE_CHECKING:

        def __new__(cls, *data: Any) -> Tensor: ...

    def detach(self) -> Tensor:
        """Return the same elements without the graph; in-place changes affect both and are counted for both."""
        alias = self._alias()
        if self._requires_grad:
            alias._origin = DETACHED
        if state.mode & LEVELS and hasattr(self, "_mapped"):
            alias._mapped = self._mapped._replace(tensor=self._mapped.tensor.detach())
        return alias

    def detach_(self) -> Tensor:
        """Detach this tensor in place from the graph that made it."""
        if self._view is not None and not is_inference(self):
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if self._requires_grad:
            self._origin = DETACHED
        self._edge = None
        self._requires_grad = False
        if state.mode & LEVELS:
            if hasattr(self, "_duals"):
                del self._duals
            if hasattr(self, "_mapped"):
                self._mapped = self._mapped._replace(tensor=self._mapped.tensor.detach())
        return self

    @property
    def data(self) -> Tensor:
        """A detached tensor with the same elements; autograd does not count in-place changes made through it."""
        tensor = self.detach()
        tensor._counter = self._counter.__class__((0,))
        return tensor

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype, "
                f"not {value.dtype} (shape {list(value.shape)})"
            )
        changed = self._layout is not value._layout or self._storage is not value._storage
        other = self._layout.shape != value._layout.shape or self._layout.type is not value._layout.type
        show_elements_of(self, value)
        if state.mode & LEVELS:
            if hasattr(value, "_mapped"):
                self._mapped = value._mapped
            elif hasattr(self, "_mapped"):
                del self._mapped
        if is_inference(self) or is_inference(value):
            self._counter = value._counter.__class__((0,))
        elif changed:
            self._counter = [self._counter[0] + 1]  # makes nodes that saved this tensor detect the change
        if other:
            self._accumulator = None  # the old one expects gradients of the old shape and type

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def _alias(self) -> Tensor:
        """Return another tensor on the same memory with the same version counter, without a graph."""
        tensor = tensor_of(self._layout, self._storage, self._offset)
        tensor._counter = self._counter
        if state.mode & LEVELS and hasattr(self, "_mapped"):
            tensor._mapped = self._mapped
        return tensor

    def untyped_storage(self) -> UntypedStorage:
        """Return the bytes of the tensor's whole memory, including parts used by other tensors."""
        return UntypedStorage(self._memory())

    def storage(self) -> TypedStorage:
        """Return the elements of the tensor's whole memory, including parts used by other tensors, in its dtype."""
        return TypedStorage(self._memory())

    def _memory(self) -> Tensor:
        """Return the tensor's whole memory as a 1-D tensor."""
        if hasattr(self, "_mapped"):
            raise NotImplementedError("a tensor under vmap has no memory of its own")
        place_read(self._storage, "the storage")
        return strided(self._storage, (self._storage.size,), (1,), 0, self._layout.type)

    def as_subclass(self, cls: type[_Subclass]) -> _Subclass:
        """Return a view with the same elements and place in the graph, as an instance of a user-defined class.

        Raises:
            TypeError: ``cls`` is not a subclass of Tensor.
        """
        result: Any = self.view_as(self)
        result.__class__ = _subclass_of_tensor(cls)
        return result

    @staticmethod
    def _make_subclass(cls: type[_Subclass], data: Tensor, require_grad: bool = False) -> _Subclass:
        """Return a leaf on the memory of ``data``, as an instance of a user-defined class.

        Raises:
            TypeError: ``cls`` is not a subclass of Tensor.
        """
        result: Any = data.detach()
        result.__class__ = _subclass_of_tensor(cls)
        result.requires_grad = require_grad
        return result

    def __dir__(self) -> list[str]:
        """Return the existing names: not every tensor has every field, and only GPU tensors have the CUDA interface."""
        uncertain = {*Tensor.__slots__, "__cuda_array_interface__"}
        return [name for name in object.__dir__(self) if name not in uncertain or hasattr(self, name)]

    # Comparison returns a tensor, so sets and dictionaries use identity.
    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return text_of(self) if type(self) is Tensor else text_of(self, type(self).__name__)

    _repr_html_ = shown_by("tensor_html")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        node = self.grad_fn
        if node is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                f"moment; this one was made by {node.name()}. Use tensor.detach() first."
            )
        if id(self) in memo:
            return memo[id(self)]
        values_read("copy.deepcopy()")
        # Tensors that share memory also share it in the copy: the memo copies the storage once.
        storage = copy.deepcopy(self._storage, memo)
        result = strided(storage, self._layout.shape, self._layout.strides, self._offset, self._layout.type)
        result.__class__ = type(self)
        result._requires_grad = bool(self._requires_grad is True)
        memo[id(self)] = result
        if self._grad is not None:
            result._grad = copy.deepcopy(self._grad, memo)
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result


def _subclass_of_tensor(cls: Any) -> Any:
    """Return a class, which must be a subclass of Tensor; see ``as_subclass``."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"cls must be a type (not an instance) and a subclass of Tensor, not {cls!r}")
    return cls


for _part in (Conversions, AutogradAttributes, Description):  # users see only the class Tensor
    for _name, _function in vars(_part).items():
        if isinstance(_function, FunctionType):
            _function.__qualname__ = f"Tensor.{_name}"


def tensor_of(layout: Layout, storage: Any, offset: int = 0) -> Tensor:
    """Return a tensor on this memory, with its first element at ``offset``."""
    tensor = _new(Tensor)
    tensor._layout = layout
    tensor._storage = storage
    tensor._offset = offset
    tensor._counter = new_counter() if inference_blocks else [0]
    tensor._requires_grad = tensor._shared = False
    tensor._edge = tensor._grad = tensor._view = tensor._hooks = tensor._accumulator = None
    return tensor


def view_on(tensor: Tensor, layout: Layout, delta: int, view: View) -> Tensor:
    """Return a view of a tensor that begins ``delta`` elements later and is derived as ``view`` describes."""
    result = _new(Tensor)
    result._layout = layout
    result._storage = tensor._storage
    result._offset = tensor._offset + delta
    result._counter = tensor._counter
    result._requires_grad = MAYBE
    result._shared = False
    result._edge = result._grad = result._hooks = result._accumulator = None
    result._view = view
    result._root = root = tensor if tensor._view is None else tensor._root
    counter = root._counter
    result._seen = counter[0] if counter.__class__ is list else 0
    return result


def fresh(buffer: Any, shape: tuple[int, ...], type: TensorType) -> Tensor:
    """Return a tensor on its own memory: ``buffer`` has its elements in row-major order."""
    return tensor_of(layout_of(type, shape), buffer)


def strided(storage: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, type: TensorType) -> Tensor:
    """Return a tensor that reads ``storage`` from ``offset`` with the strides ``strides``."""
    return tensor_of(layout_of(type, shape, strides), storage, offset)


def show_elements_of(tensor: Tensor, other: Tensor) -> None:
    """Make a tensor use the layout and memory of another, so that both have the same elements from now on."""
    tensor._layout, tensor._storage, tensor._offset = other._layout, other._storage, other._offset
    note_rare_change()


def check_in_place(tensor: Tensor, *others: Any) -> None:
    """Raise unless an in-place operation may write to ``tensor`` from ``others``; see the errors of the two checks.

    Values among ``others`` that are not tensors are ignored.
    """
    if (
        state.mode > ORDINARY or tensor._requires_grad or tensor._view is not None
        or tensor._counter.__class__ is not list
    ):
        check_writable(tensor, *others)
    if not tensor._layout.row_major and overlaps_itself(tensor._layout.shape, tensor._layout.strides):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            f"location (shape {list(tensor.shape)}, strides {list(tensor._layout.strides)}). "
            "Please clone() the tensor before performing the operation."
        )


def check_one_device(*tensors: Tensor | Layout | None) -> None:
    """Raise unless the tensors, or the tensors of these layouts, are on one device; None is ignored.

    Raises:
        RuntimeError: they are on several devices; the message is PyTorch's.
    """
    devices = [
        (tensor if isinstance(tensor, Layout) else tensor._layout).type.device
        for tensor in tensors if tensor is not None
    ]
    if devices and devices.count(devices[0]) < len(devices):
        first, second, *_ = sorted({*map(str, devices)}, reverse=True)
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
        )


def type_name(value: Any) -> str:
    """Return the class name of a value; for a tensor, PyTorch's name of its type, such as ``torch.FloatTensor``."""
    return value._layout.type.name if isinstance(value, Tensor) else class_name(type(value))
