"""What a pointwise call comes to, found out once for operands of these types and layouts.

The types decide what to compute in, the shapes that of the result, the strides how its elements lie and which loops
run.  None of it depends on the elements, and programs make the same calls again and again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import devices
from .._layout import broadcast_shapes, contiguous_strides, output_strides
from .._tensor import Tensor, fresh, strided
from .._types import TensorType, device, tensor_type

if TYPE_CHECKING:
    from .elementwise import Pointwise
    from .plan import Plan

__all__ = ["Call", "Calls", "common_device", "common_shape", "kind_of", "layout_key", "new_strides", "number_places"]


class Call:
    """One call of an operation, as far as types and layouts decide.

    Attributes:
        compute: what is computed in.
        shape: that of the result.
        kind: the dtype of the result.
        plans: how gradients are computed, by the inputs that need one.
    """

    __slots__ = ("compute", "kind", "launch", "numbers", "plans", "shape", "statics", "strides", "type")

    def __init__(self, op: Pointwise, operands: Sequence[Any], statics: Mapping[str, Any]):
        tensors = [value for value in operands if isinstance(value, Tensor)]
        self.compute, self.kind = op.compute_types(operands)
        self.shape = common_shape(tensors)
        self.type = tensor_type(self.kind, common_device(tensors))
        self.strides = new_strides(tensors, self.shape)
        self.numbers = number_places(operands, self.shape, self.type)
        values = self._values(operands)
        program = op.program(values, statics, self.compute, self.kind)
        self.statics = tuple([i.name for i in program.arguments if i.name in op.statics])
        layouts = [(v._layout.shape, None if v._layout.row_major else v._layout.strides) if isinstance(v, Tensor) else None for v in values]
        layouts += [None] * len(self.statics)
        self.launch = devices.layout_launcher(program, self.shape, layouts, [self.strides], self.type)
        self.plans: dict[tuple[bool, ...], Plan] = {}

    def _values(self, operands: Sequence[Any]) -> Sequence[Any]:
        if not self.numbers:
            return operands
        return [devices.as_number(v) if n in self.numbers else v for n, v in enumerate(operands)]

    def result(self, operands: Sequence[Any], statics: Mapping[str, Any]) -> Tensor:
        """The result of the call, in a new tensor."""
        values = self._values(operands)
        if self.statics:
            values = [*values, *[statics[name] for name in self.statics]]
        (row,) = self.launch(values)
        if self.strides is None:
            return fresh(row, self.shape, self.type)
        return strided(row, self.shape, self.strides, 0, self.type)


class Calls(dict[Any, Any]):
    """What is known by layout: the oldest is forgotten, since programs may go through ever new shapes."""

    LIMIT = 256

    def remember(self, key: Any, value: Any) -> Any:
        """Keep a value, and return it."""
        with _remembering:
            if len(self) >= self.LIMIT:
                del self[next(iter(self))]
            self[key] = value
        return value


_remembering = threading.Lock()


def layout_key(operands: Sequence[Any]) -> tuple[Any, ...] | None:
    """What distinguishes calls: types, shapes and strides; None if an operand is neither tensor nor number."""
    key: list[Any] = []
    for value in operands:
        if isinstance(value, Tensor):
            key.append(value._layout)
        elif value.__class__ in devices.NUMBERS:
            key.append(value.__class__)
        else:
            return None
    return tuple(key)


def common_shape(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape that tensors are broadcast to."""
    shape = tensors[0]._layout.shape
    for tensor in tensors:
        if tensor._layout.shape is not shape and tensor._layout.shape != shape:
            return broadcast_shapes(*[tensor._layout.shape for tensor in tensors])
    return shape


def new_strides(tensors: Sequence[Tensor], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides that PyTorch would give a new tensor computed from these, None for row-major."""
    for tensor in tensors:
        if tensor._flat is None or (tensor._layout.shape and tensor._layout.shape != shape):
            break
    else:
        return None
    strides = output_strides(shape, tuple([(t._layout.shape, t._layout.strides) for t in tensors]))
    return None if strides == contiguous_strides(shape) else strides


def common_device(tensors: Sequence[Tensor]) -> device:
    """The device that pointwise operations on these tensors run on: 0-d tensors of the CPU may stand beside others.

    Raises:
        RuntimeError: they are on several.
    """
    place = tensors[0]._layout.type.device
    for tensor in tensors:
        other = tensor._layout.type.device
        if other is not place and other != place:
            if place.type == "cpu" and not any(t._layout.shape for t in tensors if t._layout.type.device.type == "cpu"):
                place = other
            elif other.type != "cpu" or tensor._layout.shape:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {other} and "
                    f"{place}!" if place.type == "cpu" else
                    f"Expected all tensors to be on the same device, but found at least two devices, {place} and "
                    f"{other}!"
                )
    return place


def number_places(operands: Sequence[Any], shape: tuple[int, ...], type: TensorType) -> frozenset[int]:
    """The tensors that repeat one value, which a device may like to have as a number, and 0-d ones of the CPU beside
    others."""
    places = [
        place
        for place, value in enumerate(operands)
        if isinstance(value, Tensor)
        and (value._flat is None or value._layout.shape != shape or value._layout.type.device != type.device)
        and value._layout.size
        and devices.as_number(value) is not None
    ]
    return frozenset(places)


def kind_of(value: Any) -> Any:
    """What distinguishes kernels: an array's dtype, or the Python type of a number passed at run time."""
    return value._layout.type.numpy if isinstance(value, Tensor) else value.__class__
