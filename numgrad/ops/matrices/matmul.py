"""Matrix products, computed by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import devices
from ..._layout import broadcast_shapes, numel
from ..._tensor import Tensor, fresh
from ...autograd.grad_mode import GRAD, TRACED, state
from ..copying import contiguous
from ..one_device import check_one_device
from ..pointwise.arithmetic import conj, mul
from ..shapes.views import (
    expand_op,
    passed_on,
    reshape,
    squeeze_dim,
    squeeze_result,
    t_op,
    transpose_op,
    unsafe_view,
    unsqueeze,
    unsqueeze_op,
)
from ..table import attach, check_tensors, operation, public, public_functions
from .checks import check_matrices, check_stacks, fit, refuse_bools, scalar_name, shapes_text

__all__ = [
    "bmm", "bmm_op", "by_columns", "dot", "left_gradient", "matmul", "mm", "mm_op", "mv", "mv_op", "outer_product",
    "product_of", "right_gradient", "times",
]

# -- products -----------------------------------------------------------------------------------------------------


def by_columns(matrix: Tensor) -> bool:
    """Whether the elements lie column by column, so that the gradient should, too."""
    strides = matrix._layout.strides
    return strides is not None and strides[0] == 1 and strides[1] == matrix._layout.shape[0]


def times(tensor: Tensor, number: Any) -> Tensor:
    """The tensor times a number, without computing anything for 1."""
    return tensor if number == 1 else mul(tensor, number)


@operation("MmBackward0", inputs=["input", "mat2"], linear=True)
def mm_op(input: Tensor, mat2: Tensor, columns: tuple[bool, bool]) -> Tensor:
    """``columns`` says of which operands the elements lie column by column."""
    shape = input._layout.shape[0], mat2._layout.shape[1]
    return fresh(devices.matrix_product(input, mat2), shape, input._layout.type)


@mm_op.gradient("input")
def _(grad, mat2, columns):
    """``grad @ t(conj(mat2))``."""
    return left_gradient(grad, mat2, columns[0])


@mm_op.gradient("mat2")
def _(grad, input, columns):
    """``t(conj(input)) @ grad``."""
    return right_gradient(grad, input, columns[1])


def product_of(left: Tensor, right: Tensor) -> Tensor:
    """The product of two matrices that are known to fit."""
    return mm_op(left, right, (by_columns(left), by_columns(right)))


def left_gradient(grad: Tensor, mat2: Tensor, columns: bool) -> Tensor:
    """The gradient of a product's first factor, which lies column by column or not: ``grad @ mat2.mH``."""
    other = conj(mat2)
    if columns:
        return passed_on(t_op, _turned_product(other, False, grad, True))
    return _turned_product(grad, False, other, True)


def right_gradient(grad: Tensor, mat1: Tensor, columns: bool) -> Tensor:
    """The gradient of a product's second factor, which lies column by column or not: ``mat1.mH @ grad``."""
    other = conj(mat1)
    if columns:
        return passed_on(t_op, _turned_product(grad, True, other, False))
    return _turned_product(other, True, grad, False)


def _turned_product(left: Tensor, turn_left: bool, right: Tensor, turn_right: bool) -> Tensor:
    """The product of two matrices, or two stacks of them, of which one factor or both are transposed first."""
    stack = left._layout.shape[:-2]
    if state.mode & TRACED:
        turned, product = (_turned_stack, bmm_op) if stack else (t_op, product_of)
        return product(turned(left) if turn_left else left, turned(right) if turn_right else right)
    shape = (*stack, left._layout.shape[-1 if turn_left else -2], right._layout.shape[-2 if turn_right else -1])
    return fresh(devices.matrix_product(left, right, (turn_left, turn_right)), shape, left._layout.type)


def _turned_stack(stack: Tensor) -> Tensor:
    return transpose_op(stack, 1, 2)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of an (n, k) and a (k, m) matrix, of shape (n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    if not fit(input, mat2, 2):
        check_tensors("mm", input=input, mat2=mat2)
        check_matrices(input, mat2)
        if input._layout.type is not mat2._layout.type:
            check_one_device(input, mat2)
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {scalar_name(input.dtype)} != "
                f"{scalar_name(mat2.dtype)} {shapes_text(input, mat2)}"
            )
        refuse_bools("addmm_impl_cpu_", input, mat2)
    return product_of(input, mat2)


@operation("MvBackward0", inputs=["input", "vec"], linear=True)
def mv_op(input: Tensor, vec: Tensor) -> Tensor:
    shape = input._layout.shape[:1]
    return fresh(devices.product(input, vec, shape), shape, input._layout.type)


@mv_op.gradient("input")
def _(grad, vec):
    return outer_product(grad, conj(vec))


@mv_op.gradient("vec")
def _(grad, input):
    return mv_op(passed_on(t_op, conj(input)), grad)


def outer_product(left: Tensor, right: Tensor) -> Tensor:
    """The matrix of the products of two vectors' elements."""
    return mul(passed_on(unsqueeze_op, left, 1), passed_on(unsqueeze_op, right, 0))


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of an (n, k) matrix and a vector of k elements, of shape (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.
    """
    check_tensors("mv", input=input, vec=vec)
    matrix, vector = input._layout, vec._layout
    if (len(matrix.shape), len(vector.shape)) != (2, 1):
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {input.dim()}, {vec.dim()} "
            f"{shapes_text(input, vec)}"
        )
    if matrix.shape[1] != vector.shape[0]:
        (n, k), (j,) = matrix.shape, vector.shape
        raise RuntimeError(f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({j})")
    if matrix.type is not vector.type:
        check_one_device(input, vec)
        kinds = vec.dtype.legacy, input.dtype.legacy, vec.dtype.legacy
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[2]} "
            f"{shapes_text(input, vec)}"
        )
    refuse_bools("addmv_impl_cpu", input, vec)
    return mv_op(input, vec)


@operation("DotBackward0", inputs=["input", "tensor"], linear=True)
def dot_op(input: Tensor, tensor: Tensor) -> Tensor:
    return fresh(devices.product(input, tensor, ()), (), input._layout.type)


@dot_op.gradient("input")
def _(grad, tensor):
    return mul(grad, conj(tensor))


@dot_op.gradient("tensor")
def _(grad, input):
    return mul(grad, conj(input))


@operation("VdotBackward0", inputs=["input", "other"], linear=True)
def vdot_op(input: Tensor, other: Tensor) -> Tensor:
    return fresh(devices.product(conj(input), other, ()), (), input._layout.type)


@vdot_op.gradient("input")
def _(grad, other):
    return mul(conj(grad), other)


@vdot_op.gradient("other")
def _(grad, input):
    return mul(grad, input)


def _check_vectors(name: str, left: Tensor, right: Tensor) -> None:
    first, second = left._layout, right._layout
    if (len(first.shape), len(second.shape)) != (1, 1):
        raise RuntimeError(
            f"1D tensors expected, but got {left.dim()}D and {right.dim()}D tensors "
            f"{shapes_text(left, right)}"
        )
    if first.type is not second.type:
        check_one_device(left, right)
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {left.dtype.legacy} and {right.dtype.legacy} "
            f"{shapes_text(left, right)}"
        )
    if first.shape != second.shape:
        count, other = first.shape[0], second.shape[0]
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{count}] and src [{other}] to have the same number of "
            f"elements, but got {count} and {other} elements respectively"
        )
    refuse_bools(name, left, right)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of products of two vectors of one length.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the vectors are bool.
    """
    check_tensors("dot", input=input, tensor=tensor)
    _check_vectors("dot", input, tensor)
    return dot_op(input, tensor)


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """``dot`` with the first vector conjugated.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the vectors are bool.
    """
    check_tensors("vdot", input=input, other=other)
    _check_vectors("vdot", input, other)
    return vdot_op(input, other)


@operation("BmmBackward0", inputs=["input", "mat2"], linear=True)
def bmm_op(input: Tensor, mat2: Tensor) -> Tensor:
    shape = input._layout.shape[0], input._layout.shape[1], mat2._layout.shape[2]
    return fresh(devices.matrix_product(input, mat2), shape, input._layout.type)


@bmm_op.gradient("input")
def _(grad, mat2):
    """``grad @ transpose(conj(mat2), 1, 2)``."""
    return _turned_product(grad, False, conj(mat2), True)


@bmm_op.gradient("mat2")
def _(grad, input):
    """``transpose(conj(input), 1, 2) @ grad``."""
    return _turned_product(conj(input), True, grad, False)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of (b, n, k) and (b, k, m) matrices, of shape (b, n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    if not fit(input, mat2, 3):
        check_tensors("bmm", input=input, mat2=mat2)
        check_stacks(input, mat2)
        if input._layout.type is not mat2._layout.type:
            check_one_device(input, mat2)
            raise RuntimeError(
                f"expected scalar type {input.dtype.legacy} but found {mat2.dtype.legacy} {shapes_text(input, mat2)}"
            )
        refuse_bools("bmm", input, mat2)
    return bmm_op(input, mat2)


# -- matmul -------------------------------------------------------------------------------------------------------


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, by NumPy's rules: of vectors, matrices, and stacks of matrices that broadcast.

    Raises:
        RuntimeError: an operand is 0-d, the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.
    """
    check_tensors("matmul", input=input, other=other)
    left, right = len(input._layout.shape), len(other._layout.shape)
    if left == 2 and right == 2:
        return mm(input, other)
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D "
            f"{shapes_text(input, other)}"
        )
    if left == 1 and right == 1:
        return dot(input, other)
    if left == 2 and right == 1:
        return mv(input, other)
    if left == 1 and right == 2:
        return squeeze_result(mm(unsqueeze(input, 0), other), 0)
    if left <= 2 or right <= 2:
        return _folded(input, other) if _should_fold(input, other) else _batched(input, other)
    if left == right == 3 and input._layout.shape[0] != other._layout.shape[0]:
        # One matrix for a whole stack, repeated, would get a gradient as large as the stack.
        if input._layout.shape[0] == 1 and input.requires_grad:
            return matmul(squeeze_dim(input, 0), other)
        if other._layout.shape[0] == 1 and other.requires_grad:
            return matmul(input, squeeze_dim(other, 0))
    return _batched(input, other)


def _should_fold(input: Tensor, other: Tensor) -> bool:
    """Whether a stack times a matrix or vector is computed as one larger product.

    It is wherever the smaller operand gets a gradient, which is then summed in the product.
    """
    shape, strides = input._layout.shape, input._layout.strides
    if len(shape) < len(other._layout.shape):
        return input.requires_grad
    if other.requires_grad or 0 in shape:
        return True
    return all(strides[d] == strides[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(input: Tensor, other: Tensor) -> Tensor:
    """A stack of matrices times one matrix or vector, or the other way round: one larger product."""
    swapped = len(input._layout.shape) < len(other._layout.shape)
    stack, single = input, other
    if swapped:
        rank = len(other._layout.shape)
        stack = transpose_op(other, rank - 2, rank - 1)
        single = t_op(input) if len(input._layout.shape) == 2 else input
    outer, inner = stack._layout.shape[:-1], stack._layout.shape[-1]
    rows = reshape(stack, (numel(outer), inner))
    if len(single._layout.shape) == 1:
        return unsafe_view(mv(rows, single), outer)
    out = unsafe_view(mm(rows, single), (*outer, single._layout.shape[1]))
    return contiguous(transpose_op(out, len(outer) - 1, len(outer))) if swapped else out


def _batched(input: Tensor, other: Tensor) -> Tensor:
    """Stacks of matrices, broadcast against each other; a vector stands for a row, or a column."""
    shape, others = input._layout.shape, other._layout.shape
    rows, inner = (1, *shape)[-2:]
    batch = broadcast_shapes(shape[:-2], others[:-2])
    count = numel(batch)
    left = _stacked(input, (*batch, rows, inner), (count, rows, inner))
    if len(others) == 1:
        vectors = _stacked(other, batch + others, (count, *others))
        return unsafe_view(squeeze_dim(bmm(left, unsqueeze_op(vectors, 2)), 2), (*batch, rows))
    right = _stacked(other, batch + others[-2:], (count, *others[-2:]))
    return unsafe_view(bmm(left, right), (*batch, *shape[-2:-1], others[-1]))


def _stacked(operand: Tensor, expanded: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """The operand expanded to the stack's dimensions, and those made one."""
    if operand._layout.shape == shape and not (operand._requires_grad and state.mode & GRAD):
        return operand
    return reshape(expand_op(operand, expanded), shape)


for _function in (mm, mv, dot, vdot, bmm, matmul):
    public(_function)


def _tensor(value: Any) -> Any:
    """What stands beside a tensor in ``@``, an array as a tensor on its memory; None for anything else."""
    if isinstance(value, np.ndarray):
        return public_functions["from_numpy"](value)
    return value if isinstance(value, Tensor) else None


def _matmul(self: Tensor, other: Any) -> Any:
    right = _tensor(other)
    return NotImplemented if right is None else matmul(self, right)


def _rmatmul(self: Tensor, other: Any) -> Any:
    left = _tensor(other)
    return NotImplemented if left is None else matmul(left, self)


attach("__matmul__", _matmul)
attach("__rmatmul__", _rmatmul)
