"""Matrix products added to a tensor: ``beta * input + alpha * product``.

BLAS computes the product.  A row to add to each of the product's rows is stored there first, and BLAS accumulates onto
it.  Any other input is added in one further pass over the product.
"""

from __future__ import annotations

from typing import Any

from ...core.layout import Layout, layout_of, output_strides
from ...core.types import bool_, dtype
from ...devices import NUMBERS, Given, Plan, TensorRef
from ...tensors.tensor import Tensor
from ..memory.copying import convert, filled_of
from ..pointwise.arithmetic import add, conj, mul
from ..pointwise.integers import logical_and, logical_or
from ..reductions.sums import sum_dims
from ..shapes.broadcasting import expand, expand_op
from ..shapes.dimensions import permute_op, transpose_op, unsqueeze_op
from ..shapes.views import grad_view
from ..table.checks import check
from ..table.dispatch import perform
from ..table.lookup import operation
from ..table.op import check_tensors, public
from ..table.operands import fused
from ..table.promotion import result_dtype
from .products import (
    SCALARS,
    bmm_op,
    check_matrices,
    check_stacks,
    check_types,
    left_gradient,
    mm_op,
    multiplied,
    mv_op,
    outer_product,
    refuse_bools,
    right_gradient,
    times,
    transposed_mv,
)


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


#: Kernels that add a product if a factor is not 1: with both factors, or for ``beta`` 0, with or without ``alpha``.
WEIGHTED, SCALED, ALONE = "weighted", "scaled", "alone"


def _added(p: Plan, input: TensorRef, product: TensorRef, beta: Given, alpha: Given, scaling: str) -> TensorRef:
    """Add the steps of ``beta * input + alpha * product`` in the product's memory; ``input`` is unused if beta is 0."""
    if not scaling:
        return fused(p, "addmm", _sum, (input, product), product.layout, into=product)
    if scaling == WEIGHTED:
        return fused(p, "addmm", _weighted, (input, product, beta, alpha), product.layout, into=product)
    return fused(p, "addmm", _scaled, (product, alpha), product.layout, into=product) if scaling == SCALED else product


def _check_expands(input: Layout | TensorRef, shape: tuple[int, ...]) -> None:
    """Raise, with the message of ``expand``, unless ``input`` can be expanded to ``shape``."""
    if input.shape != shape:
        expand.resolve(input, shape)


# -- matrices -----------------------------------------------------------------------------------------------------


@operation("AddmmBackward0", inputs=["input", "mat1", "mat2"], numbers=["beta", "alpha"])
def addmm_op(
    p: Plan, input: TensorRef, mat1: TensorRef, mat2: TensorRef, beta: Given, alpha: Given, scaling: str = ""
) -> TensorRef:
    check_matrices(mat1, mat2, "mat1")
    shape = mat1.shape[0], mat2.shape[1]
    if input.shape != shape[1:]:
        _check_expands(input, shape)
    for other in (input, mat1):
        check_types("self and mat2 must have the same dtype, but got {} and {}", other, mat2)
    refuse_bools("addmm_impl_cpu_", input, mat1, mat2)
    if not scaling and input.layout.contiguous and input.shape == shape[1:]:
        return multiplied(p, mat1, mat2, bias=p.contiguous(input))
    return _added(p, input, multiplied(p, mat1, mat2), beta, alpha, scaling)


@addmm_op.decomposed
def _(input, mat1, mat2, beta, alpha, scaling=""):
    return _combined(input, mm_op(mat1, mat2), beta, alpha)


def _combined(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return ``beta * input + alpha * product``, computed by other operations."""
    product = times(product, alpha)
    return add(times(input, beta), product) if beta != 0 else product


@addmm_op.gradient("mat1")
def _(grad, mat2, alpha, mat1_layout):
    """``alpha * grad @ t(conj(mat2))``."""
    return times(left_gradient(grad, mat2, mat1_layout), conj(alpha))


@addmm_op.gradient("mat2")
def _(grad, mat1, alpha, mat2_layout):
    """``alpha * t(conj(mat1)) @ grad``."""
    return times(right_gradient(grad, mat1, mat2_layout), conj(alpha))


@public(direct=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` of an (n, k) and a (k, m) matrix; the input is expanded to (n, m).

    With ``beta=0`` the input is ignored, including NaN and infinities.  For integers the factors are truncated.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.

    Example:
        >>> import numgrad
        >>> numgrad.addmm(numgrad.ones(2, 2), numgrad.ones(2, 3), numgrad.ones(3, 2), beta=0.5)
        tensor([[3.5000, 3.5000],
                [3.5000, 3.5000]])
    """
    return call_weighted(addmm_op, input, mat1, mat2, beta, alpha)


def call_weighted(op: Any, input: Any, left: Any, right: Any, beta: Any, alpha: Any, first: Any = None) -> Tensor:
    """Call an operation; for new layouts and for factors other than 1, call ``first`` instead, unless it is None."""
    scaling = "" if beta == 1 and alpha == 1 else WEIGHTED if beta != 0 else SCALED if alpha != 1 else ALONE
    try:
        if scaling and first is not None:
            return first(input, left, right, _plain(beta), _plain(alpha), scaling)
        if scaling:
            beta, alpha = _factors(left._layout.type.dtype, beta, alpha)
        entry = op.recent.get((input._layout, left._layout, right._layout, beta.__class__, alpha.__class__, scaling))
    except AttributeError:
        names = op.parameters[:3]
        check_tensors(op.name.removesuffix("_op"), **dict(zip(names, (input, left, right), strict=True)))
        raise
    if entry is not None:
        return perform(entry, (input, left, right, beta, alpha))
    return (first or op)(input, left, right, _plain(beta), _plain(alpha), scaling)


def _plain(number: Any) -> Any:
    """Return a NumPy number, or the number in a tensor of one element, as a Python number."""
    return number.item() if number.__class__ not in NUMBERS and hasattr(number, "item") else number


def _factors(type: dtype, *factors: Any) -> list[Any]:
    """Return factors as numbers to compute with in a dtype; for integers they are truncated."""
    number: Any = float if type.is_floating_point or type.is_complex else int
    return [factor if type.is_complex and isinstance(factor, complex) else number(factor) for factor in factors]


@operation("AddmvBackward0", inputs=["input", "mat", "vec"], numbers=["beta", "alpha"])
def addmv_op(
    p: Plan, input: TensorRef, mat: TensorRef, vec: TensorRef, beta: Given, alpha: Given, scaling: str = ""
) -> TensorRef:
    ranks = len(input.shape), len(mat.shape), len(vec.shape)
    fit = ranks[1:] == (2, 1) and ranks[0] <= 1
    check(fit, "vector + matrix @ vector expected, got {}, {}, {}", *ranks, input, mat, vec)
    (n, k), count = mat.shape, input.size
    fit = vec.shape == (k,) and count in (1, n)
    check(fit, "size mismatch, got input ({}), mat ({}x{}), vec ({})", count, n, k, vec.size)
    check_types("addmv input tensors must have the same dtype, but got {}, {}, and {}", input, mat, vec)
    refuse_bools("addmv_impl_cpu", input, mat, vec)
    return _added(p, input, mv_op.build(p, mat, vec), beta, alpha, scaling)


@addmv_op.decomposed
def _(input, mat, vec, beta, alpha, scaling=""):
    return _combined(input, mv_op(mat, vec), beta, alpha)


@addmv_op.gradient("mat")
def _(grad, vec, alpha):
    return times(outer_product(grad, conj(vec)), conj(alpha))


@addmv_op.gradient("vec")
def _(grad, mat, alpha):
    return times(transposed_mv(conj(mat), grad), conj(alpha))


@public(direct=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` of an (n, k) matrix and a vector of k; the input is expanded to (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.

    Example:
        >>> import numgrad
        >>> numgrad.addmv(numgrad.ones(2), numgrad.eye(2), numgrad.tensor([3.0, 4.0]))
        tensor([4., 5.])
    """
    return call_weighted(addmv_op, input, mat, vec, beta, alpha)


@operation("AddrBackward0", inputs=["input", "vec1", "vec2"], numbers=["beta", "alpha"])
def addr_op(
    p: Plan, input: TensorRef, vec1: TensorRef, vec2: TensorRef, beta: Given, alpha: Given, scaling: str = ""
) -> TensorRef:
    column = vec1.viewed(unsqueeze_op.prepare(vec1.layout, 1)[0])
    shape = vec1.shape + vec2.shape
    strides = output_strides(shape, tuple([(tensor.shape, tensor.layout.strides) for tensor in (input, column, vec2)]))
    layout = layout_of(input.type, shape, strides)
    if scaling in (SCALED, ALONE):
        return fused(p, "addmm", _outer, (column, vec2, alpha), layout)
    return fused(p, "addmm", _with_outer, (input, column, vec2, beta, alpha), layout)


@addr_op.decomposed
def _(input, vec1, vec2, beta, alpha, scaling=""):
    return _combined(input, mul(unsqueeze_op(vec1, 1), vec2), beta, alpha)


@addr_op.gradient("vec1")
def _(grad, vec2, alpha):
    return times(mv_op(grad, conj(vec2)), conj(alpha))


@addr_op.gradient("vec2")
def _(grad, vec1, alpha):
    return times(transposed_mv(grad, conj(vec1)), conj(alpha))


@public(direct=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; the input is expanded to the outer product's shape.

    For bools the result is ``beta and input or alpha and outer``.

    Raises:
        RuntimeError: the shapes do not fit, or a factor is floating-point and the tensors are integers.

    Example:
        >>> import numgrad
        >>> numgrad.addr(numgrad.zeros(2, 2), numgrad.tensor([1.0, 2.0]), numgrad.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    return call_weighted(addr_op, input, vec1, vec2, beta, alpha, _addr)


def _addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any, scaling: str) -> Tensor:
    """Return ``addr`` of operands that may be invalid or need a conversion first."""
    layouts = input._layout, vec1._layout, vec2._layout
    for number, vector in enumerate(layouts[1:], 1):
        rank = len(vector.shape)
        check(rank == 1, "addr: Expected 1-D argument vec{}, but got {}-D", number, rank, *layouts)
    _check_expands(layouts[0], layouts[1].shape + layouts[2].shape)
    dtype = result_dtype((input, vec1, vec2))
    if not (dtype.is_floating_point or dtype.is_complex):
        for name, number in (("beta", beta), ("alpha", alpha)):
            check(
                not isinstance(number, float),
                "For integral input tensors, argument {} must not be a floating point number.", name, *layouts,
            )
    if dtype is bool_:
        outer = logical_and(logical_and(unsqueeze_op(vec1, 1), vec2), filled_of((), bool(alpha), input._layout.type))
        return logical_or(outer, logical_and(input, filled_of((), bool(beta), input._layout.type)))
    converted = [convert(tensor, dtype) for tensor in (input, vec1, vec2)]
    return addr_op(*converted, *_factors(dtype, beta, alpha), scaling)


# -- stacks of matrices -------------------------------------------------------------------------------------------


@operation("BaddbmmBackward0", inputs=["input", "batch1", "batch2"], numbers=["beta", "alpha"])
def baddbmm_op(
    p: Plan, input: TensorRef, batch1: TensorRef, batch2: TensorRef, beta: Given, alpha: Given, scaling: str = ""
) -> TensorRef:
    _check_batches("baddbmm", input, batch1, batch2, slice(0, 3))
    return _added(p, input, multiplied(p, batch1, batch2), beta, alpha, scaling)


@baddbmm_op.decomposed
def _(input, batch1, batch2, beta, alpha, scaling=""):
    return _combined(input, bmm_op(batch1, batch2), beta, alpha)


@operation("AddbmmBackward0", inputs=["input", "batch1", "batch2"], numbers=["beta", "alpha"])
def addbmm_op(
    p: Plan, input: TensorRef, batch1: TensorRef, batch2: TensorRef, beta: Given, alpha: Given, scaling: str = ""
) -> TensorRef:
    # The sum over the stack is a single product: the first matrices side by side times the second ones stacked.
    _check_batches("addbmm", input, batch1, batch2, slice(1, 3))
    count, rows, inner = batch1.shape
    permuted = batch1.viewed(permute_op.prepare(batch1.layout, (1, 0, 2))[0])
    first = p.tensor(p.contiguous(permuted), batch1.type, (rows, count * inner))
    second = p.tensor(p.contiguous(batch2), batch2.type, (count * inner, batch2.shape[2]))
    return _added(p, input, multiplied(p, first, second), beta, alpha, scaling)


@addbmm_op.decomposed
def _(input, batch1, batch2, beta, alpha, scaling=""):
    return _combined(input, sum_dims(bmm_op(batch1, batch2), (0,), False), beta, alpha)


@addmm_op.gradient("input")
@addmv_op.gradient("input")
@addr_op.gradient("input")
@baddbmm_op.gradient("input")
@addbmm_op.gradient("input")
def _(grad, beta):
    return times(grad, conj(beta))


@baddbmm_op.gradient("batch1")
@addbmm_op.gradient("batch1")
def _(grad, batch2, alpha):
    """``alpha * grad @ transpose(conj(batch2), 1, 2)``."""
    return times(bmm_op(_stacked(grad, batch2), grad_view(transpose_op, conj(batch2), 1, 2)), conj(alpha))


@baddbmm_op.gradient("batch2")
@addbmm_op.gradient("batch2")
def _(grad, batch1, alpha):
    """``alpha * transpose(conj(batch1), 1, 2) @ grad``."""
    return times(bmm_op(grad_view(transpose_op, conj(batch1), 1, 2), _stacked(grad, batch1)), conj(alpha))


def _stacked(grad: Tensor, batch: Tensor) -> Tensor:
    """Return the gradient for each matrix of the stack, expanded if it is that of the sum over the stack."""
    return grad if len(grad._layout.shape) == 3 else expand_op(grad, (batch._layout.shape[0], *grad._layout.shape))


def _check_batches(name: str, input: TensorRef, batch1: TensorRef, batch2: TensorRef, result: slice) -> None:
    check_stacks(batch1, batch2)
    _check_expands(input, (*batch1.shape[:2], batch2.shape[2])[result])
    message = "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}"
    check_types(message, input, batch1, batch2, names=SCALARS)
    refuse_bools(name, input, batch1, batch2)


@public(direct=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)`` of (b, n, k) and (b, k, m); the input is expanded to (b, n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    return call_weighted(baddbmm_op, input, batch1, batch2, beta, alpha)


@public(direct=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``; the input is expanded to (n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.
    """
    return call_weighted(addbmm_op, input, batch1, batch2, beta, alpha)
