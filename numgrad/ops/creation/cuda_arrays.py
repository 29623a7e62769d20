"""GPU memory shared with other libraries, in stream order, and its description by ``__cuda_array_interface__``.

Note [Streams of two libraries]
Each library runs its work on a stream of its own.  Memory passes between them without blocking the host: an event is
recorded on the producer's stream, and the consumer's stream waits for it.  DLPack's ``__dlpack__`` receives the
consumer's stream; ``__cuda_array_interface__`` states the producer's.  In both, 1 denotes the default stream, which is
0 for the driver.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import devices
from ...core.layout import contiguous_strides, span
from ...core.types import device as Device  # noqa: N812 - the name is a parameter of PyTorch's
from ...core.types import tensor_type, to_dtype
from ...devices.recording import values_read
from ...tensors.tensor import Tensor, strided
from ..table.op import attach

#: The number of the default stream in both protocols.
DEFAULT_STREAM = 1

READ_ONLY = (
    "The given array is not writable, but a tensor always is: writing to this tensor writes to the array's memory. You "
    "may want to copy the array before converting it to a tensor."
)


def own_stream(device: int) -> Any:
    """Return numgrad's current stream on a GPU, for another library."""
    values_read("another library")
    return devices.begin_cuda().memory.stream(device)


def foreign_stream(number: int, device: int) -> Any:
    """Return the stream of another library that a protocol's number denotes."""
    cuda = devices.begin_cuda()
    if number in (0, DEFAULT_STREAM):
        return cuda.runtime.default_stream(device)
    return cuda.runtime.driver.external_stream(number, device)


def _interface(self: Tensor) -> dict[str, Any]:
    """Return the description by which CuPy, Numba and others view the tensor's memory as an array, without a copy.

    Raises:
        AttributeError: the tensor is on the CPU, so it has no such attribute.
        RuntimeError: the tensor requires a gradient, which the array could not propagate.
    """
    layout = self._layout
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {layout.type.name} Use tensor.cuda() to copy "
            "the tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    item = layout.type.dtype.itemsize
    return {
        "shape": layout.shape,
        "typestr": layout.type.numpy.str,
        "data": (self.data_ptr(), False),
        "strides": None if self._flat is not None else tuple([step * item for step in layout.strides]),
        "stream": int(own_stream(self.get_device())) or DEFAULT_STREAM,
        "version": 3,
    }


attach("__cuda_array_interface__", property(_interface))


def is_cuda_array(value: Any) -> bool:
    """Return True for another library's array on a GPU; ``__cuda_ndarray__`` is Numba's own mark of its arrays."""
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "__cuda_ndarray__")


def from_interface(source: Any) -> Tensor:
    """Return a tensor on the memory of another library's array, which it keeps alive.

    Raises:
        TypeError: numgrad has no such dtype.
        ValueError: a stride is negative or not a multiple of the element size, or elements are masked.
    """
    cuda = devices.begin_cuda()
    interface = source.__cuda_array_interface__
    element = np.dtype(interface["typestr"])
    if interface.get("mask") is not None:
        raise ValueError("the given array is masked, and tensors have no masks")
    if not element.isnative:
        raise ValueError(f"given array has a byte order that is not this machine's: {element}")
    to_dtype(element)  # raises if there is none
    shape = tuple(interface["shape"])
    steps = interface.get("strides")
    if steps is not None and any(step % element.itemsize for step in steps):
        raise ValueError("given array strides not a multiple of the element byte size. Make a copy of the array")
    strides = None if steps is None else tuple([step // element.itemsize for step in steps])
    address, read_only = interface["data"]
    if read_only:
        warnings.warn(READ_ONLY, UserWarning, stacklevel=4)
    device = cuda.runtime.driver.device_of(address) if address else cuda.runtime.current_device()
    stream = interface.get("stream")
    if stream is not None:
        cuda.runtime.in_order(foreign_stream(stream, device), own_stream(device))
    return on_memory(source, address, device, element, shape, strides)


def on_memory(
    owner: Any, address: int, device: int, dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...] | None
) -> Tensor:
    """Return a tensor on memory that ``owner`` keeps alive."""
    if strides is None or 0 in shape:
        strides = contiguous_strides(shape)
    if any(step < 0 for step in strides):
        raise ValueError(
            "At least one stride in the given array is negative, and tensors with negative strides are not supported. "
            "(You can probably work around this by making a copy of your array.)"
        )
    buffer = devices.DeviceBuffer(address, span(shape, strides), dtype, device, owner)
    return strided(buffer, shape, strides, 0, tensor_type(to_dtype(dtype), Device("cuda", device)))
