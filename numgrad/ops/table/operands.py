"""Operands of operations: tensors and numbers, their layouts, checks of them, and kernels that take them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ... import devices
from ...core.device import CPU
from ...core.layout import Layout, broadcast_shapes, layout_of, output_strides, span
from ...core.types import bfloat16, device, dtype
from ...devices import NUMBERS, Given, Plan, TensorRef
from ...tensors.tensor import Tensor, check_in_place, check_one_device
from ..batching.batches import is_mapped
from .arguments import wrong_kind
from .op import Op, parameters, public_functions
from .promotion import check_fits, plain_number


def operand(name: str, type: Any, cast: bool) -> devices.Operand:
    """Return the description of a kernel's input."""
    if isinstance(type, np.dtype):
        return devices.Operand(name, type, cast=cast)
    return devices.Operand(name, np.dtype(type), scalar=True, cast=cast)


def given_of(operands: Iterable[Any]) -> list[Any]:
    """Return the properties of operands that do not depend on values: layouts of tensors, classes of numbers."""
    return [value.__class__ if value.__class__ in NUMBERS else value._layout for value in operands]


def new_layout(kinds: Sequence[Any], shape: tuple[int, ...], type: Any) -> Layout:
    """Return the layout that PyTorch gives a new tensor computed from operands of these layouts, or numbers."""
    layouts = [value for value in kinds if value.__class__ is Layout]
    first = layouts[0]
    whole = first.row_major and first.shape == shape
    if whole and first.type is type and all(operand is first or not operand.shape for operand in layouts):
        return first
    whole = whole and 1 not in shape and 0 not in shape
    # If an operand is broadcast, even a number combined with a tensor, dimensions of size 1 keep their positions.
    spread = len(kinds) == 2 and len(layouts) == 1
    if whole or (not spread and all(operand.contiguous and operand.shape == shape for operand in layouts)):
        return layout_of(type, shape)
    return layout_of(type, shape, output_strides(shape, tuple([(layout.shape, layout.strides) for layout in layouts])))


def common_shape(kinds: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape that tensors of these layouts are broadcast to."""
    shapes = [kind.shape for kind in kinds if kind.__class__ is Layout]
    first = shapes[0]
    return first if all(shape == first for shape in shapes) else broadcast_shapes(*shapes)


def common_device(kinds: Sequence[Any], into: Layout | None = None) -> device:
    """Return the device of a pointwise operation on tensors of these layouts, and of its target ``into``.

    0-d tensors on the CPU may be combined with tensors on any device.

    Raises:
        RuntimeError: if the tensors are on several devices.
    """
    layouts = [value for value in kinds if value.__class__ is Layout]
    bound = [layout for layout in layouts if layout.shape or layout.type.device is not CPU] or layouts
    check_one_device(*bound, into)
    return bound[0].type.device


def kinds_passed(kinds: Sequence[Any], out: Layout) -> tuple[Any, ...]:
    """Return the kinds of operands that a program distinguishes: the dtype of an array, or the class of a number.

    On the CPU, a tensor that repeats one value is passed as a number, and so are 0-d tensors combined with others.
    """
    return tuple([value if value.__class__ is not Layout else _kind_passed(value, out) for value in kinds])


def _kind_passed(layout: Layout, out: Layout) -> Any:
    type = layout.type
    if any(layout.strides) or type.device.type != "cpu" or not layout.size:
        return type.numpy
    plain = layout.contiguous and layout.shape == out.shape and type.device is out.type.device
    if type.dtype is bfloat16 and type.device is out.type.device:  # NumPy has no bfloat16
        return type.numpy
    return type.numpy if plain else NUMBERS_OF[type.dtype.kind]


#: Classes of the numbers that are read from tensors.
NUMBERS_OF = {"b": bool, "i": int, "f": float, "c": complex}


def attribute_number(op: Op, name: str, value: Any) -> bool | int | float | complex:
    """Return an attribute as a Python number; it may be a number of Python or NumPy, or a 0-d tensor.

    Raises:
        TypeError: if it is not a number.
    """
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and not value._layout.shape):
        value = value.item()
    if isinstance(value, bool | int | float | complex):
        return plain_number(value)
    raise TypeError(f"{op.name}(): argument '{name}' must be a number, not {type(value).__name__}")


def operand_of(op: Op, name: str, value: Any) -> Any:
    """Return an operand as a tensor or a Python number.

    Raises:
        TypeError: if it is neither, nor a NumPy array or number.
    """
    if isinstance(value, Tensor) or value.__class__ in NUMBERS:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return public_functions["from_numpy"](value)
    if isinstance(value, int | float | complex):
        return plain_number(value)
    raise no_operand(op, name, value, Tensor | Number)


def no_operand(op: Op, name: str, value: Any, annotation: Any) -> TypeError:
    return wrong_kind(op.name.removesuffix("_op"), name, op.inputs.index(name) + 1, annotation, value)


def check_real(attributes: Mapping[str, Any]) -> None:
    """Raise if an attribute is complex; the operands are real."""
    for name, value in attributes.items():
        if isinstance(value, complex):
            raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def check_attributes(numbers: Iterable[tuple[str, Any]], compute: dtype) -> None:
    """Raise if an attribute would be truncated, or wrap around, to become an integer."""
    for name, value in numbers:
        if isinstance(value, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        check_fits(value, compute)


def check_target(target: Tensor, operands: Sequence[Any]) -> None:
    """Raise unless ``target`` may be overwritten with a result computed from these operands."""
    tensors = [value for value in operands if isinstance(value, Tensor)]
    check_in_place(target, *tensors)
    for value in tensors:
        check_overlap(target, value)


def overlaps(target: Tensor, source: Tensor) -> bool:
    """Return True if two tensors share part of their memory without being the same elements in the same order."""
    if target._storage is not source._storage or source is target:
        return False
    same = (target._offset, target._layout.shape, target._layout.strides) == (
        source._offset, source._layout.shape, source._layout.strides,
    )
    return not same and _share(target, source)


def check_overlap(target: Tensor, source: Tensor) -> None:
    """Raise if writing to ``target`` would change elements of ``source`` before they are read.

    Raises:
        RuntimeError: if the two share part of their memory without being the same elements.
    """
    if overlaps(target, source):
        raise overlapping(target, source)


def check_apart(target: Tensor, *sources: Tensor) -> None:
    """Raise if an element of a source lies in the target's memory, unless under ``vmap``, which reads everything first.

    Raises:
        RuntimeError: if one does.
    """
    for source in sources:
        if source._storage is target._storage and not is_mapped(target) and _share(target, source):
            raise overlapping(target, source)


def _share(target: Tensor, source: Tensor) -> bool:
    """Return True if two tensors on the same storage have elements in common."""
    low, high = _extent(target)
    start, stop = _extent(source)
    return low < stop and start < high and target._layout.type.backend.share_elements(target, source)


def _extent(tensor: Tensor) -> tuple[int, int]:
    """Return the range of storage that contains a tensor's elements."""
    return tensor._offset, tensor._offset + span(tensor._layout.shape, tensor._layout.strides)


def overlapping(target: Tensor, source: Tensor) -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        f"memory location (shapes {list(source.shape)} and {list(target.shape)}). Please clone() the tensor "
        "before performing the operation."
    )


def fused(
    p: Plan, name: str, function: Callable[..., Any], operands: Sequence[Any], out: Layout, compute: Any = None,
    passed: Sequence[float] = (), into: TensorRef | None = None,
) -> TensorRef:
    """Add a pointwise step to a plan: a function of scalars fills a new tensor of the layout ``out``, or ``into``.

    ``operands`` are the arguments for the parameters of the function: tensors of the plan, numbers that come with the
    call, and floats that are written into the kernel.  The last parameters take the numbers ``passed``, which vary
    while the kernel is the same.  The computation is in the NumPy dtype ``compute``, by default that of ``out``.
    """
    types = tuple([
        a.type.numpy if a.__class__ is TensorRef else a.kind if a.__class__ is Given else a for a in operands
    ]) + (float,) * len(passed)
    result = into or p.new_tensor(out)
    chosen = compute or out.type.dtype.compute.numpy
    program = _program(name + function.__name__, function, chosen, types, out.type.numpy)
    p.pointwise(program, [*[a for a in operands if not isinstance(a, float)], *passed], result)
    return result


@functools.cache
def _program(
    name: str, function: Callable[..., Any], compute: Any, types: tuple[Any, ...], out: Any
) -> devices.PointwiseProgram:
    operands = tuple([
        devices.Operand(name, constant=type) if isinstance(type, float) else operand(name, type, True)
        for name, type in zip(parameters(function), types, strict=True)
    ])
    return devices.PointwiseProgram(name, compute, operands, (("out", out),), (function,))
