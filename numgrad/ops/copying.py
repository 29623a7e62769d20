"""Copies: cloning, conversion of dtypes, and overwriting in place."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import devices
from .._layout import broadcast_shapes, contiguous_strides, output_strides
from .._tensor import Tensor, check_in_place, fresh, strided
from .._types import TensorType, bool_, dtype, float32, float64, int64, tensor_type, to_device, to_dtype
from ..autograd.grad_mode import GRAD, state
from ..autograd.graph import Node, edge_of
from ..autograd.operations import operations
from ..autograd.views import check_writable, record_inplace
from .table import attach, operation, public

__all__ = [
    "check_overlap", "clone", "contiguous", "convert", "copy_", "fill_", "kept_strides", "overlaps", "to", "write",
    "zero_",
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
        out = fresh(devices.empty(input._shape, type), input._shape, type)
        write(out, input)
        return out
    number = devices.as_number(input)
    if number is not None and input._type is type:
        return fresh(devices.filled(input._shape, number, type), input._shape, type)
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
    return _copied(input, type, kept_strides(input))


@to_type.gradient("input")
def _(grad):
    return grad  # the engine gives it the input's dtype


def clone(input: Tensor) -> Tensor:
    """A copy of the tensor; gradients flow back to the original."""
    return clone_op(input)


def contiguous(input: Tensor) -> Tensor:
    """The tensor if its elements lie in row-major order, else a copy of which that is true."""
    return input if input._flat is not None else contiguous_op(input)


def convert(input: Tensor, kind: dtype) -> Tensor:
    """The tensor if it has this dtype, else a converted copy."""
    return input if input.dtype is kind else to_type(input, tensor_type(kind, input.device))


def to(input: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Tensor:
    """The tensor with another dtype or device (given as such, or as another tensor's); itself if nothing changes."""
    for argument in args:
        if isinstance(argument, Tensor):
            dtype, device = argument.dtype, argument.device
        elif isinstance(argument, str) or hasattr(argument, "index"):
            device = argument
        else:
            dtype = argument
    to_device(device)
    result = input if dtype is None else convert(input, to_dtype(dtype))
    return clone(input) if copy and result is input else result


public(clone)
public(contiguous, name="contiguous")
attach("to", to)


def _conversion(kind: dtype) -> Any:
    def method(self: Tensor) -> Tensor:
        return convert(self, kind)

    method.__doc__ = f"The tensor as {kind}."
    return method


for _name, _kind in {"float": float32, "double": float64, "long": int64, "bool": bool_}.items():
    attach(_name, _conversion(_kind))


def type_(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type, or the tensor converted to a dtype."""
    return self._type.name if dtype is None else convert(self, to_dtype(dtype))


def cpu(self: Tensor) -> Tensor:
    """The tensor in the CPU's memory, which is where it is."""
    return self


attach("type", type_)
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
    edges = (edge_of(input), edge_of(src)) if state.mode & GRAD else ()
    devices.run_pointwise(_copy_program(src.dtype, input.dtype), [src], [input])
    _overwritten(input, edges, CopyBackwards)
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
    if not isinstance(value, bool | int | float):
        raise TypeError(f"fill_(): argument 'value' must be a number or a 0-d tensor, not {type(value).__name__}")
    if not isinstance(value, float):
        if not -(2**63) <= value < 2**63:
            raise OverflowError(f"{value} is too large for a 64-bit integer")
        return value if isinstance(value, bool) else int(value)
    if kind is int64:
        fits = -(2.0**63) <= value < 2.0**63
    else:
        fits = kind is not float32 or not math.isfinite(value) or abs(value) <= _LARGEST_FLOAT32
    if not fits:
        raise RuntimeError(f"value {value} cannot be converted to type {kind.name} without overflow")
    return float(value)


def zero_(input: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    return _filled(input, 0, ZeroBackward0)


def _filled(input: Tensor, value: Any, node: type[Node]) -> Tensor:
    check_writable(input)  # elements may share memory: they get the same value
    edges = (edge_of(input),) if state.mode & GRAD else ()
    devices.run_pointwise(_fill_program(value.__class__, input.dtype), [value], [input])
    _overwritten(input, edges, node)
    return input


def _overwritten(input: Tensor, edges: tuple[Any, ...], node: type[Node]) -> None:
    input._counter[0] += 1
    if any(edges) and input.is_floating_point():
        record_inplace(input, node(edges, input._shape, input._type))


for _function in (copy_, fill_, zero_):
    attach(_function.__name__, _function)
