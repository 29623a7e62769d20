"""Multi-head attention: each head attends to its own projections of the queries, keys and values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from ...core.types import bool_, dtype
from ...ops.creation.factories import zeros_like
from ...ops.matrices.matmul import linear, matmul
from ...ops.network.attention import scaled_dot_product_attention
from ...ops.network.softmax import softmax
from ...ops.shapes.joining import cat
from ...ops.shapes.padding import pad
from ...ops.table.arguments import tensors_checked
from ...ops.table.checks import check, check_assertion
from ...tensors.tensor import Tensor
from .dropouts import dropout

__all__ = ["multi_head_attention_forward"]


@tensors_checked
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return multi-head attention: the heads' results, concatenated and projected (Vaswani et al., "Attention is all
    you need", 2017).

    Args:
        query: of shape (L, N, E), or (L, E) without a batch.
        key, value: of shape (S, N, E) or (S, E); with separate weights, the last size is that of each weight's columns.
        embed_dim_to_check: E.
        num_heads: the number of heads; each has ``E / num_heads`` of the projections' elements.
        in_proj_weight: of shape (3 * E, E): the stacked weights for queries, keys and values.
        in_proj_bias: of shape (3 * E,), or None.
        bias_k, bias_v: of shape (1, 1, E): an extra key and its value, for all examples; or None.
        add_zero_attn: True to add a key and a value of zeros.
        dropout_p: the probability with which an attention weight is dropped in training.
        out_proj_weight, out_proj_bias: the weight and bias of the output projection.
        training: True to apply dropout.
        key_padding_mask: of shape (N, S) or (S,): bool, true for keys to ignore, or numbers to add to the scores.
        need_weights: True to return the attention weights; without them it takes less time and memory.
        attn_mask: of shape (L, S), or (N * num_heads, L, S): bool, true where a query must not attend to a key, or
            numbers to add to the scores.
        use_separate_proj_weight: True to use ``q_proj_weight``, ``k_proj_weight`` and ``v_proj_weight`` instead of
            ``in_proj_weight``.
        q_proj_weight, k_proj_weight, v_proj_weight: each of shape (E, elements of a vector).
        static_k, static_v: of shape (N * num_heads, S, E / num_heads): keys and values of the heads, used instead of
            projections.
        average_attn_weights: True to return the mean of the weights over the heads.
        is_causal: a hint that the mask, which is still required, lets each query see the keys up to its own index.

    Returns:
        The result, of the query's shape, and the weights: of shape (N, L, S), or (N, num_heads, L, S) if they are not
        averaged, without N for an unbatched query; or None.

    Raises:
        AssertionError: dimensions or sizes do not fit, arguments are mutually exclusive or incomplete, or a mask is of
            integers.
        RuntimeError: the shape of ``attn_mask`` does not fit, or ``is_causal`` is set without a mask.
        ValueError: ``dropout_p`` is not a probability.
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if key_padding_mask is not None and not batched:
        key_padding_mask = key_padding_mask.unsqueeze(0)
    key_padding_mask = added_mask("key_padding_mask", key_padding_mask, query.dtype, attn_mask)
    check(
        not is_causal or attn_mask is not None,
        "Need attn_mask if specifying the is_causal hint. It says that the mask given is the causal one.",
    )
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else added_mask("attn_mask", attn_mask, query.dtype)

    embed_dim = query._layout.shape[-1]
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    width = embed_dim // num_heads
    check_assertion(width * num_heads == embed_dim, "embed_dim {} not divisible by num_heads {}", embed_dim, num_heads)
    if use_separate_proj_weight:
        weights = _separate_weights(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        weights = _packed_weights(key, value, in_proj_weight)
    projected = _projected((query, key, value), weights, in_proj_bias)
    q, k, v = projected if batched else [x.unsqueeze(1) for x in projected]

    length, batch = q._layout.shape[:2]
    if attn_mask is not None:
        attn_mask = _by_heads(attn_mask, length, k._layout.shape[0], batch, num_heads)
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            check_assertion(static is None, "bias cannot be added to static {}.", name)
        k, v = [cat([x, bias.expand(1, batch, -1)]) for x, bias in ((k, bias_k), (v, bias_v))]
    elif bias_k is not None or bias_v is not None:
        present, missing = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{present} is set but {missing} is None")
    sizes = batch, num_heads, width
    q = _heads(q, *sizes)
    k = _heads(k, *sizes) if static_k is None else _given_heads("static_k", static_k, *sizes)
    v = _heads(v, *sizes) if static_v is None else _given_heads("static_v", static_v, *sizes)
    if add_zero_attn:
        k, v = [pad(x, (0, 0, 0, 1)) for x in (k, v)]
    mask = _merged(attn_mask, key_padding_mask, (batch, k._layout.shape[2]), (bias_k is not None) + add_zero_attn)

    dropout_p = dropout_p if training else 0.0
    attention = None
    if need_weights:
        scores = matmul(q * math.sqrt(1 / width), k.transpose(2, 3))
        attention = softmax(scores if mask is None else scores + mask, -1)
        if dropout_p > 0:
            attention = dropout(attention, dropout_p)
        heads_out = matmul(attention, v)
        attention = attention.mean(1) if average_attn_weights else attention
    else:
        heads_out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    out = linear(heads_out.permute(2, 0, 1, 3).reshape(length, batch, embed_dim), out_proj_weight, out_proj_bias)
    if batched:
        return out, attention
    return out.squeeze(1), None if attention is None else attention.squeeze(0)


# -- masks --------------------------------------------------------------------------------------------------------


def added_mask(
    name: str, mask: Tensor | None, kind: dtype, other: Tensor | None = None, other_name: str = "attn_mask"
) -> Tensor | None:
    """Return the mask as numbers of this dtype to add to scores: minus infinity where a bool mask is true.

    ``other`` is another mask, which should have the same dtype.

    Raises:
        AssertionError: the mask is neither bool nor floating-point.
    """
    if mask is None:
        return None
    if mask.dtype is not bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, not {mask.dtype}")
    if other is not None and mask.dtype is not other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    return zeros_like(mask, dtype=kind).masked_fill_(mask, -math.inf) if mask.dtype is bool_ else mask


def _by_heads(mask: Tensor, queries: int, keys: int, batch: int, heads: int) -> Tensor:
    """Return a mask, of (queries, keys) or one per head, in a shape that broadcasts to (batch, heads, queries, keys).

    Raises:
        RuntimeError: the mask has another shape.
    """
    shape = mask._layout.shape
    expected = (queries, keys) if len(shape) == 2 else (batch * heads, queries, keys)
    if shape != expected:
        raise RuntimeError(f"The shape of the {len(shape)}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask if len(shape) == 2 else mask.view(batch, heads, queries, keys)


def _merged(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, expected: Sequence[int], added: int
) -> Tensor | None:
    """Return both masks merged into one, which hides none of the ``added`` keys.

    Raises:
        AssertionError: ``key_padding_mask``, extended by these keys, does not have the expected shape.
    """
    if key_padding_mask is None:
        mask = attn_mask
    else:
        batch, keys = key_padding_mask._layout.shape
        for dim, size in enumerate((batch, keys + added)):
            if size != expected[dim]:
                raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {expected[dim]}, but got {size}")
        mask = key_padding_mask.view(batch, 1, 1, keys)
        mask = mask if attn_mask is None else attn_mask + mask
    return pad(mask, (0, added)) if mask is not None and added else mask


# -- projections and heads ----------------------------------------------------------------------------------------


def _packed_weights(key: Tensor, value: Tensor, weight: Tensor | None) -> Sequence[Tensor]:
    """Return the single weight, after checking it.

    Raises:
        AssertionError: there is none, or the shapes of keys and values differ.
    """
    if key._layout.shape != value._layout.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    return [weight]


def _separate_weights(
    query: Tensor, key: Tensor, value: Tensor, weights: Sequence[Tensor | None], bias: Tensor | None
) -> Sequence[Tensor]:
    """Return the three weights, after checking them.

    Raises:
        AssertionError: one is missing, or the shapes do not fit.
    """
    if key._layout.shape[:-1] != value._layout.shape[:-1]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:-1]} do not match value's {value.shape[:-1]}"
        )
    embed_dim = query._layout.shape[-1]
    result = []
    for name, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        result.append(weight)
    names = "query", "key", "value"
    for name, x, weight in zip(names, (query, key, value), result, strict=True):
        expected = embed_dim, x._layout.shape[-1]
        if weight._layout.shape != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")
    if bias is not None:
        for name, part in zip(names, bias.chunk(3), strict=False):
            if part._layout.shape != (embed_dim,):
                raise AssertionError(f"expecting {name} bias shape of {(embed_dim,)}, but got {part.shape}")
    return result


def _projected(inputs: Sequence[Tensor], weights: Sequence[Tensor], bias: Tensor | None) -> Sequence[Tensor]:
    """Return ``inputs @ weights.T + bias`` for queries, keys and values, as one product if all inputs are the same."""
    if len(weights) == 1:
        if inputs[0] is inputs[1] is inputs[2]:
            return linear(inputs[0], weights[0], bias).chunk(3, -1)
        weights = weights[0].chunk(3)
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [linear(x, weight, part) for x, weight, part in zip(inputs, weights, biases, strict=True)]


def _heads(x: Tensor, batch: int, heads: int, width: int) -> Tensor:
    """Return (length, batch, heads * width) as (batch, heads, length, width)."""
    return x.view(x._layout.shape[0], batch, heads, width).permute(1, 2, 0, 3)


def _given_heads(name: str, x: Tensor, batch: int, heads: int, width: int) -> Tensor:
    """Return (batch * heads, length, width) as (batch, heads, length, width).

    Raises:
        AssertionError: the tensor has another shape.
    """
    for dim, expected in ((0, batch * heads), (2, width)):
        if x._layout.shape[dim] != expected:
            raise AssertionError(f"expecting {name}.size({dim}) of {expected}, but got {x._layout.shape[dim]}")
    return x.view(batch, heads, -1, width)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, heads: int
) -> bool:
    """Return True if there is a batch.

    Raises:
        AssertionError: the numbers of dimensions are inconsistent.
    """
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    expecting = f"For {'un' if rank == 2 else ''}batched ({rank}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"{expecting} `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise AssertionError(
            f"{expecting} `key_padding_mask` to be `None` or {rank - 1}-D but found {key_padding_mask.dim()}-D tensor "
            "instead"
        )
    if attn_mask is None:
        return rank == 3
    check_assertion(
        attn_mask.dim() in (2, 3),
        "{} `attn_mask` to be `None`, 2-D or 3-D but found {}-D tensor instead", expecting, attn_mask.dim(),
    )
    expected = heads, query._layout.shape[0], key._layout.shape[0]
    if rank == 2 and attn_mask.dim() == 3 and attn_mask._layout.shape != expected:
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return rank == 3
