"""Copies: cloning, conversion of dtypes, and overwriting in place."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from .. import devices
from .._layout import broadcast_shapes, contiguous_strides, output_strides
from .._tensor import Tensor, check_in_place, strided
from .._types import (
    TensorType,
    bool_,
    complex64,
    complex128,
    contiguous_format,
    dtype,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    preserve_format,
    real_of,
    tensor_type,
    to_device,
    to_dtype,
    uint8,
)
from .._types import device as place
from ..autograd.grad_mode import GRAD, state
from ..autograd.node import Node, edge_of
from ..autograd.operations import operations
from ..autograd.views import check_writable, record_inplace
from .new import empty_of, filled_of
from .table import attach, check_tensors, operation, public, refuse_complex

__all__ = [
    "FillBackward2", "check_fits", "check_memory_format", "check_overlap", "clone", "clone_op", "contiguous",
    "contiguous_op", "convert", "copy_", "fill_", "kept_strides", "overlaps", "overwritten", "plain_number",
    "recorded_edges", "to", "write", "zero_",
]


def _same(input):
    return input


@functools.cache
def _copy_program(source: dtype, target: dtype) -> devices.Program:
    operand = devices.Operand("input", source.numpy)
    return devices.Program("copy", target.numpy, (operand,), (("out", target.numpy),), (_same,))


@functools.cache
def _fill_program(number: type, target: dtype) -> devices.Program:
    operand = devices.Operand("input", devices.number_type(number), scalar=True)
    return devices.Program("fill", target.numpy, (operand,), (("out", target.numpy),), (_same,))


def _copied(input: Tensor, type: TensorType, strides: tuple[int, ...]) -> Tensor:
    if input._flat is not None:
        out = empty_of(input._shape, type)
        write(out, input)
        return out
    number = devices.as_number(input)
    if number is not None and input._type is type:
        return filled_of(input._shape, number, type)
    out = strided(devices.empty(input._shape, type), input._shape, strides, 0, type)
    write(out, input)
    return out


def write(target: Tensor, source: Tensor) -> None:
    """Overwrite ``target``, which nobody has seen yet, without checks and without recording."""
    devices.run_pointwise(_copy_program(source._type.dtype, target._type.dtype), [source], [target])


def kept_strides(input: Tensor) -> tuple[int, ...]:
    """The strides of a copy: the input's own order of dimensions, without gaps or repeats."""
    return output_strides(input._shape, ((input._shape, input._strides),))


@operation("CloneBackward0")
def clone_op(input: Tensor) -> Tensor:
    return _copied(input, input._type, kept_strides(input))


@clone_op.gradient("input")
def _(grad):
    return grad


@operation("CloneBackward0")
def contiguous_op(input: Tensor) -> Tensor:
    return _copied(input, input._type, contiguous_strides(input._shape))


@contiguous_op.gradient("input")
def _(grad):
    return grad


@operation("ToCopyBackward0")
def to_type(input: Tensor, type: TensorType) -> Tensor:
    if input.is_complex() and type.dtype.category in (int64.category, float32.category):
        warnings.warn(
            "Casting complex values to real discards the imaginary part", UserWarning, stacklevel=4
        )
    return _copied(input, type, kept_strides(input))


@to_type.gradient("input")
def _(grad):
    return grad  # the engine gives it the input's dtype


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy of the tensor; gradients flow back to the original."""
    if memory_format is not None:
        check_memory_format(memory_format)
        return contiguous_op(input) if memory_format is contiguous_format else clone_op(input)
    return clone_op(input)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor if its elements lie in row-major order, else a copy of which that is true."""
    if memory_format is not None:
        check_memory_format(memory_format)
    return input if input._flat is not None else contiguous_op(input)


def convert(input: Tensor, kind: dtype) -> Tensor:
    """The tensor if it has this dtype, else a converted copy."""
    return input if input.dtype is kind else to_type(input, tensor_type(kind, input.device))


def to(
    input: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """The tensor with another dtype or device (given as such, or as another tensor's); itself if nothing changes.

    ``non_blocking`` and ``copy`` may also be given by position, after dtype and device.
    """
    flags = [argument for argument in args if isinstance(argument, bool)]
    copy = copy or flags[1:2] == [True]
    for argument in args:
        if isinstance(argument, Tensor):
            dtype, device = argument.dtype, argument.device
        elif isinstance(argument, str | place):
            device = argument
        elif not isinstance(argument, bool | None):
            dtype = argument
    check_memory_format(memory_format)
    to_device(device)
    result = input if dtype is None else convert(input, to_dtype(dtype))
    return clone(input) if copy and result is input else result


public(clone)
public(contiguous, name="contiguous")
attach("to", to)


def check_memory_format(memory_format: Any) -> None:
    """Raise unless the format is one of a row-major tensor's: numgrad has no other.

    Raises:
        NotImplementedError: it is another.
    """
    if memory_format not in (None, contiguous_format, preserve_format):
        raise NotImplementedError(f"numgrad has no memory format {memory_format}: only contiguous and preserved ones")


def _conversion(kind: dtype) -> Any:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        check_memory_format(memory_format)
        return convert(self, kind)

    method.__doc__ = f"The tensor as {kind}."
    return method


for _name, _kind in {
    "bool": bool_, "byte": uint8, "char": int8, "short": int16, "int": int32, "long": int64, "float": float32,
    "double": float64, "cfloat": complex64, "cdouble": complex128,
}.items():
    attach(_name, _conversion(_kind))


def type_(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type, or the tensor converted to a dtype."""
    return self._type.name if dtype is None else convert(self, to_dtype(dtype))


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor converted to the dtype of ``other``; itself if it has that."""
    check_tensors("type_as", other=other)
    return convert(self, other.dtype)


def cpu(self: Tensor) -> Tensor:
    """The tensor in the CPU's memory, which is where it is."""
    return self


attach("type", type_)
attach("type_as", type_as)
attach("cpu", cpu)


class CopyBackwards(Node):
    """The node of a tensor overwritten with another: the gradient is all the other's."""

    __slots__ = ()

    def name(self) -> str:
        """PyTorch's name of this node."""
        return "torch::autograd::CopyBackwards"

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        return operations.zeros(self.shape, self.type), gradient


class FillBackward2(Node):
    """The node of a tensor overwritten with a number."""

    __slots__ = ()

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        return (operations.zeros(self.shape, self.type),)


class ZeroBackward0(FillBackward2):
    """The node of a tensor overwritten with zeros."""

    __slots__ = ()


def overlaps(target: Tensor, source: Tensor) -> bool:
    """Whether two tensors share a part of their memory without being the same elements in the same order."""
    if target._storage is not source._storage or source is target:
        return False
    low, high = _extent(target)
    start, stop = _extent(source)
    same = (target._offset, target._shape, target._element_strides()) == (
        source._offset, source._shape, source._element_strides(),
    )
    return low < stop and start < high and not same and devices.share_elements(target, source)


def check_overlap(target: Tensor, source: Tensor) -> None:
    """Raise if writing to ``target`` would change elements of ``source`` that are still to be read.

    Raises:
        RuntimeError: the two share a part of their memory without being the same elements.
    """
    if overlaps(target, source):
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            f"memory location (shapes {list(source._shape)} and {list(target._shape)}). Please clone() the tensor "
            "before performing the operation."
        )


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The stretch of storage that a tensor's elements lie in."""
    reach = sum((extent - 1) * step for extent, step in zip(tensor._shape, tensor._element_strides(), strict=True))
    return tensor._offset, tensor._offset + reach + 1


def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the tensor with ``src``, broadcast and converted."""
    if not isinstance(src, Tensor):
        return fill_(input, src)
    check_in_place(input, src)
    if broadcast_shapes(input._shape, src._shape) != input._shape:
        raise RuntimeError(
            f"The expanded size of the tensor {list(input._shape)} must match the existing size {list(src._shape)}"
        )
    check_overlap(input, src)
    edges = recorded_edges("copy_", input, input, src)
    devices.run_pointwise(_copy_program(src.dtype, input.dtype), [src], [input])
    overwritten(input, edges, CopyBackwards)
    return input


def fill_(input: Tensor, value: Any) -> Tensor:
    """Overwrite every element with a number.

    Raises:
        TypeError: it is no number.
        RuntimeError: the tensor's dtype cannot hold it.
    """
    if isinstance(value, Tensor):
        if value._shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        return copy_(input, value)
    return _filled(input, _fitting(value, input._type.dtype), FillBackward2)


_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def _fitting(value: Any, kind: dtype) -> Any:
    """The number as a kernel takes it, if ``kind`` can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | complex):
        raise TypeError(f"fill_(): argument 'value' must be a number or a 0-d tensor, not {type(value).__name__}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} is too large for a 64-bit integer")
    check_fits(value, kind)
    return plain_number(value)


def check_fits(value: complex, kind: dtype) -> None:
    """Raise if a number is too large for a dtype.

    Raises:
        RuntimeError: it is.
    """
    if not _holds(kind, value):
        raise RuntimeError(f"value {value} cannot be converted to type {kind.name} without overflow")


def plain_number(value: Any) -> Any:
    """A number of a subclass of Python's, such as an enum's, as Python's own."""
    classes: tuple[Any, ...] = (bool, int, float, complex)
    return next(plain(value) for plain in classes if isinstance(value, plain))


def _holds(kind: dtype, value: complex) -> bool:
    """Whether ``kind`` has a number near ``value``; a negative one may wrap around to become unsigned."""
    if isinstance(value, complex):
        return kind.kind == "b" or ((kind.is_complex or not value.imag) and _holds(real_of(kind), value.real))
    if kind.kind == "i":
        bounds = np.iinfo(kind.numpy)
        return (bounds.min or -bounds.max) <= value <= bounds.max
    return real_of(kind) is not float32 or not math.isfinite(value) or abs(value) <= _LARGEST_FLOAT32


def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    return _filled(input, 0, ZeroBackward0)


def _filled(input: Tensor, value: Any, node: type[Node]) -> Tensor:
    check_writable(input)  # elements may share memory: they get the same value
    edges = recorded_edges("fill_", input, input)
    devices.run_pointwise(_fill_program(value.__class__, input.dtype), [value], [input])
    overwritten(input, edges, node)
    return input


def recorded_edges(name: str, target: Tensor, *sources: Tensor) -> tuple[Any, ...]:
    """The edges of what is written to ``target``, if that is recorded."""
    edges = tuple([edge_of(source) for source in sources]) if state.mode & GRAD else ()
    if any(edges):
        refuse_complex(name, target._type.dtype, target._shape, target)
    return edges


def overwritten(input: Tensor, edges: tuple[Any, ...], node: type[Node]) -> None:
    input._counter[0] += 1
    if any(edges) and input.is_floating_point():
        record_inplace(input, node(edges, input._shape, input._type))


for _function in (copy_, fill_, zero_):
    attach(_function.__name__, _function)
