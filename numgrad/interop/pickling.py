"""State as a pickle that PyTorch reads, with ``weights_only`` if it has tensors, containers, numbers and strings only.

The pickle names PyTorch's classes and functions, which need not be installed.

Note [Storages]
Tensors that overlap in memory are stored once, as the memory between the first and the last element of all of them;
each refers to it with an offset and strides.  Memory outside these ranges is not stored.  The ranges are known only
after all tensors, so the state is pickled twice: the first time to find the tensors.
"""

from __future__ import annotations

import codecs
import copyreg
import io
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from .. import devices
from ..core.display import class_name
from ..core.layout import span
from ..core.types import CPU, Size, device, dtype, layout
from ..devices.recording import values_read
from ..nn.parameter import Parameter, UninitializedTensorMixin
from ..tensors.tensor import Tensor
from .interchange import warn_of_hooks
from .rebuilding import FUNCTIONS
from .safe_globals import get_safe_globals, name_of
from .whole_objects import name_in_files

__all__ = ["pickled"]

#: For each function here that rebuilds a value, the name in files of its counterpart in PyTorch.
_NAMES = {function: name for name, function in FUNCTIONS.items()}

_REBUILD, _REBUILD_OF_BYTES = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"

#: The pickler written in Python, because the one written in C imports the classes that it names.
_PythonPickler: Any = pickle._Pickler

#: Functions that write values which need no memo, as ``pickle`` does.
_LEAVES = {cls: _PythonPickler.dispatch[cls] for cls in (type(None), bool, int, float)}

#: The classes of values that ``pickle`` itself writes as PyTorch reads them.
_PLAIN = frozenset({complex, str, list, dict, tuple, set, frozenset})


def pickled(state: Any) -> tuple[bytes, list[np.ndarray]]:
    """Return the pickle of ``state``, and the storages that it refers to by number.

    Raises:
        TypeError, ValueError: a part of the state cannot be stored; the message gives its location.
    """
    tensors: list[Tensor] = []
    _TensorPickler(io.BytesIO(), tensors, None).dump(state)
    values_read("saving tensors")
    locations: dict[int, tuple[Any, int]] = {}
    storages = []
    for key, (members, start, end) in enumerate(_groups(tensors)):
        first = tensors[members[0]]
        storages.append(devices.moved(first._storage[start:end], CPU))
        untyped = first.dtype.is_limited  # there are no typed storages of these
        kind = _Name("torch.storage.UntypedStorage" if untyped else f"torch.{first.dtype.legacy}Storage")
        size = (end - start) * (first.dtype.itemsize if untyped else 1)
        storage = _Storage(("storage", kind, str(key), str(first.device), size))
        locations.update({number: (storage, tensors[number].storage_offset() - start) for number in members})
    file = io.BytesIO()
    _TensorPickler(file, [], locations).dump(state)
    return file.getvalue(), storages


class _Name(NamedTuple):
    """A class or function that the pickle names."""

    name: str


class _Call(NamedTuple):
    """The result of a function's call."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class _Storage(NamedTuple):
    """A storage, by its description."""

    description: tuple[Any, ...]


class _TensorPickler(_PythonPickler):
    """Pickler of values that PyTorch reads with ``weights_only``.

    Args:
        file: the file to write to.
        tensors: a list to which the tensors are added.
        places: the storage of each of these tensors and its offset there, by number; None if they are not known yet.
    """

    def __init__(self, file: io.BytesIO, tensors: list[Tensor], places: dict[int, tuple[Any, int]] | None):
        super().__init__(file, 2, fix_imports=False)
        self._tensors, self._places = tensors, places
        self._around: dict[int, Any] = {}  # the present value and those around it, from the state on, by id
        self._callees: list[Any] = []  # the function whose call is written next

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write a value."""
        write = _LEAVES.get(type(obj))
        if write is not None:
            write(self, obj)
            return
        if self._callees:
            function = self._callees.pop()
            self.save_global(function, _NAMES.get(function) or name_in_files(function) or name_of(function))
            return
        key = id(obj)
        if type(obj) is str or (key in self._around and key in self.memo):
            super().save(obj, save_persistent_id)
            return
        if key in self._around:
            raise ValueError(f"{self._location(obj)}: a {type(obj).__name__} that contains itself cannot be saved")
        self._around[key] = obj
        super().save(obj, save_persistent_id)
        del self._around[key]

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a name: a complete one, or that by which Python finds the object.

        Raises:
            pickle.PicklingError: there is no such name.
        """
        if name is not None and "." in name:
            module, _, last = name.rpartition(".")
            self.write(pickle.GLOBAL + f"{module}\n{last}\n".encode())
            return
        try:
            super().save_global(obj, name)
        except (pickle.PicklingError, AttributeError) as error:
            raise pickle.PicklingError(f"{self._location()}: {error}") from error

    def save_reduce(self, func: Any, args: Any, *state: Any, **options: Any) -> None:
        """Write the call of a function, or of a class."""
        callee = args[0] if func is copyreg.__newobj__ else func  # type: ignore[attr-defined]
        if _has_complete_name(callee):
            self._callees.append(callee)
        super().save_reduce(func, args, *state, **options)

    def persistent_id(self, obj: Any) -> Any:
        """Return the description of a storage."""
        return obj.description if type(obj) is _Storage else None

    def reducer_override(self, value: Any) -> Any:
        """Return the name of a value, or the call that makes it; NotImplemented if ``pickle`` writes it."""
        cls = type(value)
        if cls in _PLAIN:
            return NotImplemented
        make = _REDUCERS.get(cls)
        if make is not None:
            return make(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, np.dtype):
            return value.__reduce__()
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
            return (np.asarray(value) if isinstance(value, np.ndarray) else value).__reduce__()
        if value is np.ndarray:
            return "numpy.ndarray"
        if isinstance(value, type | FunctionType):
            return name_in_files(value) or (value.__name__ if value.__name__ == value.__qualname__ else NotImplemented)
        return self._reduced(value)

    def _tensor(self, tensor: Tensor) -> tuple[Any, ...]:
        if isinstance(tensor, UninitializedTensorMixin):
            return tensor.__reduce_ex__(2)
        attributes, requires_grad = vars(tensor), tensor.requires_grad
        self._tensors.append(tensor)
        if self._places is None:
            warn_of_hooks(tensor)
            return dict, (), attributes or None
        storage, offset = self._places[len(self._tensors) - 1]
        flagged = requires_grad and type(tensor) is not Parameter
        view: tuple[Any, ...] = storage, offset, tuple(tensor.shape), tensor.stride(), flagged, OrderedDict()
        rebuild = _REBUILD
        if tensor.dtype.is_limited:
            rebuild, view = _REBUILD_OF_BYTES, (*view, tensor.dtype)
        if type(tensor) is Parameter:
            name = "torch._utils._rebuild_parameter"
            args: tuple[Any, ...] = _Call(FUNCTIONS[rebuild], view), requires_grad, OrderedDict()
            return (FUNCTIONS[f"{name}_with_state"], (*args, attributes)) if attributes else (FUNCTIONS[name], args)
        if attributes or type(tensor) is not Tensor:
            cls = _Name("torch.Tensor") if type(tensor) is Tensor else type(tensor)
            arguments = _Name(rebuild), cls, view, attributes
            return FUNCTIONS["torch._tensor._rebuild_from_type_v2"], arguments
        return FUNCTIONS[rebuild], view

    def _reduced(self, value: Any) -> tuple[Any, ...]:
        """Return how another object is made: a call and a state, and for classes not registered as safe, any items."""
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced: Any = value.__reduce_ex__(2) if reduce is None else reduce(value)
        except TypeError as error:
            raise TypeError(f"{self._location()}: {error}") from error
        if type(value) not in get_safe_globals():
            return reduced
        function, arguments, *entries = reduced
        callee = arguments[0] if function is copyreg.__newobj__ else function  # type: ignore[attr-defined]
        if callee not in get_safe_globals() or any(entry is not None for entry in entries[1:]):
            name = class_name(type(value))
            raise TypeError(
                f"{self._location()}: a {name} cannot be saved: its __reduce_ex__ is not just a safe call and a state"
            )
        return function, arguments, *entries

    def _location(self, *inner: Any) -> str:
        """Return the location in the state of the present value, or of one in it."""
        owner, *parts = [*self._around.values(), *inner]
        text = "state"
        for part in parts:
            inner_text = _step(owner, part, text)
            if inner_text is None and type(part) is tuple:
                continue  # the arguments of the call that makes the owner
            text, owner = inner_text or text, part
        return text


def _has_complete_name(callee: Any) -> bool:
    """Return True for a class or function that its module and its name identify."""
    module = getattr(callee, "__module__", None)
    return (
        callee in _NAMES or (
            isinstance(callee, type | FunctionType | BuiltinFunctionType) and "." not in callee.__qualname__
            and getattr(sys.modules.get(module or ""), callee.__name__, None) is callee
        )
    )


def _step(owner: Any, part: Any, location: str) -> str | None:
    """Return the location of a part of the value at ``location``; None for a part that users do not see."""
    if part is getattr(owner, "__dict__", None):
        return f"{location}.__dict__"
    if isinstance(owner, dict):
        for key, value in owner.items():
            if part is value:
                return f"{location}[{key!r}]"
            if part is key:
                return f"key {key!r} of {location}"
    elif type(owner) in (list, tuple):
        return next((f"{location}[{number}]" for number, item in enumerate(owner) if item is part), None)
    return None


#: For each class of values, the function that returns the name of one or the call that makes it.
_REDUCERS: dict[type, Any] = {
    _Name: lambda value: value.name,
    _Call: tuple,
    bytes: lambda value: (codecs.encode, (value.decode("latin1"), "latin1")),
    bytearray: lambda value: (bytearray, (bytes(value),)),
    OrderedDict: lambda value: (OrderedDict, (), vars(value) or None, None, iter(value.items())),
    Counter: lambda value: (Counter, (dict(value),)),
    Size: lambda value: (Size, (tuple(value),)),
    device: lambda value: (device, (value.type,) if value.index is None else (value.type, value.index)),
    dtype: lambda value: f"torch.{value.name}",
    layout: lambda value: (FUNCTIONS["torch.serialization._get_layout"], (repr(value),)),
}


def _groups(tensors: list[Tensor]) -> Iterator[tuple[list[int], int, int]]:
    """Yield the tensors, by number, that overlap in memory, and the range of their storage that they span."""
    starts = sorted(
        (id(tensor._storage), tensor.storage_offset(), span(tensor._layout.shape, tensor.stride()), number)
        for number, tensor in enumerate(tensors)
    )
    groups: list[list[Any]] = []  # storage, start, end, members
    for storage, start, extent, number in starts:
        end = start + extent
        if groups and groups[-1][0] == storage and start < groups[-1][2]:
            groups[-1][2] = max(groups[-1][2], end)
            groups[-1][3].append(number)
        else:
            groups.append([storage, start, end, [number]])
    for _, start, end, members in sorted(groups, key=lambda group: min(group[3])):
        yield sorted(members), start, end
