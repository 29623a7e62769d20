"""Transformers: layers of attention and two linear maps, stacks of layers, and an encoder with a decoder."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ...autograd.grad_mode import is_grad_enabled
from ...ops.creation.factories import full
from ...tensors.tensor import Tensor
from .. import functional, init
from ..functional.attention import added_mask
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Configured, Module
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]  # fmt: skip

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": functional.relu, "gelu": functional.gelu}


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return an activation by its name.

    Raises:
        RuntimeError: there is none of this name.
    """
    if activation not in _ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return _ACTIVATIONS[activation]


def _get_clones(module: Module, N: int) -> ModuleList:
    """Return ``N`` copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


class _Layer(Module):
    """The base class of encoder and decoder layers; see :class:`TransformerEncoderLayer`."""

    #: The names of the attention modules.
    _attentions: tuple[str, ...]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for number in parts:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **where))
        for number in parts:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """Return the self-attention of the sequence."""
        attended, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(attended)

    def _widened(self, x: Tensor) -> Tensor:
        """Return the result of the two linear maps with the activation in between."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention followed by two linear maps; the result of each part is added to its input.

    Args:
        d_model: E, the size of a vector.
        nhead: the number of attention heads.
        dim_feedforward: the size between the two linear maps.
        dropout: the probability with which, in training, an element is dropped: of attention weights, between the
            linear maps, and of each part's result.
        activation: the function between the linear maps: "relu", "gelu", or a callable.
        layer_norm_eps: the number that layer normalization adds to the variance.
        batch_first: True if tensors are of shape (N, S, E), False for (S, N, E).
        norm_first: True to normalize the input of each part, False to normalize the sum of its input and result.
        bias: True if linear maps and normalizations have biases.
        device, dtype: those of the parameters.

    Raises:
        RuntimeError: there is no activation of this name.
        ValueError, AssertionError: as in :class:`MultiheadAttention` and :class:`Dropout`.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
        >>> layer(numgrad.ones(2, 5, 8)).shape
        torch.Size([2, 5, 8])
    """

    _attentions = ("self_attn",)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return a tensor of the shape of ``src``; the arguments are those of :class:`TransformerEncoder`."""
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._widened(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, then two linear maps.

    The arguments are those of :class:`TransformerEncoderLayer`.
    """

    _attentions = "self_attn", "multihead_attn"

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:
        """Return a tensor of the shape of ``tgt``; the arguments are those of :class:`TransformerDecoder`."""
        to_itself = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        to_memory = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), *to_itself)
            x = x + self._mha_block(self.norm2(x), *to_memory)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, *to_itself))
        x = self.norm2(x + self._mha_block(x, *to_memory))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the attention of the sequence to the encoder's output."""
        attended, _ = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout2(attended)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._widened(x))


class _Stack(Configured):
    """The base class of stacks of copies of a layer, with ``norm`` applied to the last copy's result."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None, **arguments: Any) -> None:
        super().__init__(num_layers=num_layers, **arguments)
        self.layers = _get_clones(layer, num_layers)
        self.norm = norm


class TransformerEncoder(_Stack):
    """A stack of copies of a layer.

    Args:
        encoder_layer: the layer, such as a :class:`TransformerEncoderLayer`.  The copies start with its parameters.
        num_layers: the number of copies.
        norm: a module applied to the last copy's result.
        enable_nested_tensor: True if, in evaluation without gradients, the positions hidden by a padding mask may be
            skipped: they are then zeros before ``norm``.  As in PyTorch, this applies to layers with ``batch_first``,
            biases, "relu" or "gelu", an even number of heads and without ``norm_first``, if there is no other mask and
            all padding is at the end of sequences.
        mask_check: ignored, because the padding is always checked.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(
            encoder_layer, num_layers, norm, enable_nested_tensor=enable_nested_tensor, mask_check=mask_check,
            use_nested_tensor=enable_nested_tensor and _leaves_out_padding(encoder_layer),
        )

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return a tensor of the shape of ``src``.

        Args:
            src: the sequences, of shape (S, N, E), with ``batch_first`` (N, S, E), for a single one (S, E).
            mask: of shape (S, S) or (N * heads, S, S): bool, true where an element must not attend to another, or
                numbers to add to the scores.
            src_key_padding_mask: of shape (N, S), or (S,) for a single sequence: a mask of the elements attended to.
            is_causal: True if ``mask`` lets each element attend to those up to itself; determined from the mask by
                default.

        Raises:
            AssertionError: dimensions or sizes do not fit, or a mask is of integers.
            RuntimeError: the shape of ``mask`` does not fit, or ``is_causal`` is set without a mask.
        """
        padding = added_mask("src_key_padding_mask", src_key_padding_mask, src.dtype, mask, "mask")
        mask = added_mask("mask", mask, src.dtype)
        is_causal = _is_causal(mask, is_causal, src, self.layers)
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._leaves_out(src):
            hidden = padding == -math.inf
            if (hidden[:, 1:] >= hidden[:, :-1]).all() and (hidden | (padding == 0)).all():
                x = x.masked_fill(hidden.unsqueeze(-1), 0)
        return x if self.norm is None else self.norm(x)

    def _leaves_out(self, src: Tensor) -> bool:
        """Return True if padding is skipped, provided that all of it is at the end of sequences."""
        if src.dim() != 3 or not self.use_nested_tensor or self.layers[0].training:
            return False
        return not is_grad_enabled() or not (
            src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())
        )


class TransformerDecoder(_Stack):
    """A stack of copies of a layer, each of which also attends to an encoder's output.

    Args:
        decoder_layer: the layer, such as a :class:`TransformerDecoderLayer`.  The copies start with its parameters.
        num_layers: the number of copies.
        norm: a module applied to the last copy's result.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:
        """Return a tensor of the shape of ``tgt``.

        Args:
            tgt: the sequences, of shape (T, N, E), with ``batch_first`` (N, T, E), for a single one (T, E).
            memory: the encoder's output, of shape (S, N, E), (N, S, E) or (S, E).
            tgt_mask, tgt_key_padding_mask, tgt_is_causal: the masks for self-attention of ``tgt``, as in
                :class:`TransformerEncoder`.
            memory_mask: of shape (T, S) or (N * heads, T, S): such a mask for attention to ``memory``.
            memory_key_padding_mask: of shape (N, S) or (S,): such a mask of the elements of ``memory``.
            memory_is_causal: True if ``memory_mask`` is causal.

        Raises:
            AssertionError: dimensions or sizes do not fit, or a mask is of integers.
            RuntimeError: the shape of a mask does not fit, or a causal flag is set without a mask.
        """
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder (Vaswani et al. 2017, "Attention Is All You Need").

    Args:
        num_encoder_layers, num_decoder_layers: the numbers of layers.
        custom_encoder, custom_decoder: modules to use instead of the encoder and the decoder.
        others: those of :class:`TransformerEncoderLayer`.

    Matrices, including those of custom modules, are drawn by ``init.xavier_uniform_``.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = functional.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **where)

        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*sizes, **where)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, **where)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        """Reinitialize all matrices."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the decoder's output for ``tgt`` and the encoder's output for ``src``: a tensor of the shape of
        ``tgt``.

        The arguments are those of :class:`TransformerEncoder` and :class:`TransformerDecoder`.

        Raises:
            RuntimeError: the batch sizes of ``src`` and ``tgt`` differ, or their vectors do not have ``d_model``
                elements.
        """
        dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(dim) != tgt.size(dim):
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, but their shapes are {src.shape} and {tgt.shape}"
            )
        if not src.size(-1) == tgt.size(-1) == self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model ({self.d_model}), but their shapes are "
                f"{src.shape} and {tgt.shape}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask of shape (sz, sz): minus infinity above the diagonal, zeros elsewhere."""
        return full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


def _leaves_out_padding(layer: Module) -> bool:
    """Return True for a layer for which PyTorch skips padding."""
    if not isinstance(layer, TransformerEncoderLayer):
        return False
    activation, attention = layer.activation, layer.self_attn
    is_fast = activation in _ACTIVATIONS.values() or isinstance(activation, ReLU | GELU)
    return (
        is_fast and attention.batch_first and attention.in_proj_weight is not None and attention.num_heads % 2 == 0
        and attention.in_proj_bias is not None and not layer.norm_first and layer.norm1.eps == layer.norm2.eps
    )


def _is_causal(mask: Tensor | None, said: bool | None, sequences: Tensor, layers: ModuleList) -> bool:
    """Return True if the mask is causal, as stated or, by default, as determined from the mask."""
    if said is not None or mask is None:
        return bool(said)
    length = sequences.size(1 if sequences.dim() == 3 and layers[0].self_attn.batch_first else 0)
    if mask.shape != (length, length):
        return False
    causal = Transformer.generate_square_subsequent_mask(length, mask.device, mask.dtype)
    return bool((mask == causal).all())
