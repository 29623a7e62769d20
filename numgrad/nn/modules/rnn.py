"""Recurrent networks; ``rnn_cells`` has their single steps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from ...autograd.grad_mode import state
from ...ops.creation.factories import empty
from ...ops.network.recurrence import GATES
from ...ops.network.recurrent import recurrent
from ...tensors.tensor import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Configured
from .rnn_cells import GRUCell as GRUCell  # libraries import these from here
from .rnn_cells import LSTMCell as LSTMCell
from .rnn_cells import RNNCell as RNNCell
from .rnn_cells import RNNCellBase as RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


class RNNBase(Configured):
    """The base class of recurrent networks.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: the number of features of the input.
        hidden_size: the number of features of a hidden state.
        num_layers: the number of layers; the input of each but the first is the previous layer's hidden states.
        bias: True if there are biases.
        batch_first: True if input and output have the shape (batch, steps, features), False for (steps, batch,
            features).
        dropout: the probability with which, in training, each output of a layer but the last is dropped.
        bidirectional: True if each layer also processes the sequence in reverse.
        proj_size: if not 0, the number of features to which the hidden states are projected (LSTM).
        device, dtype: those of the weights.

    All weights are drawn uniformly between ``-1 / sqrt(hidden_size)`` and ``1 / sqrt(hidden_size)``.

    Raises:
        ValueError: a number is out of range, or the mode is unknown.
        TypeError: an argument has the wrong type.
    """

    _shown = "input_size", "hidden_size"
    _shown_unless = (
        ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
        ("bidirectional", False),
    )

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:
        _check_options(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        super().__init__(
            mode=mode, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, bias=bias,
            batch_first=batch_first, dropout=float(dropout), bidirectional=bidirectional, proj_size=proj_size,
        )
        gates, out = GATES[mode.lower()] * hidden_size, proj_size or hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, input_size), "weight_hh": (gates, out)}
        if bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if proj_size:
            shapes["weight_hr"] = (proj_size, hidden_size)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
            shapes["weight_ih"] = (gates, out * (2 if bidirectional else 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: weights need not be contiguous with each other in memory."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless the input fits this network.

        Raises:
            ValueError: its dtype differs from that of the weights.
            RuntimeError: its number of dimensions or features does not fit.
        """
        weight: Any = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and not state.autocast:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape that the initial hidden state must have."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        examples = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return len(self._all_weights), examples, size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise unless a state has this shape.

        Raises:
            RuntimeError: it has another shape; the message is ``msg`` formatted with both.
        """
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and state fit this network; see :meth:`check_input`."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with its sequences in another order."""
        return hx if permutation is None else _each(hx, lambda tensor: tensor.index_select(1, permutation))

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the last layer's hidden states of all steps, and the states of all layers after the last step.

        Args:
            input: of shape (steps, batch, input_size), with ``batch_first`` (batch, steps, input_size), for a single
                sequence (steps, input_size), or a packed sequence.
            hx: the initial state, of shape (layers * directions, batch, size), or without ``batch``; 0 by default.  For
                an LSTM it is a pair of the hidden state and the cell state.

        Returns:
            Values of the same forms as the input, with (directions * size) features, and as ``hx``.

        Raises:
            ValueError: the input has an unsupported rank, or its dtype differs from that of the weights.
            RuntimeError: the shapes do not fit.
        """
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            hx = None if hx is None else self.permute_hidden(hx, sorted_indices)
            out, end = self._run(data, batch_sizes, hx)
            packed = PackedSequence(out, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(end, unsorted_indices)
        if input.dim() not in (2, 3):
            tensor = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{self.mode.partition('_')[0]}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead"
            )
        is_batched, dim = input.dim() == 3, 0 if self.batch_first else 1
        batch = input if is_batched else input.unsqueeze(dim)
        if hx is not None:
            self._check_rank(hx, is_batched)
            hx = hx if is_batched else _each(hx, lambda tensor: tensor.unsqueeze(1))
        out, end = self._run(batch, None, hx)
        return (out, end) if is_batched else (out.squeeze(dim), _each(end, lambda tensor: tensor.squeeze(1)))

    def _check_rank(self, hx: Tensor, is_batched: bool) -> None:
        if hx.dim() != (3 if is_batched else 2):
            kind = "batched 3-D input, hx should also be 3-D" if is_batched else (
                "unbatched 2-D input, hx should also be 2-D"
            )
            raise RuntimeError(f"For {kind} but got {hx.dim()}-D tensor")

    def _run(self, input: Tensor, batch_sizes: Tensor | None, state: Any) -> tuple[Tensor, Any]:
        if state is None:
            self.check_input(input, batch_sizes)
        else:
            self.check_forward_args(input, state, batch_sizes)
        weights = [weight for weights in self.all_weights for weight in weights]
        states = state if state is None or isinstance(state, tuple | list) else (state,)
        out, *ends = recurrent(
            self.mode.lower(), input, batch_sizes, states, weights, self.bias, self.num_layers, self.dropout,
            self.training, self.bidirectional, self.batch_first and batch_sizes is None,
        )
        return out, tuple(ends) if len(ends) > 1 else ends[0]


def _each(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a state with each of its tensors changed."""
    return tuple([change(tensor) for tensor in state]) if isinstance(state, tuple | list) else change(state)


def _check_options(
    mode: str, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float,
    proj_size: int,
) -> None:
    if not isinstance(dropout, Real) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, not "
            f"{dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    kinds: list[tuple[str, Any, type]] = [
        ("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ]  # fmt: skip
    for name, value, kind in kinds:
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, number in ("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers):
        if number <= 0:
            raise ValueError(f"{name} must be greater than zero, not {number}")
    if proj_size < 0:
        raise ValueError(f"proj_size should be a positive integer or zero to disable projections, not {proj_size}")
    if proj_size >= hidden_size:
        raise ValueError(f"proj_size has to be smaller than hidden_size, but got {proj_size} and {hidden_size}")
    if mode not in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU"):
        raise ValueError(f"Unrecognized RNN mode: {mode}")


class RNN(RNNBase):
    """``h[t] = tanh(w_ih @ x[t] + b_ih + w_hh @ h[t - 1] + b_hh)``, in each layer; or ``relu`` of that.

    The arguments are those of :class:`RNNBase` except ``mode`` and ``proj_size``; ``num_layers`` is followed by
    ``nonlinearity``, "tanh" or "relu".

    Example:
        >>> import numgrad
        >>> rnn = numgrad.nn.RNN(input_size=3, hidden_size=4)
        >>> outputs, state = rnn(numgrad.ones(5, 2, 3))
        >>> outputs.shape, state.shape
        (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
        dtype: Any = None, **others: Any,
    ) -> None:
        _refuse_projection(others)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, device=device, dtype=dtype,
        )
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """A gated recurrent unit in each layer: ``h[t] = (1 - z) * n + z * h[t - 1]``.

    ``r = sigmoid(a[0] + s[0]); z = sigmoid(a[1] + s[1]); n = tanh(a[2] + r * s[2])`` where ``a = w_ih @ x[t] + b_ih``
    and ``s = w_hh @ h[t - 1] + b_hh`` are each split into three.  The arguments are those of :class:`RNNBase` except
    ``mode`` and ``proj_size``.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.GRU(input_size=3, hidden_size=4, batch_first=True)
        >>> output, h = layer(numgrad.zeros(2, 5, 3))
        >>> output.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None, **others: Any,
    ) -> None:
        _refuse_projection(others)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device,
            dtype=dtype,
        )


def _refuse_projection(others: dict[str, Any]) -> None:
    if "proj_size" in others:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if others:
        raise TypeError(f"__init__() got an unexpected keyword argument '{next(iter(others))}'")


class LSTM(RNNBase):
    """A long short-term memory in each layer: ``c[t] = f * c[t - 1] + i * g; h[t] = o * tanh(c[t])``.

    ``i = sigmoid(a[0]); f = sigmoid(a[1]); g = tanh(a[2]); o = sigmoid(a[3])`` where
    ``a = w_ih @ x[t] + b_ih + w_hh @ h[t - 1] + b_hh`` is split into four; with ``proj_size``, ``h[t]`` is multiplied
    by ``w_hr``.  The arguments are those of :class:`RNNBase` except ``mode``.

    Example:
        >>> import numgrad
        >>> layer = numgrad.nn.LSTM(input_size=3, hidden_size=4, batch_first=True)
        >>> output, (h, c) = layer(numgrad.zeros(2, 5, 3))
        >>> output.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape that the initial cell state must have."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and states fit this network; see :meth:`check_input`."""
        self.check_input(input, batch_sizes)
        for number, expected in enumerate((self.get_expected_hidden_size, self.get_expected_cell_size)):
            message = f"Expected hidden[{number}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[number], expected(input, batch_sizes), message)

    def _check_rank(self, hx: Sequence[Tensor], is_batched: bool) -> None:  # type: ignore[override]
        hidden, cells = hx[0].dim(), hx[1].dim()
        rank = 3 if is_batched else 2
        if hidden != rank or cells != rank:
            raise RuntimeError(
                f"For {'batched 3-D' if is_batched else 'unbatched 2-D'} input, hx and cx should also be {rank}-D but "
                f"got ({hidden}-D, {cells}-D) tensors"
            )
