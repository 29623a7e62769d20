"""Multi-head attention as a module."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .. import functional, init
from .linear import NonDynamicallyQuantizableLinear
from .module import Configured

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Configured):
    """Multi-head attention: each head attends to its own projections of the queries, keys and values.

    The call returns the result of ``functional.multi_head_attention_forward`` with these parameters: a tensor of the
    query's shape, and the attention weights or None.

    Args:
        embed_dim: E, the size of a query, and of all projections together.
        num_heads: the number of heads, which must divide ``embed_dim``.
        dropout: the probability with which an attention weight is dropped in training.
        bias: True if the projections have biases.
        add_bias_kv: True to add a learnt key and value.
        add_zero_attn: True to add a key and a value of zeros.
        kdim, vdim: the sizes of a key and of a value; E by default.
        batch_first: True if tensors are of shape (N, L, E), False for (L, N, E).
        device: the device of the parameters.
        dtype: the dtype of the parameters.

    Raises:
        ValueError: ``embed_dim`` or ``num_heads`` is not positive.
        AssertionError: ``num_heads`` does not divide ``embed_dim``.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
        >>> x = numgrad.zeros(1, 5, 8)
        >>> output, weights = layer(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([1, 5, 8]), torch.Size([1, 5, 5]))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        kdim, vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        super().__init__(
            embed_dim=embed_dim, kdim=kdim, vdim=vdim, num_heads=num_heads, dropout=dropout, batch_first=batch_first,
            head_dim=embed_dim // num_heads, add_zero_attn=add_zero_attn,
        )
        self._qkv_same_embed_dim = kdim == vdim == embed_dim
        if embed_dim % num_heads:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads: got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        packed = self._qkv_same_embed_dim
        self._add_parameters(
            device, dtype,
            in_proj_weight=(3 * embed_dim, embed_dim) if packed else None,
            q_proj_weight=None if packed else (embed_dim, embed_dim),
            k_proj_weight=None if packed else (embed_dim, kdim),
            v_proj_weight=None if packed else (embed_dim, vdim),
            in_proj_bias=(3 * embed_dim,) if bias else None,
        )
        if add_bias_kv:
            self._add_parameters(device, dtype, bias_k=(1, 1, embed_dim), bias_v=(1, 1, embed_dim))
        else:
            self.bias_k = self.bias_v = None
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the weights of the projections and the extra key and value; set biases to zeros."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = _transposed(query, key, value)
        out, weights = functional.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )
        return out.transpose(0, 1) if transposed else out, weights


def _transposed(*tensors: Tensor) -> list[Tensor]:
    """Return the tensors with their first two dimensions exchanged; identical tensors stay identical."""
    views = {id(tensor): tensor.transpose(0, 1) for tensor in tensors}
    return [views[id(tensor)] for tensor in tensors]
