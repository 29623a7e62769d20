"""Matrix products added to a tensor: ``beta * input + alpha * product``, and the linear layer made of one.

The product is BLAS's.  A row that is added to each of its rows is there before, and BLAS adds to it; one pass over the
product adds anything else.
"""

from __future__ import annotations

import functools
from typing import Any

from ... import devices
from ..._layout import numel
from ..._tensor import Tensor, fresh, tensor_of
from ..._types import bool_, dtype
from ..arguments import checked
from ..copying import convert
from ..new import filled_of
from ..one_device import check_one_device
from ..plan import new_layout
from ..pointwise.arithmetic import add, conj
from ..pointwise.integers import logical_and, logical_or
from ..promotion import result_dtype
from ..shapes.views import expand, expand_op, passed_on, permute_op, reshape, t, t_op, transpose_op, unsqueeze_op, view
from ..table import check_tensors, operation, parameters, public
from .checks import check_matrices, check_stacks, fit, refuse_bools, scalar_name, shapes_text
from .matmul import (
    bmm_op,
    by_columns,
    left_gradient,
    matmul,
    mm_op,
    mv_op,
    outer_product,
    product_of,
    right_gradient,
    times,
)

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "linear"]


def _with_outer(input, vec1, vec2, beta, alpha):
    return beta * input + alpha * vec1 * vec2


def _outer(vec1, vec2, alpha):
    return alpha * vec1 * vec2


def _sum(input, product):
    return input + product


def _weighted(input, product, beta, alpha):
    return beta * input + alpha * product


def _scaled(product, alpha):
    return alpha * product


@functools.cache
def _program(function: Any, kind: dtype, number: type) -> devices.Program:
    operands = tuple([
        devices.Operand(name, devices.number_type(number), scalar=True) if name in ("beta", "alpha")
        else devices.Operand(name, kind.numpy)
        for name in parameters(function)
    ])
    return devices.Program("addmm" + function.__name__, kind.numpy, operands, (("out", kind.numpy),), (function,))


def _added(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """``beta * input + alpha * product``, in the product's memory; with ``beta`` 0 the input is not read."""
    kind = product._layout.type.dtype
    beta, alpha = _factors(kind, beta, alpha)
    if beta == 0:
        if alpha != 1:
            devices.run_pointwise(_program(_scaled, kind, alpha.__class__), [product, alpha], [product])
    elif beta == 1 and alpha == 1:
        if devices.worth_threads(product._layout.size):
            devices.run_pointwise(_program(_sum, kind, float), [input, product], [product])
        else:
            devices.add_to(product, input)
    else:
        program = _program(_weighted, kind, alpha.__class__)
        devices.run_pointwise(program, [input, product, beta, alpha], [product])
    return product


def _factors(kind: dtype, *numbers: Any) -> list[Any]:
    """The numbers as those of this dtype's kind; of integers they are cut off."""
    plain = complex if kind.is_complex else float if kind.is_floating_point else int
    return [plain(number) for number in numbers]


def _check_expands(input: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless ``input`` can be expanded to ``shape``, with the words of expand."""
    if input._layout.shape != shape:
        expand(input.detach(), shape)


# -- matrices -----------------------------------------------------------------------------------------------------


@operation("AddmmBackward0", inputs=["input", "mat1", "mat2"])
def addmm_op(
    input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, columns: tuple[bool, bool]
) -> Tensor:
    """``columns`` says of which factors the elements lie column by column."""
    shape = mat1._layout.shape[0], mat2._layout.shape[1]
    if beta == 1 and alpha == 1 and input._flat is not None and input._layout.shape == shape[1:]:
        return fresh(devices.matrix_product(mat1, mat2, bias=input._flat), shape, mat1._layout.type)
    return _added(input, mm_op.function(mat1, mat2, columns), beta, alpha)


@addmm_op.gradient("input")
def _(grad, beta):
    return times(grad, conj(beta))


@addmm_op.gradient("mat1")
def _(grad, mat2, alpha, columns):
    """``alpha * grad @ t(conj(mat2))``."""
    return times(left_gradient(grad, mat2, columns[0]), conj(alpha))


@addmm_op.gradient("mat2")
def _(grad, mat1, alpha, columns):
    """``alpha * t(conj(mat1)) @ grad``."""
    return times(right_gradient(grad, mat1, columns[1]), conj(alpha))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of an (n, k) and a (k, m) matrix; the input is expanded to (n, m).

    With ``beta=0`` the input is ignored, NaN and infinities in it too.  Of integers the factors are cut off.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    if not (
        fit(mat1, mat2, 2)
        and input._layout.type is mat2._layout.type
        and input._layout.shape == mat2._layout.shape[1:]
    ):
        _check_addmm(input, mat1, mat2)
    return addmm_op(input, mat1, mat2, beta, alpha, (by_columns(mat1), by_columns(mat2)))


def _check_addmm(input: Any, mat1: Any, mat2: Any) -> None:
    check_tensors("addmm", input=input, mat1=mat1, mat2=mat2)
    check_matrices(mat1, mat2, "mat1")
    if input._layout.shape != mat2._layout.shape[1:]:
        _check_expands(input, (mat1._layout.shape[0], mat2._layout.shape[1]))
    for other in (input, mat1):
        if other._layout.type is not mat2._layout.type:
            check_one_device(input, mat1, mat2)
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {other.dtype.legacy} and {mat2.dtype.legacy} "
                f"{shapes_text(input, mat1, mat2)}"
            )
    refuse_bools("addmm_impl_cpu_", input, mat1, mat2)


@operation("AddmvBackward0", inputs=["input", "mat", "vec"])
def addmv_op(input: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any) -> Tensor:
    return _added(input, mv_op.function(mat, vec), beta, alpha)


@addmv_op.gradient("input")
def _(grad, beta):
    return times(grad, conj(beta))


@addmv_op.gradient("mat")
def _(grad, vec, alpha):
    return times(outer_product(grad, conj(vec)), conj(alpha))


@addmv_op.gradient("vec")
def _(grad, mat, alpha):
    return times(mv_op(passed_on(t_op, conj(mat)), grad), conj(alpha))


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` of an (n, k) matrix and a vector of k; the input is expanded to (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.
    """
    check_tensors("addmv", input=input, mat=mat, vec=vec)
    own, matrix, vector = input._layout, mat._layout, vec._layout
    ranks = len(own.shape), len(matrix.shape), len(vector.shape)
    if ranks[1:] != (2, 1) or ranks[0] > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {ranks[0]}, {ranks[1]}, {ranks[2]} {shapes_text(input, mat, vec)}"
        )
    (n, k), count = matrix.shape, own.size
    if vector.shape != (k,) or count not in (1, n):
        raise RuntimeError(f"size mismatch, got input ({count}), mat ({n}x{k}), vec ({vector.shape[0]})")
    if not own.type is matrix.type is vector.type:
        check_one_device(input, mat, vec)
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{input.dtype.legacy}, {mat.dtype.legacy}, and {vec.dtype.legacy} {shapes_text(input, mat, vec)}"
        )
    refuse_bools("addmv_impl_cpu", input, mat, vec)
    return addmv_op(input, mat, vec, beta, alpha)


@operation("AddrBackward0", inputs=["input", "vec1", "vec2"])
def addr_op(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> Tensor:
    kind = input._layout.type.dtype
    beta, alpha = _factors(kind, beta, alpha)
    column = unsqueeze_op.function(vec1, 1)
    layout = new_layout([input, column, vec2], vec1._layout.shape + vec2._layout.shape, input._layout.type)
    out = tensor_of(layout, devices.empty(layout.shape, layout.type))
    if beta == 0:
        devices.run_pointwise(_program(_outer, kind, alpha.__class__), [column, vec2, alpha], [out])
    else:
        program = _program(_with_outer, kind, alpha.__class__)
        devices.run_pointwise(program, [input, column, vec2, beta, alpha], [out])
    return out


@addr_op.gradient("input")
def _(grad, beta):
    return times(grad, conj(beta))


@addr_op.gradient("vec1")
def _(grad, vec2, alpha):
    return times(mv_op(grad, conj(vec2)), conj(alpha))


@addr_op.gradient("vec2")
def _(grad, vec1, alpha):
    return times(mv_op(passed_on(t_op, grad), conj(vec1)), conj(alpha))


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; the input is expanded to the outer product's shape.

    Of bools it is ``beta and input or alpha and outer``.

    Raises:
        RuntimeError: the shapes do not fit, or a factor is no integer beside integers.
    """
    check_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    for number, vector in enumerate((vec1, vec2), 1):
        if len(vector._layout.shape) != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument vec{number}, but got {len(vector._layout.shape)}-D "
                f"{shapes_text(input, vec1, vec2)}"
            )
    _check_expands(input, vec1._layout.shape + vec2._layout.shape)
    kind = result_dtype((input, vec1, vec2))
    if not (kind.is_floating_point or kind.is_complex):
        for name, number in (("beta", beta), ("alpha", alpha)):
            if isinstance(number, float):
                raise RuntimeError(
                    f"For integral input tensors, argument {name} must not be a floating point number. "
                    f"{shapes_text(input, vec1, vec2)}"
                )
    if kind is bool_:
        outer = logical_and(logical_and(unsqueeze_op(vec1, 1), vec2), filled_of((), bool(alpha), input._layout.type))
        return logical_or(outer, logical_and(input, filled_of((), bool(beta), input._layout.type)))
    return addr_op(convert(input, kind), convert(vec1, kind), convert(vec2, kind), beta, alpha)


# -- stacks of matrices -------------------------------------------------------------------------------------------


@operation("BaddbmmBackward0", inputs=["input", "batch1", "batch2"])
def baddbmm_op(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> Tensor:
    return _added(input, bmm_op.function(batch1, batch2), beta, alpha)


@operation("AddbmmBackward0", inputs=["input", "batch1", "batch2"])
def addbmm_op(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> Tensor:
    # The sum over the stack is one longer product: of the first matrices side by side, the second below each other.
    count, rows, inner = batch1._layout.shape
    left = reshape(permute_op.function(batch1, (1, 0, 2)), (rows, count * inner))
    return _added(input, product_of(left, reshape(batch2, (count * inner, batch2._layout.shape[2]))), beta, alpha)


@baddbmm_op.gradient("input")
@addbmm_op.gradient("input")
def _(grad, beta):
    return times(grad, conj(beta))


@baddbmm_op.gradient("batch1")
@addbmm_op.gradient("batch1")
def _(grad, batch2, alpha):
    """``alpha * grad @ transpose(conj(batch2), 1, 2)``."""
    return times(bmm_op(_stacked(grad, batch2), passed_on(transpose_op, conj(batch2), 1, 2)), conj(alpha))


@baddbmm_op.gradient("batch2")
@addbmm_op.gradient("batch2")
def _(grad, batch1, alpha):
    """``alpha * transpose(conj(batch1), 1, 2) @ grad``."""
    return times(bmm_op(passed_on(transpose_op, conj(batch1), 1, 2), _stacked(grad, batch1)), conj(alpha))


def _stacked(grad: Tensor, batch: Tensor) -> Tensor:
    """The gradient, if it is that of a sum over the stack, for each matrix in it."""
    return grad if len(grad._layout.shape) == 3 else expand_op(grad, (batch._layout.shape[0], *grad._layout.shape))


def _check_batches(name: str, input: Tensor, batch1: Tensor, batch2: Tensor, result: slice) -> None:
    check_tensors(name, input=input, batch1=batch1, batch2=batch2)
    check_stacks(batch1, batch2)
    _check_expands(input, (*batch1._layout.shape[:2], batch2._layout.shape[2])[result])
    if not input._layout.type is batch1._layout.type is batch2._layout.type:
        check_one_device(input, batch1, batch2)
        kinds = [scalar_name(tensor.dtype) for tensor in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: {kinds[2]} "
            f"{shapes_text(input, batch1, batch2)}"
        )
    refuse_bools(name, input, batch1, batch2)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)`` of (b, n, k) and (b, k, m); the input is expanded to (b, n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    _check_batches("baddbmm", input, batch1, batch2, slice(0, 3))
    return baddbmm_op(input, batch1, batch2, beta, alpha)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``; the input is expanded to (n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    _check_batches("addbmm", input, batch1, batch2, slice(1, 3))
    return addbmm_op(input, batch1, batch2, beta, alpha)


# -- the linear layer ---------------------------------------------------------------------------------------------


@checked
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: of (..., k) elements and an (m, k) weight, (..., m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.
    """
    shape, of_weight = input._layout.shape, weight._layout.shape
    rank = len(shape)
    if rank == 0 or not of_weight:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {rank}D and {weight.dim()}D"
        )
    if bias is None:
        return matmul(input, t(weight))
    if rank == 2:
        return addmm(bias, input, t(weight))
    if len(bias._layout.shape) == 1 and len(of_weight) == 2 and input._flat is not None and bias._flat is not None:
        rows = view(input, (numel(shape[:-1]), shape[-1]))
        return view(addmm(bias, rows, t(weight)), (*shape[:-1], of_weight[0]))
    return add.inplace(matmul(input, t(weight)), bias)


for _function in (addmm, addmv, addr, addbmm, baddbmm):
    public(_function)
