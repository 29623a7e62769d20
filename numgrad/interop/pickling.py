"""State as a pickle that PyTorch reads with ``weights_only``: tensors, containers, numbers, strings and little else.

This module writes the pickle itself, because it names PyTorch's classes, which need not be installed.

Note [Storages]
Tensors that overlap in memory are stored once, as the memory between the first and the last element of all of them;
each refers to it with an offset and strides.  Memory outside these ranges is not stored.
"""

from __future__ import annotations

import copyreg
import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .. import devices
from ..core.display import class_name
from ..core.layout import span
from ..core.tensor import Tensor
from ..core.types import CPU, Size, device, dtype, layout
from ..devices.recording import values_read
from ..nn.parameter import Parameter
from .interchange import warn_of_hooks
from .safe_globals import get_safe_globals, name_of

__all__ = ["pickled"]

_SIZE, _LONG_SIZE = 1 << 8, 1 << 32

#: A tensor's place in a pickle, by its number: the location of its storage is known only after all tensors.
Part = bytes | int


def pickled(state: Any) -> tuple[bytes, list[np.ndarray]]:
    """Return the pickle of ``state``, and the storages that it refers to by number.

    Raises:
        TypeError, ValueError: a part of the state cannot be stored; the message gives its location.
    """
    writer = _Writer()
    writer.write(state, "state")
    return writer.finished()


def _global(module: str, name: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{name}\n".encode()


class _Writer:
    """A writer of values as pickle instructions, in which a repeated object is written once."""

    def __init__(self) -> None:
        self._parts: list[Part] = [pickle.PROTO + b"\x02"]
        self._memo: dict[int, int] = {}
        self._objects: list[Any] = []  # the objects in the memo, which must live as long as their ids are used
        self._tensors: list[Tensor] = []
        self._open: set[int] = set()  # the tuples and the like around the present value

    def write(self, value: Any, location: str) -> None:
        """Write the instructions that build ``value``, which has this location in the state."""
        number = self._memo.get(id(value))
        if number is not None:
            self._parts.append(_with_size(pickle.BINGET, pickle.LONG_BINGET, number))
            return
        cls = type(value)
        simple = _SIMPLE.get(cls)
        if simple is not None:
            self._parts.append(simple(value))
        elif cls in _CONTAINERS:
            _CONTAINERS[cls](self, value, location)
        elif isinstance(value, Tensor):
            self._tensor(value, location)
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
            self._array(value, location)
        elif cls in get_safe_globals():
            self._reduced(value, location)
        else:
            raise TypeError(f"{location}: a {class_name(cls)} cannot be saved{_advice(value)}")

    def finished(self) -> tuple[bytes, list[np.ndarray]]:
        """Return the pickle, and the storages of its tensors."""
        values_read("saving tensors")
        places: dict[int, bytes] = {}
        storages = []
        for key, (members, start, end) in enumerate(_groups(self._tensors)):
            first = self._tensors[members[0]]
            storages.append(devices.moved(first._storage[start:end], CPU))
            kind = _global("torch", f"{first.dtype.legacy}Storage")
            head = _text("storage") + kind + _text(str(key)) + _text(str(first.device)) + _int(end - start)
            for number in members:
                offset = self._tensors[number].storage_offset() - start
                places[number] = pickle.MARK + head + pickle.TUPLE + pickle.BINPERSID + _int(offset)
        parts = [places[part] if isinstance(part, int) else part for part in self._parts]
        return b"".join(parts) + pickle.STOP, storages

    def _keep(self, value: Any) -> None:
        """Memoize a value that was just built, for later references to it."""
        number = self._memo[id(value)] = len(self._objects)
        self._objects.append(value)
        self._parts.append(_with_size(pickle.BINPUT, pickle.LONG_BINPUT, number))

    def _all(self, values: Iterable[Any], location: str) -> None:
        """Write a mark followed by each value."""
        self._parts.append(pickle.MARK)
        for number, value in enumerate(values):
            self.write(value, f"{location}[{number}]")

    def _entries(self, values: dict[Any, Any], location: str) -> None:
        self._parts.append(pickle.MARK)
        for key, value in values.items():
            self.write(key, f"key {key!r} of {location}")
            self.write(value, f"{location}[{key!r}]")
        self._parts.append(pickle.SETITEMS)

    def _call(self, module: str, name: str, *arguments: Any, location: str = "") -> None:
        """Write the call of a function with these arguments."""
        self._parts.append(_global(module, name))
        self._all(arguments, location)
        self._parts.append(pickle.TUPLE + pickle.REDUCE)

    def list(self, value: list[Any], location: str) -> None:
        self._parts.append(pickle.EMPTY_LIST)
        self._keep(value)
        self._all(value, location)
        self._parts.append(pickle.APPENDS)

    def dict(self, value: dict[Any, Any], location: str) -> None:
        self._parts.append(pickle.EMPTY_DICT)
        self._keep(value)
        self._entries(value, location)

    def ordered_dict(self, value: OrderedDict[Any, Any], location: str) -> None:
        self._parts.append(_global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE)
        self._keep(value)
        self._entries(value, location)
        if vars(value):  # the _metadata of a state_dict
            self.dict(vars(value), f"{location}.__dict__")
            self._parts.append(pickle.BUILD)

    def tuple(self, value: tuple[Any, ...], location: str) -> None:
        with _Inside(self._open, value, location):
            self._all(value, location)
        self._parts.append(pickle.TUPLE)
        self._keep(value)

    def counter(self, value: Counter[Any], location: str) -> None:
        with _Inside(self._open, value, location):
            self._parts.append(_global("collections", "Counter") + pickle.EMPTY_DICT)
            self._entries(value, location)
        self._parts.append(pickle.TUPLE1 + pickle.REDUCE)
        self._keep(value)

    def members(self, value: Any, location: str) -> None:
        """Write a set, a frozenset or a Size."""
        module = "torch" if isinstance(value, Size) else "builtins"
        self._call(module, type(value).__name__, (*value,) if module == "torch" else [*value], location=location)
        self._keep(value)

    def _tensor(self, tensor: Tensor, location: str) -> None:
        if type(tensor) not in (Tensor, Parameter):
            raise TypeError(
                f"{location}: a {class_name(type(tensor))} cannot be saved, its class being unknown when it is read. "
                "Save its detach()"
            )
        warn_of_hooks(tensor)
        attributes, marks = vars(tensor), tensor.requires_grad
        if type(tensor) is Parameter:
            name = "_rebuild_parameter_with_state" if attributes else "_rebuild_parameter"
            self._parts += [_global("torch._utils", name), pickle.MARK]
            self._rebuilt(tensor, False)
            self._parts.append((pickle.NEWTRUE if marks else pickle.NEWFALSE) + _NO_HOOKS)
            if attributes:
                self.dict(attributes, f"{location}.__dict__")
            self._parts.append(pickle.TUPLE + pickle.REDUCE)
        elif attributes:
            self._parts += [_global("torch._tensor", "_rebuild_from_type_v2"), pickle.MARK, _REBUILD]
            self._parts.append(_global("torch", "Tensor"))
            self._place(tensor, marks)
            self.dict(attributes, f"{location}.__dict__")
            self._parts.append(pickle.TUPLE + pickle.REDUCE)
        else:
            self._rebuilt(tensor, marks)
        self._keep(tensor)

    def _rebuilt(self, tensor: Tensor, requires_grad: bool) -> None:
        self._parts.append(_REBUILD)
        self._place(tensor, requires_grad)
        self._parts.append(pickle.REDUCE)

    def _place(self, tensor: Tensor, requires_grad: bool) -> None:
        """Write storage, offset, shape, strides and ``requires_grad`` of a tensor, as a tuple."""
        number = len(self._tensors)
        self._tensors.append(tensor)
        extents = [pickle.MARK + b"".join(map(_int, ints)) + pickle.TUPLE for ints in (tensor.shape, tensor.stride())]
        last = (pickle.NEWTRUE if requires_grad else pickle.NEWFALSE) + _NO_HOOKS + pickle.TUPLE
        self._parts += [pickle.MARK, number, *extents, last]

    def _array(self, value: Any, location: str) -> None:
        """Write an array or a number of NumPy's, in the form of NumPy's own pickles."""
        kind = _global("numpy", "dtype") + pickle.MARK + _text(value.dtype.str[1:])
        kind += pickle.NEWFALSE + pickle.NEWTRUE + pickle.TUPLE + pickle.REDUCE
        kind += pickle.MARK + _int(3) + _text(value.dtype.str[0]) + pickle.NONE * 3 + _int(-1) * 2 + _int(0)
        kind += pickle.TUPLE + pickle.BUILD
        data = _bytes(value.tobytes())
        module = "numpy._core.multiarray"
        if isinstance(value, np.generic):
            self._parts += [_global(module, "scalar"), kind, data, pickle.TUPLE2 + pickle.REDUCE]
        else:
            made = _global("numpy", "ndarray") + pickle.MARK + _int(0) + pickle.TUPLE + _bytes(b"b") + pickle.TUPLE3
            shape = pickle.MARK + b"".join(map(_int, value.shape)) + pickle.TUPLE
            state = pickle.MARK + _int(1) + shape + kind + pickle.NEWFALSE + data + pickle.TUPLE
            self._parts += [_global(module, "_reconstruct"), made, pickle.REDUCE, state, pickle.BUILD]
        self._keep(value)

    def _reduced(self, value: Any, location: str) -> None:
        """Write an object of a class registered as safe: its constructor call, then its state."""
        function, arguments, state, *entries = (*value.__reduce_ex__(2), None, None, None)[:5]
        made = pickle.REDUCE
        if function is copyreg.__newobj__:  # type: ignore[attr-defined]
            function, *arguments = arguments
            made = pickle.NEWOBJ
        if function not in get_safe_globals() or any(entry is not None for entry in entries):
            raise TypeError(f"{location}: a {class_name(type(value))} cannot be saved: it is made in a way of its own")
        with _Inside(self._open, value, location):
            self._parts.append(_global(*name_of(function).rsplit(".", 1)))
            self._all(arguments, location)
        self._parts.append(pickle.TUPLE + made)
        self._keep(value)
        if state is not None:
            self.write(state, f"{location}.__dict__")
            self._parts.append(pickle.BUILD)


class _Inside:
    """Context manager for writing the parts from which a value is built, which must not contain the value itself."""

    def __init__(self, opened: set[int], value: Any, location: str):
        if id(value) in opened:
            raise ValueError(f"{location}: a {type(value).__name__} that contains itself cannot be saved")
        self._opened, self._value = opened, value

    def __enter__(self) -> None:
        self._opened.add(id(self._value))

    def __exit__(self, *_: object) -> None:
        self._opened.discard(id(self._value))


def _with_size(short: bytes, long: bytes, number: int) -> bytes:
    return short + bytes([number]) if number < _SIZE else long + number.to_bytes(4, "little")


def _int(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return pickle.BININT + struct.pack("<i", value)
    data = pickle.encode_long(value)
    if len(data) < _SIZE:
        return pickle.LONG1 + bytes([len(data)]) + data
    return pickle.LONG4 + len(data).to_bytes(4, "little") + data


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    if len(data) >= _LONG_SIZE:
        raise ValueError(f"a string of {len(data)} bytes cannot be saved: the format ends at {_LONG_SIZE - 1}")
    return pickle.BINUNICODE + len(data).to_bytes(4, "little") + data


def _bytes(value: bytes | bytearray) -> bytes:
    call = _global("_codecs", "encode") + _text(value.decode("latin1")) + _text("latin1")
    return call + pickle.TUPLE2 + pickle.REDUCE


def _float(value: float) -> bytes:
    return pickle.BINFLOAT + struct.pack(">d", value)


def _device(value: device) -> bytes:
    arguments = _text(value.type) + (b"" if value.index is None else _int(value.index))
    return _global("torch", "device") + pickle.MARK + arguments + pickle.TUPLE + pickle.REDUCE


#: An empty dictionary of hooks.
_NO_HOOKS = _global("collections", "OrderedDict") + pickle.EMPTY_TUPLE + pickle.REDUCE

_REBUILD = _global("torch._utils", "_rebuild_tensor_v2")

#: The functions that write values without parts, by class.
_SIMPLE: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: pickle.NONE,
    bool: lambda value: pickle.NEWTRUE if value else pickle.NEWFALSE,
    int: _int, float: _float, str: _text, bytes: _bytes, device: _device,
    bytearray: lambda value: _global("builtins", "bytearray") + _bytes(value) + pickle.TUPLE1 + pickle.REDUCE,
    complex: lambda value: (
        _global("builtins", "complex") + _float(value.real) + _float(value.imag) + pickle.TUPLE2 + pickle.REDUCE
    ),
    dtype: lambda value: _global("torch", value.name),
    layout: lambda value: (
        _global("torch.serialization", "_get_layout") + _text(repr(value)) + pickle.TUPLE1 + pickle.REDUCE
    ),
}  # fmt: skip

#: The methods that write containers, by class.
_CONTAINERS: dict[type, Callable[[_Writer, Any, str], None]] = {
    list: _Writer.list, dict: _Writer.dict, tuple: _Writer.tuple, OrderedDict: _Writer.ordered_dict,
    Counter: _Writer.counter, set: _Writer.members, frozenset: _Writer.members, Size: _Writer.members,
}  # fmt: skip


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


def _advice(value: Any) -> str:
    if hasattr(value, "state_dict"):
        return ": give its state_dict()"
    return (
        ". A state is made of tensors, containers, numbers and strings; what else load may build, name to "
        "numgrad.serialization.add_safe_globals"
    )
