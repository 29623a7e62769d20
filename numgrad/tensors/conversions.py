"""Conversions from tensors to Python and NumPy values, including the Python protocols for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.grad_mode import GRAD, state
from ..core.halves import number_of, widened
from ..core.layout import numel, span
from ..core.types import bfloat16, numpy_bfloat16
from ..devices import recording
from ..devices.buffers import DeviceBuffer
from .differentiable import AutogradAttributes

if TYPE_CHECKING:
    from .tensor import Tensor


class Conversions(AutogradAttributes):
    """Part of Tensor that exports its elements."""

    __slots__ = ()

    if TYPE_CHECKING:

        def detach(self) -> Tensor: ...

    def _host_array(self) -> np.ndarray:
        """Return the elements as a NumPy array, on the same memory if that is the CPU's and as a copy otherwise."""
        if self._storage.__class__ is not DeviceBuffer:
            return self._array()
        shape, strides = self._layout.shape, self._layout.strides
        if 0 in shape:
            return np.empty(shape, self._layout.type.numpy)
        reach = span(shape, strides)
        if reach > max(4 * numel(shape), 1 << 16):  # a kernel that copies only the elements is worth its launch
            return self.detach().clone()._host_array()
        part = self._storage[self._offset : self._offset + reach].host()
        item = part.itemsize
        return np.ndarray(shape, part.dtype, part, 0, tuple([step * item for step in strides]))

    def _numbers(self) -> np.ndarray:
        """Return the elements as an array that NumPy can compute with: those of bfloat16 as float32."""
        return widened(self._host_array())

    def _all_elements(self) -> np.ndarray:
        """Return the elements as ``_numbers`` does; under ``vmap``, those of all examples."""
        return self._mapped.tensor._all_elements() if hasattr(self, "_mapped") else self._numbers()

    def item(self) -> Any:
        """Return the value of a tensor of one element as a Python number.

        Raises:
            RuntimeError: the tensor does not have exactly one element.
        """
        if self._layout.size != 1:
            raise RuntimeError(f"a Tensor with {self._layout.size} elements cannot be converted to Scalar")
        if recording.recorder is not None:
            recording.values_read("item()")
        return number_of(self._storage.item(self._offset))

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, or as a number for a 0-d tensor."""
        return widened(self._array() if self._storage.__class__ is np.ndarray else self._host_array()).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return the elements as a NumPy array on the same memory.

        With ``force``, the tensor may require a gradient, and the array of a GPU tensor is a copy.

        Raises:
            RuntimeError: the tensor requires a gradient, which the array could not propagate, and recording is on.
            TypeError: the tensor is on a GPU, or its dtype is bfloat16 and the package ``ml_dtypes`` is not installed.
        """
        if force:
            return self._for_numpy(self._host_array())
        if self.requires_grad and state.mode & GRAD:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return self._for_numpy(self._array())

    def _for_numpy(self, array: np.ndarray) -> np.ndarray:
        return array.view(numpy_bfloat16()) if self._layout.type.dtype is bfloat16 else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"a copy is needed to convert {self.dtype} to {np.dtype(dtype)}")
        return array.astype(dtype)

    def __len__(self) -> int:
        if not self._layout.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._layout.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._layout.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        is_operand = isinstance(element, AutogradAttributes | bool | int | float | complex | np.generic)
        if not is_operand:
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool(self.eq(element).any())

    def __bool__(self) -> bool:
        count = self._layout.size
        if count != 1:
            many = "more than one value" if count else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        if self._storage.__class__ is not np.ndarray and hasattr(self, "_mapped"):
            raise RuntimeError(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet: the tensor stands for all examples, which may differ. Use where() to choose."
            )
        if recording.recorder is not None:
            recording.values_read("asking whether it is true")
        return bool(number_of(self._storage.item(self._offset)))

    def __float__(self) -> float:
        return float(self._real())

    def __int__(self) -> int:
        return int(self._real())

    def _real(self) -> Any:
        value = self._only()
        if not isinstance(value, complex):
            return value
        if value.imag:
            raise RuntimeError(f"value {value} cannot be converted to type double without overflow")
        return value.real

    def _only(self) -> Any:
        if self._layout.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, not shape {list(self.shape)}"
            )
        return self.item()

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self._layout.size != 1 or self._layout.type.numpy.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self._layout.shape else object.__format__(self, spec)
