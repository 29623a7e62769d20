"""Functions that PyTorch has at its top level with the signatures of its C++ library.

They are equivalent to those of ``nn.functional``.  The parameters are in another order, most have no defaults, and
modes and reductions are numbers: reduction 0, the default, returns all losses, 1 their mean, and 2 their sum.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .nn import functional
from .ops.network.batch_normalization import channels_normalized
from .ops.network.normalization import layer_norm_op
from .ops.network.recurrent import cell, recurrent
from .ops.table.arguments import bind, checked
from .ops.table.op import named
from .tensors.tensor import Tensor

__all__ = [
    "affine_grid_generator", "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "conv_tbc",
    "convolution", "cosine_embedding_loss", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "gru", "gru_cell",
    "hinge_embedding_loss", "instance_norm", "kl_div", "lstm", "lstm_cell", "margin_ranking_loss",
    "native_batch_norm", "native_layer_norm", "poisson_nll_loss", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell", "triplet_margin_loss",
]

# -- normalization ------------------------------------------------------------------------------------------------


@checked
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.batch_norm`; a channel of one element is allowed and becomes the bias."""
    return channels_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@checked
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return :func:`batch_norm`, and the channels' means and inverse standard deviations, empty except in training."""
    out, mean, scale = channels_normalized(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if not training or mean is None or scale is None:
        mean = scale = input.new_empty(0)
    return out, mean, scale


@checked
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return :func:`numgrad.layer_norm`, and the means and inverse standard deviations."""
    return layer_norm_op(input, weight, bias, tuple(normalized_shape), float(eps))


@checked
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.instance_norm`."""
    return functional.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# -- convolution and images ---------------------------------------------------------------------------------------


@checked
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Tensor:
    """Return the convolution, or transposed convolution, of images of one to three dimensions with filters.

    A sequence of one number applies to all dimensions.

    Raises:
        RuntimeError: the shapes or dtypes do not match.
    """
    rank = len(weight.shape) - 2
    if not 1 <= rank <= 3:
        raise RuntimeError(f"expected filters of 3 to 5 dimensions, but got weight of size {list(weight.shape)}")
    if transposed:
        function: Any = getattr(functional, f"conv_transpose{rank}d")
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    function = getattr(functional, f"conv{rank}d")
    return function(input, weight, bias, stride, padding, dilation, groups)


@checked
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Return the convolution of sequences (time, batch, channels) with filters (size, channels, filters).

    Raises:
        RuntimeError: the shapes do not match.
    """
    if len(input.shape) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if len(weight.shape) != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if len(bias.shape) != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    out = functional.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1).contiguous()


@checked
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: complex = 0) -> Tensor:
    """Apply :func:`numgrad.nn.functional.pad` with a constant."""
    return functional.pad(input, pad, "constant", value)


_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


@checked
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.grid_sample`, with numbers for the modes in the order documented there.

    Raises:
        ValueError: a mode is unknown.
    """
    for name, mode, modes in (
        ("interpolation_mode", interpolation_mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)
    ):  # fmt: skip
        if not 0 <= mode < len(modes):
            raise ValueError(f"grid_sampler(): {name} must be one of 0 to {len(modes) - 1}, but got {mode}")
    return functional.grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


@checked
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Apply :func:`numgrad.nn.functional.affine_grid`."""
    return functional.affine_grid(theta, size, align_corners)


# -- recurrent networks -------------------------------------------------------------------------------------------


def _network(kind: str, states: str) -> Callable[..., tuple[Tensor, ...]]:
    """Return the function of this name, which PyTorch has in two forms."""

    def padded(
        input: Tensor, hx: Any, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool, batch_first: bool,
    ) -> tuple[Tensor, ...]:
        hx = hx if kind == "lstm" else (hx,)
        return recurrent(
            kind, input, None, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )

    def packed(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor], has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool,
    ) -> tuple[Tensor, ...]:
        hx = hx if kind == "lstm" else (hx,)
        return recurrent(
            kind, data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
        )

    forms = [named(form, kind, "") for form in (padded, packed)]

    @functools.wraps(padded)  # shows the signature of the padded form
    def call(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        is_packed = "batch_sizes" in kwargs or "data" in kwargs or (len(args) > 3 and not isinstance(args[3], bool))
        form = forms[is_packed]
        return checked(form)(*bind(form, args, kwargs).args)

    return named(call, kind, f"""The {states} that a recurrent network of this kind comes to.

    ``{kind}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or, of a packed
    sequence, ``{kind}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.  See
    the module in ``nn`` for shapes; ``params`` are its weights, in the order of its parameters.

    Raises:
        RuntimeError: shapes or dtypes do not fit, or there are not as many weights as that.
    """)


lstm = _network("lstm", "hidden states in all steps, and the last ones of hidden units and of cells,")
gru, rnn_tanh, rnn_relu = [
    _network(kind, "hidden states in all steps, and the last ones,") for kind in ("gru", "rnn_tanh", "rnn_relu")
]


@checked
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the hidden state and the cell state after one step of an LSTM; see ``nn.LSTMCell``.

    Raises:
        RuntimeError: shapes or dtypes do not match, or there are not two states.
    """
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, but got {len(hx)}")
    hidden, state = cell("lstm", input, hx, w_ih, w_hh, b_ih, b_hh)
    return hidden, state


def _cell(kind: str, module: str) -> Callable[..., Tensor]:
    def call(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        return cell(kind, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]

    return checked(named(call, f"{kind}_cell", f"""The hidden state after one step; see ``nn.{module}``.

    Raises:
        RuntimeError: shapes or dtypes do not fit.
    """))


gru_cell = _cell("gru", "GRUCell")
rnn_tanh_cell, rnn_relu_cell = _cell("rnn_tanh", "RNNCell"), _cell("rnn_relu", "RNNCell")


# -- losses -------------------------------------------------------------------------------------------------------


def _named(reduction: int) -> str:
    return {1: "mean", 2: "sum"}.get(reduction, "none")


@checked
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.binary_cross_entropy_with_logits`."""
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_named(reduction), pos_weight=pos_weight
    )


@checked
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.cosine_embedding_loss`."""
    return functional.cosine_embedding_loss(input1, input2, target, margin, reduction=_named(reduction))


@checked
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """Apply :func:`numgrad.nn.functional.hinge_embedding_loss`."""
    return functional.hinge_embedding_loss(input, target, margin, reduction=_named(reduction))


@checked
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """Apply :func:`numgrad.nn.functional.kl_div`."""
    losses = functional.kl_div(input, target, reduction="none", log_target=log_target)
    return losses.mean() if reduction == 1 else losses.sum() if reduction == 2 else losses


@checked
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.margin_ranking_loss`."""
    return functional.margin_ranking_loss(input1, input2, target, margin, reduction=_named(reduction))


@checked
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.poisson_nll_loss`."""
    return functional.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_named(reduction))


@checked
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06,
    swap: bool = False, reduction: int = 0,
) -> Tensor:
    """Apply :func:`numgrad.nn.functional.triplet_margin_loss`."""
    return functional.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_named(reduction)
    )
