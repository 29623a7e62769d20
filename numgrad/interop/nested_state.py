"""The JSON header of numgrad's former file format, which describes the nesting of tensors and other values.

``save`` now writes PyTorch's format; files in the former format can still be read.

Note [Memory in a file]
Tensors that overlap in memory are stored once.  If one of them covers the elements of all others, it is stored under
its name, and the others refer to its elements.  Otherwise the memory between the first and the last element of all of
them is stored as one row, under a name that ends in ".storage".  A tensor that overlaps no other is stored as its
elements alone, in row-major order, and gets its strides back when it is read, unless these leave large gaps.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import devices
from ..core.device import numbered
from ..core.layout import contiguous_strides, is_contiguous, numel, span
from ..core.types import Size, TensorType, device, dtype, tensor_type
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor, strided
from .limits import MAX_DIMENSIONS, Limits

#: The version of the header's format.
_VERSION = 1

#: Strides are restored if the memory that they span is at most this many times that of the elements.
_GAPS = 4

#: The classes of the mappings that can be stored, by name.
_MAPPINGS: dict[str, Callable[[dict[Any, Any]], Any]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}

#: The classes of the sequences that can be stored, by name.
_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "Size": Size}

#: The functions that parse texts, by the preceding tag; a "number" is one of NumPy's.
_VALUES: dict[str, Callable[..., Any]] = {
    "float": float, "complex": lambda real, imag: complex(float(real), float(imag)), "bytes": bytes.fromhex,
    "dtype": dtype.named.__getitem__, "device": device,
    "number": lambda name, text: np.frombuffer(bytes.fromhex(text), _number_type(name), 1)[0],
}


def _number_type(name: Any) -> np.dtype:
    found = np.dtype(name) if type(name) is str else None
    if found is None or found.kind not in "biufc":
        raise TypeError(f"{name!r} is the type of a number")
    return found


def read_header(
    header: str, rows: Mapping[str, np.ndarray], *, test: bool, device_for: Callable[[str], device] = device
) -> Any:
    """Return the state that ``header`` describes, with tensors on the memory of ``rows``, the bytes stored under each
    name.

    Args:
        header: the header.
        rows: the memory.
        test: True to verify the checksums.
        device_for: a function from the name of the device of stored tensors to the device to use.

    Raises:
        ValueError: header and memory do not have the form that ``write_header`` produced.
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
        return _Reader(rows, records, devices, Limits(len(header) + sum(map(len, rows.values())))).decoded(state)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"its header makes no sense ({error!r})") from error


#: The fields of a tensor's record, and their types.
_FIELDS: dict[str, type] = {
    "dtype": str, "shape": list, "stride": list, "offset": int, "data": str, "device": str, "requires_grad": bool,
    "parameter": bool, "attributes": list,
}


def _check_entry_types(record: dict[str, Any]) -> None:
    """Raise TypeError, KeyError or RuntimeError if a tensor's record has other fields, or other types of fields."""
    for name, value in record.items():
        extents = value if name in ("shape", "stride") else []
        if type(value) is not _FIELDS[name] or any(type(extent) is not int for extent in extents):
            raise TypeError(f"{name} is {value!r}")
    device(record.get("device", "cpu"))


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} stands for a list")
    return value


class _Reader:
    """The decoder of values encoded by the writer."""

    def __init__(
        self,
        rows: Mapping[str, np.ndarray],
        records: list[dict[str, Any]],
        devices: Mapping[str, device],
        limits: Limits,
    ):
        self._rows = rows
        self._records = records
        self._devices = devices
        self._limits = limits
        self._tensors: dict[int, Tensor] = {}
        self._placed_rows: dict[Any, Any] = {}  # by name and type, so that tensors that shared memory share it again

    def decoded(self, value: Any) -> Any:
        """Return the value encoded in this form."""
        if not isinstance(value, list):
            return value
        tag, *parts = value
        if tag in _SEQUENCES:
            return _SEQUENCES[tag]([self.decoded(item) for item in _listed(parts[0])])
        if tag in _MAPPINGS:
            pairs = self._pairs(parts[0])
            keys = self._limits.keys(pairs, [key for key, _ in pairs])
            result = _MAPPINGS[tag]({key: item for key, (_, item) in zip(keys, pairs, strict=True)})
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
        """Return the tensor with this number among the records, the same object each time."""
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
        """Return a tensor on the memory that its record describes."""
        element = dtype.named[record["dtype"]]
        type = tensor_type(element, self._devices[record.get("device", "cpu")])
        row = self._row(record["data"], type)
        shape = tuple(Size(record["shape"]))
        strides = tuple(Size(record.get("stride", contiguous_strides(shape))))
        own = "offset" not in record
        offset = 0 if own else record["offset"]
        sound = len(shape) == len(strides) <= MAX_DIMENSIONS and min(*shape, *strides, offset, 0) >= 0
        if not sound or numel(shape) >= 2**63 or (numel(shape) if own else offset + span(shape, strides)) > row.size:
            raise ValueError(f"a tensor of shape {shape} and strides {strides} reaches beyond what is stored")
        if not own or is_contiguous(shape, strides):
            return strided(row, shape, strides, offset, type)
        dense = strided(row, shape, contiguous_strides(shape), 0, type)
        extent = span(shape, strides)
        if extent > _GAPS * numel(shape):
            return dense
        self._limits.spend(extent)
        return strided(type.backend.empty((extent,), type), shape, strides, 0, type).copy_(dense)

    def _row(self, name: str, type: TensorType) -> Any:
        """Return the elements stored under a name, on the device of this tensor type."""
        key = name, type
        if key not in self._placed_rows:
            self._placed_rows[key] = devices.moved(self._rows[name].view(type.numpy), type.device)
        return self._placed_rows[key]
