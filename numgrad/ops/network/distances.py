"""How far vectors are apart: the cosine of their angle, and the norm of their difference."""

from __future__ import annotations

from ..._layout import broadcast_shapes, normal_dim
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..copying import clone, convert
from ..promotion import promote_types
from ..shapes.views import expand_op
from ..table import check_tensors, composite

__all__ = ["cdist", "cosine_similarity", "dist", "pairwise_distance"]


@composite(method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """``sum(x1 * x2) / (norm(x1) * norm(x2))`` along a dimension, which goes; no norm counts for less than ``eps``.

    Args:
        x1, x2: floating-point numbers, of shapes that broadcast.
        dim: the dimension that the vectors lie along.
        eps: keeps the divisor from 0.

    Raises:
        RuntimeError: the dtypes are not floating-point, or the shapes do not broadcast.
        IndexError: there is no such dimension.
    """
    kind = promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {kind.legacy} (shapes "
            f"{list(x1.shape)}, {list(x2.shape)})"
        )
    x1, x2 = convert(x1, kind), convert(x2, kind)
    if x1._layout.shape != x2._layout.shape:
        shape = broadcast_shapes(x1._layout.shape, x2._layout.shape)
        x1, x2 = expand_op(x1, shape), expand_op(x2, shape)
    dim = normal_dim(dim, len(x1._layout.shape))
    units = []
    for x in (x1, x2):
        norm = clone(x.norm(2, dim, True))
        with no_grad():  # where the norm is raised to eps, it still has the derivative of the norm
            norm.clamp_(min=eps)
        units.append(x / norm)
    return (units[0] * units[1]).sum(dim)


@composite(method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which goes unless it is kept.

    Args:
        x1, x2: vectors, of shapes that broadcast.
        p: the order of the norm.
        eps: keeps the difference from 0, where the norm has no derivative.
        keepdim: whether the last dimension stays, with size 1.
    """
    last = len(broadcast_shapes(x1._layout.shape, x2._layout.shape)) - 1
    return (x1 - x2 + eps).norm(p, last, keepdim)


@composite
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``, whose shapes broadcast, as one number.

    Raises:
        RuntimeError: the shapes do not broadcast, or the elements are integers or bools.
    """
    check_tensors("dist", other=other)
    return (input - other).norm(p)


@composite(method=False)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``x1`` (..., P, M) from all rows of ``x2`` (..., R, M).

    The result is of shape (..., P, R).  ``compute_mode`` is PyTorch's advice on speed, which is not needed here.

    Raises:
        RuntimeError: the tensors have no rows, or their rows differ in length.
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if len(x._layout.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {len(x._layout.shape)}D")
    if x1._layout.shape[-1] != x2._layout.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._layout.shape[-1]} X2: {x2._layout.shape[-1]}"
        )
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
