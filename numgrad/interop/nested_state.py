"""What a checkpoint file says besides its arrays: how tensors and other values are nested, as JSON, and back.

Note [Memory in a file]
Tensors that overlap in memory are stored once.  If one of them covers what the others show, it is stored under its
name and the others refer to its elements; otherwise the memory between the first and the last element that any of them
shows is stored as one row, under a name that ends in ".storage".  A tensor that overlaps no other is stored as its
elements alone, in row-major order, and gets its strides back when it is read.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import devices
from ..core.device import numbered
from ..core.display import class_name
from ..core.layout import contiguous_strides, is_contiguous, numel, overlaps_itself, span
from ..core.tensor import Tensor, strided
from ..core.types import CPU, Size, TensorType, device, dtype, tensor_type
from ..nn.parameter import Parameter
from .interchange import warn_of_hooks

#: The version of what the header says.
_VERSION = 1

#: The classes of the mappings that can be stored, by name.
_MAPPINGS: dict[str, Callable[[dict[Any, Any]], Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}

#: The classes of the sequences that can be stored, by name.
_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "Size": Size}

#: Values that are written as texts: by class, the texts of one, which its class's name stands before.
_TEXTS: dict[type, Callable[[Any], list[str]]] = {
    float: lambda value: [str(value)], complex: lambda value: [str(value.real), str(value.imag)],
    bytes: lambda value: [value.hex()], dtype: lambda value: [value.name], device: lambda value: [str(value)],
}

#: By the tag that stands before them, the value of such texts; a "number" is one of NumPy's.
_VALUES: dict[str, Callable[..., Any]] = {
    "float": float, "complex": lambda real, imag: complex(float(real), float(imag)), "bytes": bytes.fromhex,
    "dtype": dtype.named.__getitem__, "device": device,
    "number": lambda name, text: np.frombuffer(bytes.fromhex(text), name)[0],
}


def write_header(state: Any) -> tuple[str, dict[str, np.ndarray]]:
    """The header for ``state``, and the arrays to store with it, by name.

    Raises:
        TypeError, ValueError: something in the state cannot be stored; the message says where it is.
    """
    writer = _Writer()
    content: dict[str, Any] = {"state": writer.encoded(state, "state", ())}
    arrays = writer.arrays()
    content["tensors"] = writer.records
    content["checksums"] = {name: zlib.crc32(array.data) for name, array in arrays.items()}
    text = json.dumps(content, separators=(",", ":"))
    return f"{_VERSION} {zlib.crc32(text.encode())} {text}", arrays


def read_header(
    header: str, rows: Mapping[str, np.ndarray], *, test: bool, device_for: Callable[[str], device] = device
) -> Any:
    """The state that ``header`` describes, its tensors on the memory of ``rows``, the bytes stored under each name.

    Args:
        header: the header.
        rows: the memory.
        test: whether to compare it with the checksums.
        device_for: gives the device for the tensors that were stored from the one that a string names.

    Raises:
        ValueError: header and memory are not such as ``write_header`` gave them.
    """
    version, _, rest = header.partition(" ")
    checksum, _, text = rest.partition(" ")
    if checksum != str(zlib.crc32(text.encode())):
        raise ValueError("its header does not agree with its checksum")
    if version != str(_VERSION):
        raise ValueError(f"its format has version {version}; this numgrad reads version {_VERSION}")
    try:
        content = json.loads(text)
        checksums = content["checksums"]
        if set(checksums) != set(rows):
            raise ValueError("the tensors in it are not those that its header lists")
        for name, row in rows.items() if test else ():
            if zlib.crc32(row.data) != checksums[name]:
                raise ValueError(f"tensor {name!r} does not agree with its checksum")
        state, records = content["state"], content["tensors"]
        for record in records:
            _check_entry_types(record)
        named = {record.get("device", "cpu") for record in records}
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"its header makes no sense ({error!r})") from error
    devices = {name: numbered(device_for(name)) for name in named}
    try:
        return _Reader(rows, records, devices).decoded(state)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"its header makes no sense ({error!r})") from error


#: What is said of a tensor, and as what.
_FIELDS: dict[str, type] = {
    "dtype": str, "shape": list, "stride": list, "offset": int, "data": str, "device": str, "requires_grad": bool,
    "parameter": bool, "attributes": list,
}


def _check_entry_types(record: dict[str, Any]) -> None:
    """Raise TypeError, KeyError or RuntimeError if something else is said of a tensor, or as something else."""
    for name, value in record.items():
        extents = value if name in ("shape", "stride") else []
        if type(value) is not _FIELDS[name] or any(type(extent) is not int for extent in extents):
            raise TypeError(f"{name} is {value!r}")
    device(record.get("device", "cpu"))


class _Writer:
    """Turns a state into what JSON can hold, and collects its tensors, each once."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self._tensors: list[Tensor] = []
        self._names: list[str] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()  # the containers around the present value

    def encoded(self, value: Any, location: str, path: tuple[str, ...]) -> Any:
        """``value`` for JSON: what JSON has, as it is; anything else as a list that begins with its tag."""
        cls = type(value)
        if value is None or cls in (bool, int, str) or (cls is float and math.isfinite(value)):
            return value
        if cls in _TEXTS:
            return [cls.__name__, *_TEXTS[cls](value)]
        if isinstance(value, np.bool_ | np.number):
            return ["number", value.dtype.name, value.tobytes().hex()]
        if isinstance(value, Tensor):
            return ["tensor", self._number(value, location, path)]
        if id(value) in self._open:
            raise ValueError(f"{location}: a {cls.__name__} that contains itself cannot be saved")
        self._open.add(id(value))
        if cls in _SEQUENCES.values():
            result = [cls.__name__, [self.encoded(x, f"{location}[{n}]", (*path, str(n))) for n, x in enumerate(value)]]
        elif cls in _MAPPINGS.values():
            result = [cls.__name__, self._items(value, location, path)]
            if cls is OrderedDict and vars(value):  # a state_dict's _metadata
                result.append(self._items(vars(value), f"{location}.__dict__", path))
        else:
            raise TypeError(
                f"{location}: a {class_name(cls)} cannot be saved{_advice(value)}. A state is made of tensors, dicts, "
                "lists, tuples, numbers, strings, bytes and None"
            )
        self._open.discard(id(value))
        return result

    def _items(self, value: dict[Any, Any], location: str, path: tuple[str, ...]) -> list[Any]:
        return [
            [
                self.encoded(key, f"key {key!r} of {location}", ()),
                self.encoded(x, f"{location}[{key!r}]", (*path, str(key))),
            ]
            for key, x in value.items()
        ]

    def _number(self, tensor: Tensor, location: str, path: tuple[str, ...]) -> int:
        """The tensor's index among the records."""
        number = self._numbers.get(id(tensor))
        if number is not None:
            return number
        if type(tensor) not in (Tensor, Parameter):
            raise TypeError(
                f"{location}: a {class_name(type(tensor))} cannot be saved, its class being unknown when it is read. "
                "Save its detach()"
            )
        warn_of_hooks(tensor)
        record: dict[str, Any] = {"dtype": tensor.dtype.name, "shape": list(tensor.shape)}
        if tensor.requires_grad:
            record["requires_grad"] = True
        if tensor.is_cuda:
            record["device"] = str(tensor.device)
        if type(tensor) is Parameter:
            record["parameter"] = True
        self._numbers[id(tensor)] = number = len(self.records)
        self.records.append(record)
        self._tensors.append(tensor)
        self._names.append(".".join(path) if path else "tensor")
        if vars(tensor):
            record["attributes"] = self._items(vars(tensor), f"{location}.__dict__", path)
        return number

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to store; completes the records with where in them the tensors are."""
        arrays: dict[str, np.ndarray] = {}

        def add(name: str, array: np.ndarray) -> str:
            unique, count = name, 1
            while unique in arrays or unique == "__metadata__":
                count += 1
                unique = f"{name}#{count}"
            if array.dtype.kind == "c":  # older readers do not know complex numbers: pairs
                array = np.ascontiguousarray(array)
                array = array.view(array.real.dtype).reshape(*array.shape, 2)
            arrays[unique] = np.asarray(array, order="C")
            return unique

        for members, start, end in self._groups():
            lead = next((n for n in members if _covers(self._tensors[n], start, end)), None)
            first = self._tensors[members[0]]
            if lead is None and len(members) == 1 and not overlaps_itself(first._layout.shape, first.stride()):
                lead = members[0]
            if lead is None:
                name = add(self._names[members[0]] + ".storage", devices.moved(first._storage[start:end], CPU))
            else:
                name = add(self._names[lead], self._tensors[lead]._host_array())
            for number in members:
                tensor, record = self._tensors[number], self.records[number]
                record["data"] = name
                if number != lead:
                    record["offset"] = tensor.storage_offset() - start
                if tensor.stride() != contiguous_strides(tensor._layout.shape):
                    record["stride"] = list(tensor.stride())
        return arrays

    def _groups(self) -> Iterator[tuple[list[int], int, int]]:
        """The tensors, by number, that overlap in memory, and the part of their storage that they span."""
        starts = sorted(
            (id(tensor._storage), tensor.storage_offset(), span(tensor._layout.shape, tensor.stride()), number)
            for number, tensor in enumerate(self._tensors)
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
    if isinstance(value, np.ndarray):
        return ": give numgrad.from_numpy(array)"
    if hasattr(value, "state_dict"):
        return ": give its state_dict()"
    return ""


def _covers(tensor: Tensor, start: int, end: int) -> bool:
    return tensor.is_contiguous() and tensor.storage_offset() == start and tensor.numel() == end - start


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} stands for a list")
    return value


class _Reader:
    """Makes values again of what the writer made of them."""

    def __init__(
        self, rows: Mapping[str, np.ndarray], records: list[dict[str, Any]], devices: Mapping[str, device]
    ):
        self._rows = rows
        self._records = records
        self._devices = devices
        self._tensors: dict[int, Tensor] = {}
        self._placed_rows: dict[Any, Any] = {}  # by name and type: tensors that shared memory share it again

    def decoded(self, value: Any) -> Any:
        """The value that was encoded so."""
        if not isinstance(value, list):
            return value
        tag, *parts = value
        if tag in _SEQUENCES:
            return _SEQUENCES[tag]([self.decoded(item) for item in _listed(parts[0])])
        if tag in _MAPPINGS:
            result = _MAPPINGS[tag](dict(self._pairs(parts[0])))
            for attributes in parts[1:]:
                vars(result).update(self._pairs(attributes))
            return result
        if tag == "tensor":
            return self._tensor(parts[0])
        if tag not in _VALUES:
            raise ValueError(f"unknown tag {tag!r}")
        return _VALUES[tag](*parts)

    def _pairs(self, pairs: Any) -> list[tuple[Any, Any]]:
        return [(self.decoded(key), self.decoded(item)) for key, item in _listed(pairs)]

    def _tensor(self, number: int) -> Tensor:
        """The tensor with this number among the records, the same one each time."""
        if number not in self._tensors:
            if type(number) is not int or number < 0:
                raise TypeError(f"{number!r} is the number of a tensor")
            record = self._records[number]
            tensor = self._placed(record)
            if record.get("parameter"):
                tensor = Parameter(tensor, record.get("requires_grad", False))
            elif record.get("requires_grad"):
                tensor.requires_grad = True
            self._tensors[number] = tensor
            vars(tensor).update(self._pairs(record.get("attributes", [])))
        return self._tensors[number]

    def _placed(self, record: dict[str, Any]) -> Tensor:
        """A tensor on the memory that its record describes."""
        element = dtype.named[record["dtype"]]
        type = tensor_type(element, self._devices[record.get("device", "cpu")])
        row = self._row(record["data"], type)
        shape = tuple(Size(record["shape"]))
        strides = tuple(Size(record.get("stride", contiguous_strides(shape))))
        own = "offset" not in record
        offset = 0 if own else record["offset"]
        sound = len(shape) == len(strides) and min(*shape, *strides, offset, 0) >= 0
        if not sound or (numel(shape) if own else offset + span(shape, strides)) > row.size:
            raise ValueError(f"a tensor of shape {shape} and strides {strides} reaches beyond what is stored")
        if not own or is_contiguous(shape, strides):
            return strided(row, shape, strides, offset, type)
        placed = strided(type.backend.empty((span(shape, strides),), type), shape, strides, 0, type)
        return placed.copy_(strided(row, shape, contiguous_strides(shape), 0, type))

    def _row(self, name: str, type: TensorType) -> Any:
        """The elements stored under a name, where tensors of this type lie."""
        key = name, type
        if key not in self._placed_rows:
            self._placed_rows[key] = devices.moved(self._rows[name].view(type.numpy), type.device)
        return self._placed_rows[key]
