"""Weights factored into direction and length, and the lengths of weights."""

from __future__ import annotations

from ...core.layout import layout_of, normal_dim
from ...core.types import real_of
from ...devices import Plan, TensorRef
from ...tensors.tensor import Tensor
from ..batching.physical import expanded
from ..pointwise.arithmetic import div, mul, sub
from ..reductions.axes import reduced_shape
from ..reductions.norms import vector_norm_op
from ..reductions.sums import sum_dims
from ..shapes.views import reshape
from ..table.checks import check, check_supported
from ..table.lookup import operation
from ..table.op import composite
from ..table.operands import fused


def _others(rank: int, *dims: int) -> tuple[int, ...]:
    """Return all dimensions except these."""
    return tuple([each for each in range(rank) if each not in dims])


def _lengths(v: Tensor, *dims: int, order: float = 2.0) -> Tensor:
    """Return the norms over all dimensions except these."""
    return vector_norm_op(v, order, _others(len(v._layout.shape), *dims), True, real_of(v.dtype))


@operation("WeightNormInterfaceBackward0", aten="_weight_norm_interface", inputs=["v", "g"], joint=True)
def weight_norm_op(p: Plan, v: TensorRef, g: TensorRef, dim: int) -> TensorRef:
    """Add the steps of ``v * (g / norm(v))``, with the norms over all dimensions but ``dim``; ``g`` has their shape."""
    check_supported(v, "f", "weight_norm_kernel")
    check(g.type is v.type, "expected scalar type {} but found {} (v and g)", v.type.dtype.legacy, g.type.dtype.legacy)
    lengths = vector_norm_op.build(p, v, 2.0, _others(len(v.shape), dim), True, v.type.dtype)
    return fused(p, "weight_norm", _scaled, [v, g, lengths], layout_of(v.type, v.shape))


def _scaled(v, g, length):
    return v * (g / length)


@weight_norm_op.batched
def _(v, g, dim):
    v, g = expanded(v), expanded(g)
    return mul(v, div(g, _lengths(v, 0, dim + 1)))


@weight_norm_op.gradient("v", "g")
def _(grad, needed, v, g, dim):
    """``u = v / norm(v); ((grad - u * sum(grad * u)) * g / norm(v), sum(grad * u))``."""
    lengths = _lengths(v, dim)
    unit = div(v, lengths)
    along = sum_dims(mul(grad, unit), _others(len(v._layout.shape), dim), True)
    of_v = mul(sub(grad, mul(unit, along)), div(g, lengths)) if needed[0] else None
    return of_v, along


def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Return ``v * (g / norm_except_dim(v, 2, dim))``: the weight with the direction of ``v`` and the length ``g``.

    Args:
        v: floating-point numbers.
        g: of the shape of the norms.
        dim: the dimension along which each slice has a length of its own; -1 stands for one length of the whole.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        IndexError: ``dim`` is out of range.
        NotImplementedError: the dtype of ``v`` is not a floating-point one.
    """
    rank = len(v._layout.shape)
    if dim not in (0, rank - 1):
        return mul(v, div(g, norm_except_dim(v, 2, dim)))
    shape = reduced_shape(v._layout.shape, _others(rank, dim), True)
    return weight_norm_op(v, g if g._layout.shape == shape else reshape(g, shape), dim)


@composite(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of order ``pow`` over all dimensions but ``dim``, each kept with size 1.

    For ``dim=-1`` the result is the norm of all elements, a 0-d tensor.

    Raises:
        IndexError: ``dim`` is out of range.
        RuntimeError: the dtype is an integer one or bool.
    """
    check(
        v.dtype.is_floating_point or v.dtype.is_complex,
        "norm(): input dtype should be either floating point or complex. Got {} instead.", v.dtype.legacy,
    )
    return v.norm(pow) if dim == -1 else _lengths(v, normal_dim(dim, len(v._layout.shape)), order=float(pow))
