"""Files in the safetensors format, which other programs write."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import IO, Any

import numpy as np
import safetensors.numpy

from ..core.types import device
from ..ops.creation.from_data import from_array
from ..tensors.tensor import Tensor

__all__ = ["read_safetensors"]

#: NumPy's dtypes by safetensors' names.
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8", "F32": "f4", "F64": "f8", "C64": "c8",
    "F16": "f2", "BF16": "V2", "U16": "u2", "U32": "u4", "U64": "u8",
}


def read_safetensors(file: IO[bytes], path: Any, device_for: Callable[[str], device]) -> dict[str, Tensor]:
    """Return the tensors in a file as a dict.

    Args:
        file: the open file.
        path: its name, to leave elements in the file until they are used; None to read them.
        device_for: a function from the name of the stored tensors' device, the CPU, to the device to use.

    Raises:
        ValueError: the file is damaged.
        RuntimeError: the file has tensors of a dtype that numgrad lacks.
    """
    try:
        if path is not None:
            with safetensors.safe_open(path, framework="np"):  # checks that the file is complete
                buffers, header = _mapped(path)
        else:
            data = file.read()
            buffers = {key: np.frombuffer(entry["data"], np.uint8) for key, entry in safetensors.deserialize(data)}
            header, _ = _header(data)
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    return {key: _tensor(key, buffer, header[key]).to(device_for("cpu")) for key, buffer in buffers.items()}


def _header(data: Any) -> tuple[dict[str, Any], int]:
    """Return the header of a file, and its end."""
    end = 8 + int.from_bytes(bytes(data[:8]), "little")
    return json.loads(bytes(data[8:end])), end


def _mapped(path: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the bytes of each tensor, in place in the mapped file, and the header."""
    memory = np.memmap(path, np.uint8, "c").view(np.ndarray)
    header, start = _header(memory)
    buffers = {}
    for name in [name for name in header if name != "__metadata__"]:
        begin, end = header[name]["data_offsets"]
        buffer = memory[start + begin : start + end]
        buffers[name] = buffer.copy() if buffer.ctypes.data % 8 else buffer  # other writers need not have aligned it
    return buffers, header


def _tensor(key: str, buffer: np.ndarray, entry: dict[str, Any]) -> Tensor:
    """Return a tensor, given its bytes and its entry in the header."""
    element = _DTYPES.get(entry["dtype"])
    if element is None:
        raise RuntimeError(f"tensor {key!r} has dtype {entry['dtype']}, which numgrad does not have")
    return from_array(buffer.view(element).reshape(entry["shape"]))
