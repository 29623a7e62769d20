"""The names in PyTorch's pickles and their substitutes: tensors on storages, sizes, devices, plain containers.

All functions here take arguments from a file, which may be anything.  Invalid arguments raise, and no memory outside
the storage is read.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core import types
from ..core.layout import numel, span
from ..core.types import Size, device, dtype
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor, strided
from .limits import MAX_DIMENSIONS

__all__ = ["FUNCTIONS", "TYPES", "RebuiltStorage", "StorageType", "absent_dtype", "give_attributes", "of_type"]

#: PyTorch's dtypes that numgrad lacks, by their names and by those of their storages.
_ABSENT = {
    "complex32": "ComplexHalfStorage", "chalf": "ComplexHalfStorage", "quint8": "QUInt8Storage",
    "qint8": "QInt8Storage", "qint32": "QInt32Storage", "quint4x2": "QUInt4x2Storage", "quint2x4": "QUInt2x4Storage",
}  # fmt: skip


class StorageType(NamedTuple):
    """The type of a storage in a pickle, that is, of its elements."""

    dtype: dtype


class RebuiltStorage:
    """The memory of tensors, as a tensor of one dimension, with its conjugate and negative where needed."""

    def __init__(self, buffer: Tensor):
        self._buffers = {(False, False): buffer}

    def buffer(self, is_conj: bool = False, is_neg: bool = False) -> Tensor:
        """Return the memory for tensors with these marks, computed once for all of them."""
        if (is_conj, is_neg) not in self._buffers:
            buffer = self._buffers[False, False]
            buffer = buffer.conj() if is_conj else buffer
            self._buffers[is_conj, is_neg] = -buffer if is_neg else buffer
        return self._buffers[is_conj, is_neg]

    def of(self, element: dtype) -> RebuiltStorage:
        """Return the memory, which holds bytes, as elements of a dtype."""
        return RebuiltStorage(self.buffer().view(element))


def absent_dtype(name: str) -> str | None:
    """Return the dtype that a name in a pickle denotes, if it is one of PyTorch's that numgrad lacks."""
    short = name.removeprefix("torch.")
    if short in _ABSENT or short.startswith(("float8", "float4")):
        return f"torch.{short}"
    return next((f"torch.{dtype}" for dtype, storage in _ABSENT.items() if storage == short), None)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _on_storage(
    storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Tensor:
    """Return a tensor on a storage; ``metadata`` marks its elements as conjugated or negated.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: shape and strides exceed the storage.
    """
    dim = len(shape)
    sound = isinstance(storage, RebuiltStorage) and dim == len(strides) and dim <= MAX_DIMENSIONS
    if not sound or not all(map(_is_count, (offset, *shape, *strides))):
        raise TypeError("the storage, shape, strides or offset of a tensor has the wrong type")
    marks = metadata or {}
    buffer = storage.buffer(bool(marks.get("conj")), bool(marks.get("neg")))
    if offset + span(shape, strides) > buffer.numel() or numel(shape) >= 2**63:
        raise ValueError(
            f"a tensor of shape {tuple(shape)}, strides {tuple(strides)} and offset {offset} reaches out of its "
            f"storage of {buffer.numel()} elements"
        )
    start = buffer.storage_offset() + offset
    tensor = strided(buffer._storage, tuple(shape), tuple(strides), start, buffer._layout.type)
    if requires_grad is True:
        tensor.requires_grad = True
    return tensor


def _on_bytes(
    storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, hooks: Any, element: Any,
    metadata: Any = None,
) -> Tensor:
    """Return a tensor of the dtype ``element`` on a storage of bytes."""
    if not isinstance(storage, RebuiltStorage) or not isinstance(element, dtype):
        raise TypeError("the storage or the dtype of a tensor has the wrong type")
    return _on_storage(storage.of(element), offset, shape, strides, requires_grad, hooks, metadata)


def _parameter(data: Any, requires_grad: Any, hooks: Any) -> Parameter:
    """Return a parameter on the memory of a tensor."""
    return Parameter(data, requires_grad is True)


def _parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Parameter:
    """Return a parameter on the memory of a tensor, with attributes."""
    result = Parameter(data, requires_grad is True)
    give_attributes(result, state or {})
    return result


def of_type(tensor: Any, cls: Any, attributes: Any) -> Tensor:
    """Return a tensor with attributes; its class must be Tensor or Parameter."""
    if cls is Parameter and type(tensor) is Tensor:
        tensor = Parameter(tensor, tensor.requires_grad)
    if cls not in (Tensor, Parameter) or type(tensor) is not cls:
        raise TypeError(f"a {type(tensor).__name__} is given attributes of a tensor")
    give_attributes(tensor, attributes)
    return tensor


def give_attributes(value: Any, attributes: Any) -> None:
    """Set attributes of an object by name."""
    if type(attributes) is not dict or not all(type(name) is str for name in attributes):
        raise TypeError(f"attributes must be in a dict, not in a {type(attributes).__name__}")
    vars(value).update(attributes)


def _counter(counts: Any) -> Counter[Any]:
    if type(counts) is not dict:
        raise TypeError(f"counts must be in a dict, not in a {type(counts).__name__}")
    return Counter(counts)


def _bytes(text: Any = "", encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):  # the text of an encoding may be endless
        raise TypeError(f"bytes must be stored as a str in latin1, not as a {type(text).__name__} in another encoding")
    return text.encode("latin1")


def _byte_array(data: Any = b"") -> bytearray:
    if type(data) is not bytes:
        raise TypeError(f"a bytearray cannot be made of a {type(data).__name__}")
    return bytearray(data)


def _layout(name: Any) -> Any:
    if name != "torch.strided":
        other = name if type(name) is str else type(name).__name__
        raise pickle.UnpicklingError(f"Weights only load failed. It holds layout {other}, numgrad has torch.strided")
    return types.strided


#: The substitutes for PyTorch's and other functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": _on_storage, "torch._utils._rebuild_tensor_v3": _on_bytes,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": of_type,
    "torch.Size": Size, "torch.device": device, "torch.serialization._get_layout": _layout,
    "collections.OrderedDict": lambda: OrderedDict(), "collections.Counter": _counter,
    "builtins.set": lambda members: set(members), "builtins.frozenset": lambda members: frozenset(members),
    "builtins.complex": lambda real, imag: complex(float(real), float(imag)),
    "builtins.bytes": _bytes, "builtins.bytearray": _byte_array, "_codecs.encode": _bytes,
}  # fmt: skip

#: The substitutes for names that are not called.
TYPES: dict[str, Any] = {
    "torch.Tensor": Tensor, "torch.nn.parameter.Parameter": Parameter,
    **{f"torch.{dtype.name}": dtype for dtype in dtype.named.values()},
    **{f"torch.{dtype.legacy}Storage": StorageType(dtype) for dtype in dtype.named.values() if not dtype.is_limited},
    "torch.storage.UntypedStorage": StorageType(types.uint8),
}  # fmt: skip
