"""Attention: a mean of values, weighted by how well their keys match a query."""

from __future__ import annotations

import math
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.formats import kept_layout
from ...core.layout import Layout, layout_of
from ...core.types import bool_, float32
from ...devices import Given, Plan, TensorRef
from ...tensors.tensor import Tensor, check_one_device
from ..composition import differentiated_as
from ..creation.factories import ones
from ..matrices.matmul import matmul
from ..memory.copying import contiguous
from ..pointwise.arithmetic import mul
from ..pointwise.comparison import where
from ..shapes.dimensions import transpose_op
from ..table.autocasting import autocasting
from ..table.checks import check, check_implemented, check_supported
from ..table.lookup import operation
from ..table.op import public
from .dropout import dropout
from .softmax import safe_softmax, softmax_backward


@public(export=False)
@autocasting
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: of shape (..., L, E).
        key: of shape (..., S, E).
        value: of shape (..., S, Ev).
        attn_mask: of a shape that broadcasts to (..., L, S): bool, true where a query may see a key, or numbers to
            add to the scores, of float32 or the query's dtype.
        dropout_p: the probability with which a weight is dropped.
        is_causal: True if a query sees only the keys up to its own index, in addition to the mask.
        scale: ``1 / sqrt(E)`` unless given.
        enable_gqa: True if keys and values may have fewer heads (dimension -3) than queries; each head is then shared
            by several queries' heads.

    Returns:
        A tensor of shape (..., L, Ev); 0 for a query that may see no key.

    Raises:
        RuntimeError: the shapes or dtypes do not match.
        IndexError: ``enable_gqa`` is set and there is no dimension of heads.
        NotImplementedError: the dtype is not a floating-point one.

    Example:
        >>> import numgrad
        >>> from numgrad.nn import functional as F
        >>> F.scaled_dot_product_attention(numgrad.ones(2, 4), numgrad.ones(3, 4), numgrad.ones(3, 5)).shape
        torch.Size([2, 5])
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = [_repeated_heads(x, query) for x in (key, value)]
    if scale is None:
        scale = 1 / math.sqrt(query._layout.shape[-1]) if query._layout.shape[-1] else math.nan
    if attn_mask is None and not dropout_p and _in_heads(query, key, value):
        return attention_op(query, key, value, is_causal, scale)[0]
    if is_causal:
        causal = _causal_mask(query, key)
        attn_mask = causal if attn_mask is None else _both(attn_mask, causal)
    weights = _weights(query, key, attn_mask, scale)
    return matmul(dropout(weights, dropout_p, True), value)


def _causal_mask(query: Tensor, key: Tensor) -> Tensor:
    return ones((query._layout.shape[-2], key._layout.shape[-2]), dtype=bool_, device=query.device).tril()


def _both(mask: Tensor, causal: Tensor) -> Tensor:
    """Return a mask that hides every key hidden by either mask."""
    return mask & causal if mask.dtype is bool_ else where(causal, mask, -math.inf)


def _weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return ``softmax(query @ key.T * scale + mask)``."""
    root = math.sqrt(abs(scale))  # scales both factors, so that their product does not overflow
    scores = matmul(query * math.copysign(root, scale), key.transpose(-2, -1) * root)
    if mask is not None:
        if mask.dtype is bool_:
            mask = where(mask, 0.0, -math.inf).to(query.dtype)
        shape = scores._layout.shape
        scores = scores + mask
        check(
            scores._layout.shape == shape,
            "output with shape {} doesn't match the broadcast shape {}: the mask, of shape {}, must broadcast to the "
            "scores", shape, scores, mask,
        )
    return safe_softmax(scores, len(scores._layout.shape) - 1)


# -- one fused kernel ---------------------------------------------------------------------------------------------


def _in_heads(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return True if these are nonempty heads of one width that need no broadcasting, with contiguous rows."""
    shape = query._layout.shape
    return (
        len(shape) == 4
        and key._layout.shape == value._layout.shape == (*shape[:2], key._layout.shape[-2], shape[3])
        and 0 not in shape
        and 0 not in key._layout.shape
        and all(x._layout.strides[3] == 1 for x in (query, key, value))
    )


@operation(
    "ScaledDotProductFlashAttentionForCpuBackward0", aten="scaled_dot_product_attention",
    inputs=["query", "key", "value"], extras=["statistics"], joint=True,
    batch=1,
)
def attention_op(
    p: Plan, query: TensorRef, key: TensorRef, value: TensorRef, is_causal: bool, scale: float
) -> tuple[TensorRef, TensorRef]:
    """Add the steps of attention of (b, h, l, e) queries to (b, h, s, e) keys and values, without a mask or dropout.

    The second result holds, for each query, the largest unscaled score and the reciprocal of the sum of the weights
    relative to the largest weight.

    Raises:
        NotImplementedError: the dtype is not a floating-point one.
    """
    check_supported(query, "f", "flash_attention")
    shape = *query.shape[:3], 2
    if not _has_kernel(query, key):
        layout = layout_of(query.type, query.shape)
        (out,) = p.host(_attended, [layout], *_as_given(query, key, value), is_causal, scale)
        return out, p.new_tensor(layout_of(query.type, shape))
    out = p.new_tensor(_like(query))
    return out, p.tensor(p.backend.attention(p, query, key, value, out, is_causal, scale), query.type, shape)


def _as_given(*tensors: TensorRef) -> list[Given]:
    """Return references to the operands of the call, as arguments of a host function that computes with tensors."""
    return [Given(tensor.memory.number) for tensor in tensors]


def _attended(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float) -> tuple[Any]:
    """Return the storage of the result, computed by other operations."""
    with no_grad():
        mask = _causal_mask(query, key) if is_causal else None
        return (matmul(_weights(query, key, mask, scale), value)._storage,)


@attention_op.gradient("query", "key", "value")
def _(grad, query, key, value, out, statistics, is_causal, scale):
    """``P = softmax(scale * query @ transpose(key), -1); S = scale * P * (grad @ transpose(value) - sum(grad * out,
    -1)); (S @ key, transpose(S) @ query, transpose(P) @ grad)``.
    """
    return attention_backward(grad, query, key, value, out, statistics, is_causal, scale)


@operation(
    "ScaledDotProductFlashAttentionForCpuBackwardBackward0",
    aten="_scaled_dot_product_flash_attention_for_cpu_backward",
    inputs=["grad_output", "query", "key", "value", "out", "statistics"], nondifferentiable=["out", "statistics"],
    outputs=["of_query", "of_key", "of_value"], batch=1,
)
def attention_backward(
    p: Plan, grad_output: TensorRef, query: TensorRef, key: TensorRef, value: TensorRef, out: TensorRef,
    statistics: TensorRef, is_causal: bool, scale: float,
) -> tuple[TensorRef, ...]:
    """Add the steps that compute the gradients of query, key and value.

    The rule accounts for the result and ``statistics`` being functions of these.
    """
    inputs = query, key, value
    grads = tuple([p.new_tensor(_like(gradient)) for gradient in inputs])
    if _has_kernel(query, key):
        tensors = (*inputs, out, grad_output)
        p.backend.attention_backward(p, tensors, grads, p.contiguous(statistics), is_causal, scale)
    else:
        layouts = [layout_of(layout.type, layout.shape) for layout in inputs]
        computed = p.host(_slopes, layouts, *_as_given(grad_output, *inputs), is_causal, scale)
        for gradient, grad in zip(computed, grads, strict=True):
            p.assign(gradient, grad)
    return grads


def _slopes(*arguments: Any) -> list[Any]:
    """Return the storage of each gradient, computed by other operations."""
    with no_grad():
        return [contiguous(gradient)._storage for gradient in _gradients(*arguments)]


@differentiated_as(attention_backward)
def _gradients(
    grad_output: Tensor, query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of query, key and value, computed by other operations."""
    weights = _weights(query, key, _causal_mask(query, key) if is_causal else None, scale)
    slopes = mul(softmax_backward(matmul(grad_output, _transposed(value)), weights, 3), scale)
    return matmul(slopes, key), matmul(_transposed(slopes), query), matmul(_transposed(weights), grad_output)


def _transposed(heads: Tensor) -> Tensor:
    return transpose_op(heads, 2, 3)


def _has_kernel(query: TensorRef, key: TensorRef) -> bool:
    return query.type.backend.attention_is_fused(query.type) and query.size > 0 and key.size > 0


def _like(heads: TensorRef) -> Layout:
    """Return the layout of a result like ``heads``, with its order of dimensions if that makes rows contiguous."""
    kept = kept_layout(heads.layout)
    return kept if kept.strides[3] == 1 else layout_of(heads.type, heads.shape)


# -- validation of the arguments ----------------------------------------------------------------------------------


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    inputs = (query, key, value)
    if any(x._layout.type is not query._layout.type for x in inputs):
        check_one_device(*inputs)
        check(
            False, "Expected query, key, and value to have the same dtype, but got {}, {}, {}",
            *[x.dtype for x in inputs], *inputs,
        )
    check(
        all(len(x._layout.shape) >= 2 for x in inputs),
        "Expected query, key, and value to all be at least 2 dimensional, but got {}, {}, {}", *inputs,
    )
    if attn_mask is not None and attn_mask.dtype not in (bool_, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and query.dtype: {query.dtype}"
        )
    check_implemented(
        not query._layout.type.dtype.is_complex,
        "\"softmax_lastdim_kernel_impl\" not implemented for '{}'", query.dtype.legacy, *inputs,
    )


def _repeated_heads(x: Tensor, query: Tensor) -> Tensor:
    """Return the heads of keys or values, each repeated so that there is one for each head of the queries.

    Raises:
        RuntimeError: the number of heads does not divide the number of the queries' heads.
        IndexError: there is no dimension of heads.
    """
    heads, query_heads = x.size(-3), query.size(-3)
    check(
        heads != 0 and query_heads % heads == 0,
        "Number of heads in key and value must divide the number of heads in query", x, query,
    )
    shape = x._layout.shape
    repeated = x.unsqueeze(-3).expand(*shape[:-2], query_heads // heads, *shape[-2:])
    return repeated.reshape(*shape[:-3], query_heads, *shape[-2:])
