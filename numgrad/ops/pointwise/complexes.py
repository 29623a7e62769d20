"""Complex numbers: their parts, conjugates, magnitudes and angles."""

from __future__ import annotations

from typing import Any

from numgrad_kernels import scalar

from ..._layout import broadcast_shapes
from ..._tensor import Tensor, strided
from ..._types import complex_of, real_of, tensor_type
from ..arguments import checked
from ..copying import clone, contiguous, write
from ..elementwise import pointwise
from ..new import empty_of, filled_of
from ..overwriting import copy_
from ..shapes.parts import select_op
from ..shapes.views import passed_on
from ..table import attach, check_tensors, operation, public
from .arithmetic import conj, mul
from .comparison import eq, ne, where
from .trigonometric import cos, sin

__all__ = ["angle", "complex", "imag", "polar", "real", "view_as_complex", "view_as_real"]


@operation("ViewAsRealBackward0", view=True, dims=())
def view_as_real_op(input: Tensor) -> Tensor:
    kind = tensor_type(real_of(input.dtype), input.device)
    strides = (*[2 * step for step in input._layout.strides], 1)
    return strided(input._storage.view(kind.numpy), (*input._layout.shape, 2), strides, 2 * input._offset, kind)


@view_as_real_op.gradient("input")
def _(grad):
    """``view_as_complex(grad)``."""
    pairs = contiguous(grad)
    return passed_on(view_as_complex_op, clone(pairs) if pairs._offset % 2 else pairs)


@operation("ViewAsComplexBackward0", view=True, dims=())
def view_as_complex_op(input: Tensor) -> Tensor:
    kind = tensor_type(complex_of(input.dtype), input.device)
    steps = tuple([step // 2 for step in input._layout.strides[:-1]])
    row = input._storage[input._offset % 2 :]
    return strided(row[: len(row) // 2 * 2].view(kind.numpy), input._layout.shape[:-1], steps, input._offset // 2, kind)


@view_as_complex_op.gradient("input")
def _(grad):
    return passed_on(view_as_real_op, grad)


@checked
def view_as_real(input: Tensor) -> Tensor:
    """The real and imaginary parts of a complex tensor as a last dimension of size 2, on the same memory.

    Raises:
        RuntimeError: the tensor is not complex.
    """
    if not input.is_complex():
        raise RuntimeError(
            f"view_as_real is only supported for complex tensors, not {input.dtype} {list(input.shape)}"
        )
    return view_as_real_op(input)


@checked
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers, in a last dimension of size 2, as complex numbers on the same memory.

    Raises:
        RuntimeError: the last dimension has another size, or the pairs do not lie evenly in memory.
    """
    if not input.is_floating_point():
        raise RuntimeError(
            f"view_as_complex is only supported for floating point tensors, but got a tensor of {input.dtype} "
            f"(shape {list(input.shape)})"
        )
    if not input._layout.shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input._layout.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, not shape {list(input.shape)}")
    *steps, last = input._layout.strides
    if last != 1:
        raise RuntimeError(f"Tensor must have a last dimension with stride 1, not strides {list(input.stride())}")
    if any(step % 2 for step in steps) or input._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset and strides divisible by 2 except for last dimension")
    return view_as_complex_op(input)


def _part(input: Tensor, place: int) -> Tensor:
    return select_op(view_as_real_op(input), len(input._layout.shape), place)


def real(input: Tensor) -> Tensor:
    """The real parts, on the same memory; of a real tensor the tensor itself."""
    return _part(input, 0) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, on the same memory.

    Raises:
        RuntimeError: the tensor is not complex.
    """
    if not input.is_complex():
        raise RuntimeError(
            f"imag is not implemented for tensors with non-complex dtypes: {input.dtype} {list(input.shape)}"
        )
    return _part(input, 1)


def _set_real(self: Tensor, value: Any) -> None:
    copy_(real(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    copy_(imag(self), value)


@operation("ComplexBackward0", inputs=["real", "imag"])
def complex_op(real: Tensor, imag: Tensor, shape: tuple[int, ...]) -> Tensor:
    kind = tensor_type(complex_of(real.dtype), real.device)
    out = empty_of(shape, kind)
    pairs = view_as_real_op.function(out)
    for place, part in enumerate((real, imag)):
        write(select_op.function(pairs, len(shape), place), part)
    return out


@complex_op.gradient("real")
def _(grad):
    return real(grad)


@complex_op.gradient("imag")
def _(grad):
    return imag(grad)


def _check_parts(name: str, real: Tensor, imag: Tensor) -> None:
    check_tensors(name, real=real, imag=imag)
    if not (real.is_floating_point() and imag.is_floating_point()):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{real.dtype.legacy} and {imag.dtype.legacy}"
        )
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype.legacy} but got scalar type {imag.dtype.legacy} for second "
            "argument"
        )


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their real and imaginary parts, which have one floating-point dtype and broadcast.

    Raises:
        RuntimeError: the dtypes differ, or are not floating-point ones.
    """
    _check_parts("complex", real, imag)
    shape = broadcast_shapes(real._layout.shape, imag._layout.shape)
    return complex_op(real, imag, shape)


@operation("PolarBackward0", inputs=["abs", "angle"])
def polar_op(abs: Tensor, angle: Tensor) -> Tensor:
    return complex(mul(abs, cos(angle)), mul(abs, sin(angle)))


@polar_op.gradient("abs")
def _(grad, angle):
    """``real(conj(grad) * polar(1, angle))``."""
    return real(mul(conj(grad), polar_op(filled_of((), 1, angle._layout.type), angle)))


@polar_op.gradient("angle")
def _(grad, out):
    return real(mul(conj(grad), mul(out, 1j)))


@checked
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of this magnitude and angle, ``abs * cos(angle) + abs * sin(angle) * 1j``.

    Raises:
        RuntimeError: the dtypes differ, or are not floating-point ones.
    """
    _check_parts("polar", abs, angle)
    return polar_op(abs, angle)


@pointwise("AngleBackward0", real=True, dtypes="c", export=False, inplace=False)
def angle_complex(input):
    """The angle in the plane, from -pi to pi."""
    return scalar.angle(input)


@angle_complex.gradient("input")
def _(grad, input):
    # The input turned by 90 degrees, over its squared magnitude.
    return where(input == 0, 0, grad * 1j) / where(input == 0, 1, conj(input))


@pointwise("AngleBackward0", result="float", real=True, dtypes="bifc", inplace=False, complex=angle_complex)
def angle(input):
    """The angle of a complex number in the plane, from -pi to pi; of a real one 0, or pi if it is negative."""
    return scalar.angle(input)


@angle.gradient("input")
def _(grad):
    return 0


def isreal(input: Tensor) -> Tensor:
    """For each element whether its imaginary part is 0."""
    return eq(imag(input), 0) if input.is_complex() else eq(input, input) | ne(input, input)


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once, not when they are read."""
    return input


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed at once, not when they are read."""
    return False


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: what is negated is computed at once, not when it is read."""
    return input


def is_neg(input: Tensor) -> bool:
    """False: what is negated is computed at once, not when it is read."""
    return False


public(checked(real), method=False)
public(checked(imag), method=False)
public(complex, method=False)
public(polar, method=False)
for _function in (view_as_real, view_as_complex):
    public(_function, method=False)
public(isreal)
public(resolve_conj)
public(is_conj)
public(resolve_neg)
public(is_neg)
attach("real", property(real, _set_real))
attach("imag", property(imag, _set_imag))
