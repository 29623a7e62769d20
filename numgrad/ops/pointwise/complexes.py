"""Complex numbers: parts, conjugates, magnitudes and angles."""

from __future__ import annotations

import functools
from typing import Any

from numgrad_kernels import scalar

from ... import devices
from ...core.layout import Layout, broadcast_shapes, layout_of
from ...core.types import complex_of, real_of, tensor_type
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.physical import aligned
from ..memory.copying import clone, contiguous, filled_of
from ..memory.overwriting import copy_
from ..reductions.axes import Prepared
from ..shapes.parts import select_op
from ..shapes.views import grad_view
from ..table.checks import check
from ..table.declaring import pointwise
from ..table.lookup import operation
from ..table.op import attach, parameters, public
from .arithmetic import conj, mul
from .comparison import eq, ne, where


@operation("ViewAsRealBackward0", public=True, view=True, dims=(), method=False)
def view_as_real_op(input: Layout) -> Prepared:
    """The real and imaginary parts of a complex tensor as a last dimension of size 2, on the same memory.

    Raises:
        RuntimeError: the tensor is not complex.

    Example:
        >>> import numgrad
        >>> numgrad.view_as_real(numgrad.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """
    dtype = input.type.dtype
    check(dtype.is_complex, "view_as_real is only supported for complex tensors, not {} {}", dtype, input)
    type = tensor_type(real_of(input.type.dtype), input.type.device)
    out = layout_of(type, (*input.shape, 2), (*[2 * step for step in input.strides], 1))
    return out, lambda tensor: (tensor._storage.view(type.numpy), 2 * tensor._offset)


@view_as_real_op.gradient("input")
def _(grad):
    """``view_as_complex(grad)``."""
    pairs = contiguous(grad)
    return grad_view(view_as_complex_op, clone(pairs) if pairs._offset % 2 else pairs)


@operation("ViewAsComplexBackward0", public=True, view=True, dims=(), method=False)
def view_as_complex_op(input: Layout) -> Prepared:
    """Pairs of real numbers, in a last dimension of size 2, as complex numbers on the same memory.

    Raises:
        RuntimeError: the last dimension has another size, or a stride or the offset does not fit pairs.
    """
    dtype = input.type.dtype
    check(
        dtype.is_floating_point,
        "view_as_complex is only supported for floating point tensors, but got a tensor of {}", dtype, input,
    )
    check(input.shape, "Input tensor must have one or more dimensions")
    check(input.shape[-1] == 2, "Tensor must have a last dimension of size 2, not shape {}", input)
    check(input.strides[-1] == 1, "Tensor must have a last dimension with stride 1, not strides {}", input.strides)
    if any(step % 2 for step in input.strides[:-1]):
        raise RuntimeError(
            f"Tensor must have a stride divisible by 2 for all but last dimension, not strides {list(input.strides)}"
        )
    type = tensor_type(complex_of(input.type.dtype), input.type.device)
    steps = input.strides[:-1]

    def pairs(tensor: Tensor) -> tuple[Any, int]:
        if tensor._offset % 2:
            raise RuntimeError(f"Tensor must have a storage_offset divisible by 2, not {tensor._offset}")
        row = tensor._storage
        return (row[:-1] if row.size % 2 else row).view(type.numpy), tensor._offset // 2

    return layout_of(type, input.shape[:-1], tuple([step // 2 for step in steps])), pairs


@view_as_complex_op.gradient("input")
def _(grad):
    return grad_view(view_as_real_op, grad)


def _part(input: Tensor, part: int) -> Tensor:
    return select_op(view_as_real_op(input), len(input._layout.shape), part)


@public(method=False)
def real(input: Tensor) -> Tensor:
    """The real parts, on the same memory; a real tensor is returned as it is."""
    return _part(input, 0) if input.is_complex() else input


@public(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, on the same memory.

    Raises:
        RuntimeError: the tensor is not complex.
    """
    check(input.is_complex(), "imag is not implemented for tensors with non-complex dtypes: {} {}", input.dtype, input)
    return _part(input, 1)


def _set_real(self: Tensor, value: Any) -> None:
    copy_(real(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    copy_(imag(self), value)


def _of_parts(p: Plan, first: TensorRef, second: TensorRef, real: Any, imag: Any) -> TensorRef:
    """Add the steps that make complex numbers with parts computed by scalar functions."""
    dtype, other = first.type.dtype, second.type.dtype
    check(
        dtype.is_floating_point and other.is_floating_point,
        "Expected both inputs to be Half, Float or Double tensors but got {} and {}", dtype.legacy, other.legacy,
    )
    check(
        dtype is other,
        "Expected object of scalar type {} but got scalar type {} for second argument", dtype.legacy, other.legacy,
    )
    shape = broadcast_shapes(first.shape, second.shape)
    out = p.new_tensor(layout_of(tensor_type(complex_of(dtype), first.type.device), shape))
    part = layout_of(first.type, shape, tuple([2 * step for step in out.layout.strides]))
    program = _program(first.type.numpy, real, imag)
    operands = first, second, out.viewed(part), out.viewed(part, 1)
    p.run_over(program, operands, [operand.layout for operand in operands], False)
    return out


@functools.cache
def _program(dtype: Any, real: Any, imag: Any) -> devices.PointwiseProgram:
    operands = tuple([devices.Operand(name, dtype) for name in parameters(imag)])
    outputs = ("real_part", dtype), ("imag_part", dtype)
    return devices.PointwiseProgram("complex_parts", dtype, operands, outputs, (real, imag))


def _real_given(real, imag):
    return real


def _imag_given(real, imag):
    return imag


@operation("ComplexBackward0", public=True, inputs=["real", "imag"], method=False)
def complex_op(p: Plan, real: TensorRef, imag: TensorRef) -> TensorRef:
    """Complex numbers with real and imaginary parts of one floating-point dtype, which broadcast.

    Raises:
        RuntimeError: the dtypes differ, or are not floating-point ones.

    Example:
        >>> import numgrad
        >>> numgrad.complex(numgrad.tensor([1.0]), numgrad.tensor([2.0]))
        tensor([1.+2.j])
    """
    return _of_parts(p, real, imag, _real_given, _imag_given)


def _of_examples(op: Any, *parts: Tensor) -> Tensor:
    """Return the result of ``complex`` or ``polar`` under ``vmap``."""
    rank = max([len(part._layout.shape) for part in parts])
    return op(*[aligned(tensor, rank) for tensor in parts])


@complex_op.gradient("real")
def _(grad):
    return real(grad)


@complex_op.gradient("imag")
def _(grad):
    return imag(grad)


def _cosine_part(abs, angle):
    return abs * scalar.cos(angle)


def _sine_part(abs, angle):
    return abs * scalar.sin(angle)


@operation("PolarBackward0", public=True, inputs=["abs", "angle"], method=False)
def polar_op(p: Plan, abs: TensorRef, angle: TensorRef) -> TensorRef:
    """Complex numbers with a given magnitude and angle, ``abs * cos(angle) + abs * sin(angle) * 1j``.

    Raises:
        RuntimeError: the dtypes differ, or are not floating-point ones.
    """
    return _of_parts(p, abs, angle, _cosine_part, _sine_part)


@polar_op.gradient("abs")
def _(grad, angle):
    """``real(conj(grad) * polar(1, angle))``."""
    return real(mul(conj(grad), polar_op(filled_of((), 1, angle._layout.type), angle)))


@polar_op.gradient("angle")
def _(grad, out):
    return real(mul(conj(grad), mul(out, 1j)))


for _op in (complex_op, polar_op):
    _op.batched(functools.partial(_of_examples, _op))


@pointwise("AngleBackward0", real=True, dtypes="c", export=False, inplace=False)
def angle_complex(input):
    """The angle in the plane, from -pi to pi."""
    return scalar.angle(input)


@angle_complex.gradient("input")
def _(grad, input):
    # The input rotated by 90 degrees, divided by its squared magnitude.
    return where(input == 0, 0, grad * 1j) / where(input == 0, 1, conj(input))


@pointwise(
    "AngleBackward0", result="float", real=True, dtypes="bifc", inplace=False, complex=angle_complex, constant=["input"]
)
def angle(input):
    """The angle of a complex number in the plane, from -pi to pi; for a real one 0, or pi if it is negative.

    Example:
        >>> import numgrad
        >>> numgrad.angle(numgrad.tensor([1j, -1 + 0j]))
        tensor([1.5708, 3.1416])
    """
    return scalar.angle(input)


@public
def isreal(input: Tensor) -> Tensor:
    """True for each element with an imaginary part of 0.

    Example:
        >>> import numgrad
        >>> numgrad.isreal(numgrad.tensor([1 + 0j, 1j]))
        tensor([ True, False])
    """
    return eq(imag(input), 0) if input.is_complex() else eq(input, input) | ne(input, input)


@public
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed eagerly, not when they are read."""
    return input


@public
def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed eagerly, not when they are read."""
    return False


@public
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negations are computed eagerly, not when they are read."""
    return input


@public
def is_neg(input: Tensor) -> bool:
    """False: negations are computed eagerly, not when they are read."""
    return False


attach("real", property(real, _set_real))
attach("imag", property(imag, _set_imag))
