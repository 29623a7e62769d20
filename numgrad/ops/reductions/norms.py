"""Norms of vectors, over all or some dimensions, and distances between vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.layout import Layout, broadcast_shapes, normal_dim, normal_dims
from ...core.types import dtype, int64, real_of
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..indexing.masking import triu_indices
from ..matrices.matmul import matmul
from ..memory.copying import clone, convert
from ..pointwise.arithmetic import abs, abs_complex, conj, div, mul, sgn, sign
from ..pointwise.comparison import eq, isnan, where
from ..pointwise.exponential import pow
from ..shapes.broadcasting import expand_op
from ..table.arguments import DType
from ..table.autocasting import autocasting
from ..table.checks import check, check_value
from ..table.declaring import pointwise
from ..table.lookup import lookup, operation
from ..table.op import check_tensors, composite
from ..table.promotion import promote_types
from .axes import reduced_along, reduced_shape, restored
from .sums import sum_dims

_INFINITE = (float("inf"), float("-inf"))


@operation("LinalgVectorNormBackward0", aten="linalg_vector_norm", dims=["dims"])
def vector_norm_op(
    p: Plan, input: TensorRef, order: float, dims: tuple[int, ...], keepdim: bool, dtype: dtype
) -> TensorRef:
    type = input.type.with_dtype(dtype)
    if input.type.dtype.is_complex:
        input = abs_complex.op.build(p, input)
    out = reduced_along(p, "norm_axis", input, dims, order, type.numpy)
    return p.tensor(out, type, reduced_shape(input.shape, dims, keepdim))


@vector_norm_op.gradient("input")
def _(grad, input, out, order, dims, keepdim):
    """``grad * sign(input) * (abs(input) / out) ** (order - 1)``; an extreme's is shared evenly."""
    grad, out = restored(grad, dims, keepdim), restored(out, dims, keepdim)
    sign_of = sgn if input._layout.type.dtype.is_complex else sign
    if order == 0:
        return None  # a count has no derivative
    if order in _INFINITE:
        # The gradient is shared evenly among the extremes; the sign of a NaN is 0.
        mask = convert(where(isnan(out), isnan(input), eq(abs(input), out)), grad.dtype)
        return mul(mul(sign_of(input), mask), div(grad, sum_dims(mask, dims, True)))
    if order == 1:
        return mul(grad, sign_of(input))
    if order == 2:
        return norm_backward(grad, input, out)
    # sign(x) * (|x| / out) ** (order - 1) * grad; zeros are excluded from powers and quotients
    nothing = eq(out, 0)
    out = where(nothing, 1, out)
    zero = eq(input, 0)
    powers = where(zero, 0, mul(sign_of(input), pow(div(abs(where(zero, 1, input)), out), order - 1)))
    return mul(powers, where(nothing, 0, grad))


@pointwise("NormBackwardBackward0", aten="mul", dtypes="fc", inplace=False, export=False)
def norm_backward(grad_output, input, length):
    """``grad_output * input / length``, 0 where ``length`` is 0: the gradient of vectors whose lengths are given."""
    return where(length == 0, 0, input * (grad_output / length))


@norm_backward.gradient("grad_output")
def _(grad, input, length):
    return conj(norm_backward(conj(grad), input, length))


@norm_backward.gradient("input")
def _(grad, grad_output, length):
    # Infinite or NaN where the length is 0.  There ``n ** 2`` and ``3 * n ** 2`` of a norm ``n`` give this rule the
    # same operands, all 0, although their second derivatives are 2 and 6: no rule can return both.
    return grad * conj(grad_output / length)


@norm_backward.gradient("length")
def _(grad, grad_output, input, length):
    return -conj(norm_backward(conj(grad) * (grad_output / where(length == 0, 1, length)), input, length))


@lookup(export=False, exact_out=True)
def vector_norm(
    x: Layout, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType = None
) -> Any:
    """``sum(|x| ** ord) ** (1 / ord)`` over all or some dimensions, computed in ``dtype``.

    ``ord`` 0 counts the nonzero elements; infinity takes the largest absolute value, minus infinity the smallest.  The
    gradient is 0 where the norm is 0.  There the norm of order 2 has a kink: its second derivative is infinite or NaN,
    and so is that of expressions made of it, including ``vector_norm(x) ** 2``.  That of ``(x * x).sum()`` is defined.

    Raises:
        RuntimeError: the elements are integers or bools, or an empty tensor's norm of this order is undefined.

    Example:
        >>> import numgrad
        >>> numgrad.linalg.vector_norm(numgrad.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if isinstance(ord, bool) or not isinstance(ord, int | float):
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}"
        )
    chosen = x.type.dtype
    check(
        chosen.category > int64.category,
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}", chosen.legacy, x,
    )
    check(
        dtype is None or dtype.is_complex or not chosen.is_complex,
        "linalg.vector_norm: dtype should be complex for complex inputs, but got {!s}", dtype and dtype.legacy, x,
    )
    dims = normal_dims(dim, len(x.shape))
    if ord < 0 or ord in _INFINITE:
        _check_identity(x, ord, dim, dims)
    return vector_norm_op, (float(ord), dims, keepdim, real_of(dtype or chosen))


def _check_identity(x: Layout, ord: float, dim: Any, dims: tuple[int, ...]) -> None:
    """Raise if the norm of an empty tensor or dimension is needed and undefined."""
    whole = dim is None or (isinstance(dim, Sequence) and len(dim) == 0)
    check(
        not whole or x.size != 0,
        "linalg.vector_norm cannot compute the {} norm on an empty tensor because the operation does not have an "
        "identity", ord, x,
    )
    for number in dims:
        check(
            not x.shape or x.shape[number] != 0,
            "linalg.vector_norm cannot compute the {} norm on the dimension {} because this dimension is empty and "
            "the operation does not have an identity", ord, number, x,
        )


@composite(method=False)
@autocasting
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """``sum(x1 * x2) / (norm(x1) * norm(x2))`` along a dimension, which is removed; norms are at least ``eps``.

    Args:
        x1, x2: floating-point numbers, of shapes that broadcast.
        dim: the dimension of the vectors.
        eps: keeps the divisor from 0.

    Raises:
        RuntimeError: the dtypes are not floating-point, or the shapes do not broadcast.
        IndexError: the dimension is out of range.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.cosine_similarity(numgrad.tensor([[1.0, 0.0]]), numgrad.tensor([[1.0, 0.0]]))
        tensor([1.])
    """
    dtype = promote_types(x1.dtype, x2.dtype)
    check(
        dtype.is_floating_point,
        "expected common dtype to be floating point, yet common dtype is {}", dtype.legacy, x1, x2,
    )
    x1, x2 = convert(x1, dtype), convert(x2, dtype)
    if x1._layout.shape != x2._layout.shape:
        shape = broadcast_shapes(x1._layout.shape, x2._layout.shape)
        x1, x2 = expand_op(x1, shape), expand_op(x2, shape)
    dim = normal_dim(dim, len(x1._layout.shape))
    units = []
    for x in (x1, x2):
        norm = clone(x.norm(2, dim, True))
        with no_grad():  # a norm raised to eps keeps the derivative of the norm
            norm.clamp_(min=eps)
        units.append(x / norm)
    return (units[0] * units[1]).sum(dim)


@composite(method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which is removed unless ``keepdim``.

    Args:
        x1, x2: vectors, of shapes that broadcast.
        p: the order of the norm.
        eps: keeps the difference from 0, where the norm has no derivative.
        keepdim: True to keep the last dimension, with size 1.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.pairwise_distance(numgrad.tensor([[0.0, 0.0]]), numgrad.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    last = len(broadcast_shapes(x1._layout.shape, x2._layout.shape)) - 1
    return (x1 - x2 + eps).norm(p, last, keepdim)


@composite
@autocasting
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``, whose shapes broadcast, as a 0-d tensor.

    Raises:
        RuntimeError: the shapes do not broadcast, or the elements are integers or bools.

    Example:
        >>> import numgrad
        >>> numgrad.dist(numgrad.tensor([0.0, 0.0]), numgrad.tensor([3.0, 4.0]))
        tensor(5.)
    """
    check_tensors("dist", other=other)
    return (input - other).norm(p)


@composite(method=False)
@autocasting
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``x1`` (..., P, M) from all rows of ``x2`` (..., R, M).

    The result is of shape (..., P, R).  For ``p`` = 2 and more than 25 rows, a product of matrices gives the distances;
    their errors may then reach ``norm * sqrt(eps)`` where rows almost agree.

    Args:
        x1, x2: floating-point numbers, whose dimensions before the last two broadcast.
        p: the order of the norm.
        compute_mode: "use_mm_for_euclid_dist" or "donot_use_mm_for_euclid_dist", to use that product always or never;
            "use_mm_for_euclid_dist_if_necessary" by default.

    Raises:
        RuntimeError: the tensors have no rows, their rows differ in length, or they are not floating-point numbers.
        ValueError: the mode is unknown.

    Example:
        >>> import numgrad
        >>> numgrad.cdist(numgrad.tensor([[0.0, 0.0]]), numgrad.tensor([[3.0, 4.0]]))
        tensor([[5.]])
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if len(x._layout.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x._layout.shape)}D")
    check(
        x1._layout.shape[-1] == x2._layout.shape[-1],
        "X1 and X2 must have the same number of columns. X1: {} X2: {}", x1._layout.shape[-1], x2._layout.shape[-1],
    )
    check_value(
        compute_mode is None or compute_mode in _EUCLIDEAN_MODES,
        "{} is not a valid value for compute_mode", compute_mode,
    )
    for name, x in (("X1", x1), ("X2", x2)):
        check(x.is_floating_point(), "cdist only supports floating-point dtypes, {} got: {}", name, x.dtype.legacy)
    rows = max(x1._layout.shape[-2], x2._layout.shape[-2])
    by_product = compute_mode == _EUCLIDEAN_MODES[0] or (compute_mode != _EUCLIDEAN_MODES[1] and rows > 25)
    if by_product and p == 2 and x1.dtype is x2.dtype and not x1.dtype.is_half:
        return _euclidean_distances(x1, x2)
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


_EUCLIDEAN_MODES = (
    "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary",
)  # fmt: skip


def _euclidean_distances(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the square roots of ``|a|^2 + |b|^2 - 2 a b``, with derivatives of 0 where they are 0."""
    lengths = [(x * x).sum(-1, True) for x in (x1, x2)]
    squares = matmul(x1 * -2, x2.transpose(-1, -2)) + lengths[0] + lengths[1].transpose(-1, -2)
    zero = squares <= 0
    return where(zero, 0.0, where(zero, 1.0, squares).sqrt())


@composite(method=False)
@autocasting
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``input`` (N, M) from all later ones, ``N * (N - 1) / 2``.

    Raises:
        RuntimeError: the input is not a matrix of floating-point numbers, or ``p`` is negative.

    Example:
        >>> import numgrad
        >>> numgrad.pdist(numgrad.tensor([[0.0, 0.0], [3.0, 4.0]]))
        tensor([5.])
    """
    shape = input._layout.shape
    check(len(shape) == 2, "pdist only supports 2D tensors, got: {}D", len(shape))
    check(input.is_floating_point(), "pdist only supports floating-point dtypes, not {}", input.dtype)
    check(p >= 0, "pdist only supports non-negative p values, not {}", p)
    first, second = triu_indices(shape[0], shape[0], 1, device=input.device)
    differences = input.index_select(0, first) - input.index_select(0, second)
    return differences.norm(p, 1) if shape[1] else differences.sum(1)


@composite
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each part ``input.select(dim, index)`` whose ``p``-norm exceeds ``maxnorm`` down to that norm.

    Args:
        input: floating-point or complex numbers, with at least two dimensions.
        p: the order of the norm, above 0.
        dim: the dimension whose indices select the parts.
        maxnorm: the largest norm, not negative.

    Raises:
        RuntimeError: the tensor has fewer than two dimensions or another dtype, or ``p`` or ``maxnorm`` is invalid.
        IndexError: the dimension is out of range.

    Example:
        >>> import numgrad
        >>> numgrad.renorm(numgrad.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    rank = len(input._layout.shape)
    check(p > 0, "renorm: non-positive-norm not supported (p={})", p)
    check(rank > 1, "renorm: input needs at least 2 dimensions, got {} dimensions", rank)
    check(maxnorm >= 0, "renorm: expected maxnorm to be >= 0 but got {}", maxnorm)
    check(
        input.is_floating_point() or input.is_complex(),
        "renorm: Expected a floating point or complex tensor as input. Got {}", input.dtype.legacy, input,
    )
    dim = normal_dim(dim, rank)
    norms = vector_norm(input, p, [other for other in range(rank) if other != dim], True)
    factors = where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
    return mul(input, factors)
