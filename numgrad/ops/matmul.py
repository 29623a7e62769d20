"""Matrix products, computed by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import devices
from .._layout import broadcast_shapes, numel
from .._tensor import Tensor, fresh
from .._types import bool_
from .pointwise import mul
from .shape import expand, reshape, squeeze_result, t_op, transpose_op, unsafe_view, unsqueeze
from .table import attach, operation, public, public_functions

__all__ = ["bmm", "dot", "matmul", "mm", "mv"]


def _product(left: Tensor, right: Tensor, shape: tuple[int, ...]) -> Tensor:
    out = fresh(devices.empty(shape, left._type), shape, left._type)
    devices.matmul(left, right, out)
    return out


def _check_tensors(name: str, *operands: Any) -> None:
    for position, operand in enumerate(operands, 1):
        if not isinstance(operand, Tensor):
            raise TypeError(f"{name}(): argument {position} must be Tensor, not {type(operand).__name__}")


def _check_dtypes(name: str, left: Tensor, right: Tensor) -> None:
    if left._type is not right._type:
        raise RuntimeError(
            f"{name}: expected both tensors to have the same dtype, but got {left.dtype} {list(left._shape)} and "
            f"{right.dtype} {list(right._shape)}"
        )
    if left.dtype is bool_:
        raise NotImplementedError(
            f"\"{name}\" not implemented for 'Bool' (shapes {list(left._shape)}, {list(right._shape)})"
        )


def _check_ranks(name: str, left: Tensor, right: Tensor, ranks: tuple[int, int]) -> None:
    _check_tensors(name, left, right)
    if (len(left._shape), len(right._shape)) != ranks:
        raise RuntimeError(
            f"{name}: expected tensors of {ranks[0]} and {ranks[1]} dimensions, but got shapes {list(left._shape)} "
            f"and {list(right._shape)}"
        )


@operation("MmBackward0", inputs=["input", "mat2"])
def mm_op(input: Tensor, mat2: Tensor) -> Tensor:
    return _product(input, mat2, (input._shape[0], mat2._shape[1]))


@mm_op.gradient("input")
def _(grad, mat2):
    return mm_op(grad, t_op(mat2))


@mm_op.gradient("mat2")
def _(grad, input):
    return mm_op(t_op(input), grad)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of an (n, k) and a (k, m) matrix, of shape (n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    _check_ranks("mm", input, mat2, (2, 2))
    if input._shape[1] != mat2._shape[0]:
        (n, k), (j, m) = input._shape, mat2._shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {j}x{m})")
    _check_dtypes("mm", input, mat2)
    return mm_op(input, mat2)


@operation("MvBackward0", inputs=["input", "vec"])
def mv_op(input: Tensor, vec: Tensor) -> Tensor:
    return _product(input, vec, (input._shape[0],))


@mv_op.gradient("input")
def _(grad, vec):
    return mul(unsqueeze(grad, 1), unsqueeze(vec, 0))


@mv_op.gradient("vec")
def _(grad, input):
    return mv_op(t_op(input), grad)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of an (n, k) matrix and a vector of k elements, of shape (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    _check_ranks("mv", input, vec, (2, 1))
    if input._shape[1] != vec._shape[0]:
        raise RuntimeError(f"size mismatch, got input {list(input._shape)}, vec {list(vec._shape)}")
    _check_dtypes("mv", input, vec)
    return mv_op(input, vec)


@operation("DotBackward0", inputs=["input", "tensor"])
def dot_op(input: Tensor, tensor: Tensor) -> Tensor:
    return _product(input, tensor, ())


@dot_op.gradient("input")
def _(grad, tensor):
    return mul(grad, tensor)


@dot_op.gradient("tensor")
def _(grad, input):
    return mul(grad, input)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of products of two vectors of one length.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    _check_ranks("dot", input, tensor, (1, 1))
    if input._shape != tensor._shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(input._shape)} and src {list(tensor._shape)} to have the "
            "same number of elements"
        )
    _check_dtypes("dot", input, tensor)
    return dot_op(input, tensor)


@operation("BmmBackward0", inputs=["input", "mat2"])
def bmm_op(input: Tensor, mat2: Tensor) -> Tensor:
    return _product(input, mat2, (input._shape[0], input._shape[1], mat2._shape[2]))


@bmm_op.gradient("input")
def _(grad, mat2):
    return bmm_op(grad, transpose_op(mat2, 1, 2))


@bmm_op.gradient("mat2")
def _(grad, input):
    return bmm_op(transpose_op(input, 1, 2), grad)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of (b, n, k) and (b, k, m) matrices, of shape (b, n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
    """
    _check_ranks("bmm", input, mat2, (3, 3))
    if input._shape[0] != mat2._shape[0] or input._shape[2] != mat2._shape[1]:
        expected = [input._shape[0], input._shape[2]]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(mat2._shape[:2])}."
        )
    _check_dtypes("bmm", input, mat2)
    return bmm_op(input, mat2)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, by NumPy's rules: of vectors, matrices, and stacks of matrices that broadcast.

    Raises:
        RuntimeError: an operand is 0-d, the shapes do not fit, or the dtypes differ.
    """
    _check_tensors("matmul", input, other)
    ranks = len(input._shape), len(other._shape)
    if 0 in ranks:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{ranks[0]}D and {ranks[1]}D (shapes {list(input._shape)} and {list(other._shape)})"
        )
    if ranks == (1, 1):
        return dot(input, other)
    if ranks == (2, 1):
        return mv(input, other)
    if ranks == (1, 2):
        return squeeze_result(mm(unsqueeze(input, 0), other), 0)
    if ranks == (2, 2):
        return mm(input, other)
    if ranks[1] <= 2:
        return _folded(input, other)
    return _batched(input, other)


def _folded(input: Tensor, other: Tensor) -> Tensor:
    """A stack of matrices times one matrix or vector: one larger product."""
    rows = reshape(input, -1, input._shape[-1]) if 0 not in input._shape else _rows_of_empty(input)
    if len(other._shape) == 1:
        return unsafe_view(mv(rows, other), input._shape[:-1])
    return unsafe_view(mm(rows, other), (*input._shape[:-1], other._shape[1]))


def _rows_of_empty(input: Tensor) -> Tensor:
    return reshape(input, numel(input._shape[:-1]), input._shape[-1])


def _batched(input: Tensor, other: Tensor) -> Tensor:
    """Stacks of matrices, broadcast against each other."""
    vectors = len(input._shape) == 1
    if vectors:
        input = unsqueeze(input, 0)
    batch = broadcast_shapes(input._shape[:-2], other._shape[:-2])
    count = numel(batch)
    left = reshape(expand(input, *batch, *input._shape[-2:]), count, *input._shape[-2:])
    right = reshape(expand(other, *batch, *other._shape[-2:]), count, *other._shape[-2:])
    rows = () if vectors else (input._shape[-2],)
    return unsafe_view(bmm(left, right), (*batch, *rows, other._shape[-1]))


for _function in (mm, mv, dot, bmm, matmul):
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
