"""Attention: a mean of values, weighted by how well their keys match a query."""

from __future__ import annotations

import math

from ..._tensor import Tensor
from ..._types import bool_
from ..creation.filled import ones
from ..matrices.matmul import matmul
from ..pointwise.comparison import where
from .dropout import dropout
from .softmax import safe_softmax

__all__ = ["scaled_dot_product_attention"]


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
            add to the scores.
        dropout_p: the probability with which a weight is dropped.
        is_causal: whether a query sees only the keys up to its own place.
        scale: ``1 / sqrt(E)`` unless given.
        enable_gqa: whether there may be fewer heads, dimension -3, of keys and values than of queries; each is then
            used for several.

    Returns:
        A tensor of shape (..., L, Ev); 0 where a query may see no key.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or both a mask and ``is_causal`` are given.
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = [_repeated_heads(x, query) for x in (key, value)]
    if is_causal:
        attn_mask = ones((query._shape[-2], key._shape[-2]), dtype=bool_).tril()
    if scale is None:
        scale = 1 / math.sqrt(query._shape[-1]) if query._shape[-1] else math.nan
    root = math.sqrt(abs(scale))  # on both factors, lest their product overflow
    scores = matmul(query * math.copysign(root, scale), key.transpose(-2, -1) * root)
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            attn_mask = where(attn_mask, 0.0, -math.inf).to(query.dtype)
        scores = scores + attn_mask
    weights = safe_softmax(scores, len(scores._shape) - 1)
    return matmul(dropout(weights, dropout_p, True), value)


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    given = (query, key, value)
    shapes = ", ".join(str(list(x._shape)) for x in given)
    if any(x._type is not query._type for x in given):
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"{', '.join(str(x.dtype) for x in given)} (shapes {shapes})"
        )
    if any(len(x._shape) < 2 for x in given):
        raise RuntimeError(f"Expected query, key, and value to all be at least 2 dimensional, but got {shapes}")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if attn_mask.dtype is not bool_ and attn_mask._type is not query._type:
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask.dtype: {attn_mask.dtype} "
            f"and query.dtype: {query.dtype}"
        )


def _repeated_heads(x: Tensor, query: Tensor) -> Tensor:
    """Each head of keys or values as often as it takes to have one for each head of the queries.

    Raises:
        RuntimeError: the number of the queries' heads is no multiple of it.
    """
    heads, wanted = x._shape[-3], query._shape[-3]
    if heads == 0 or wanted % heads:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query (shapes {list(x._shape)}, "
            f"{list(query._shape)})"
        )
    shape = x._shape
    repeated = x.unsqueeze(-3).expand(*shape[:-2], wanted // heads, *shape[-2:])
    return repeated.reshape(*shape[:-3], wanted, *shape[-2:])
