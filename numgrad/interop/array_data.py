"""Tensors on the memory of other objects: ``asarray`` and ``frombuffer``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import numbered, to_device
from ..core.types import dtype, get_default_dtype, to_dtype
from ..ops.creation.cuda_arrays import is_cuda_array
from ..ops.creation.factories import finished
from ..ops.creation.from_data import as_tensor, from_numpy, tensor
from ..ops.table.checks import check_value
from ..tensors.tensor import Tensor
from .interchange import from_dlpack


def asarray(
    obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return ``obj`` as a tensor, on its own memory if that is possible.

    Args:
        obj: a tensor, an array with DLPack or ``__array__``, an object with a buffer, nested sequences, or a number.
        dtype: the dtype; by default that of ``obj``.  A buffer is read as elements of this dtype.
        device: the device; by default that of ``obj``.
        copy: True to copy, False to forbid copies, None to copy if it is needed.
        requires_grad: True or False to set the flag of the result; None to keep that of a tensor.

    Raises:
        ValueError: a copy is needed, but ``copy`` is False.

    Example:
        >>> import numpy as np
        >>> import numgrad
        >>> array = np.zeros(2)
        >>> numgrad.asarray(array)[0] = 1
        >>> array
        array([1., 0.])
    """
    chosen = None if dtype is None else to_dtype(dtype)
    target = None if device is None else numbered(to_device(device))
    shared = _on_own_memory(obj, chosen)
    if shared is None:
        check_value(copy is not False, "can't alias arbitrary sequence into a tensor.")
        result = tensor(obj, dtype=chosen, device=target)
    else:
        moved = target is not None and target is not shared.device
        converted = chosen is not None and chosen is not shared.dtype
        copied = moved or converted
        check_value(
            not copied or copy is not False,
            "can't alias a tensor of {} on {} as one of {} on {}", shared.dtype, shared.device, chosen or shared.dtype,
            target or shared.device,
        )
        result = shared.to(target, chosen) if copied else shared.clone() if copy else shared
    if requires_grad is None:
        return result
    return result.requires_grad_() if requires_grad else result.detach()


def _on_own_memory(obj: Any, chosen: dtype | None) -> Tensor | None:
    """Return a tensor on the memory of an object, or None if only its elements can be read."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj) if all(step >= 0 for step in obj.strides) else None
    if isinstance(obj, np.generic):
        return None
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if is_cuda_array(obj):
        return as_tensor(obj)
    if hasattr(obj, "__array__"):
        return _on_own_memory(np.asarray(obj), chosen)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=get_default_dtype() if chosen is None else chosen)


def frombuffer(
    buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a vector on the memory of an object with a buffer, such as ``bytearray`` or ``array.array``.

    Args:
        buffer: the object.
        dtype: the dtype of the elements.
        count: the number of elements; negative for all.
        offset: the number of bytes before the first element.
        requires_grad: True for a vector that requires a gradient.

    Raises:
        ValueError: the buffer is empty, or does not have so many elements.

    Example:
        >>> import numgrad
        >>> numgrad.frombuffer(bytearray(4), dtype=numgrad.int16)
        tensor([0, 0], dtype=torch.int16)
    """
    item, view = to_dtype(dtype).itemsize, memoryview(buffer)
    check_value(
        view.nbytes > 0 and count != 0, "both buffer length ({}) and count ({}) must not be 0", view.nbytes, count
    )
    check_value(
        0 <= offset < view.nbytes,
        "offset ({} bytes) must be non-negative and no greater than buffer length ({} bytes) minus 1",
        offset, view.nbytes,
    )
    left = view.nbytes - offset
    check_value(
        count > 0 or left % item == 0,
        "buffer length ({} bytes) after offset ({} bytes) must be a multiple of element size ({})", left, offset, item,
    )
    check_value(
        count * item <= left,
        "requested buffer length ({} * {} bytes) after offset ({} bytes) must not be greater than actual buffer length "
        "({} bytes)", count, item, offset, view.nbytes,
    )
    return finished(from_numpy(np.frombuffer(buffer, to_dtype(dtype).numpy, count, offset)), requires_grad)
