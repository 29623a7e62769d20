"""Single steps of recurrent networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...ops.creation.factories import zeros
from ...ops.network.recurrent import cell
from ...tensors.tensor import Tensor
from .. import init
from .module import Configured

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Configured):
    """The base class of single steps.

    Args:
        input_size: the number of features of an input.
        hidden_size: the number of features of a hidden state.
        bias: True if there are biases.
        num_chunks: the number of gates.
        device, dtype: those of the weights, which are drawn uniformly between ``-1 / sqrt(hidden_size)`` and
            ``1 / sqrt(hidden_size)``.
    """

    _shown = "input_size", "hidden_size"
    _shown_unless = (("bias", True),)

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size, bias=bias)
        gates = num_chunks * hidden_size
        self._add_parameters(device, dtype, weight_ih=(gates, input_size), weight_hh=(gates, hidden_size))
        biases = dict.fromkeys(("bias_ih", "bias_hh"), gates if bias else None)
        self._add_parameters(device, dtype, **biases)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, kind: str, input: Tensor, hx: Sequence[Tensor] | None, count: int = 1) -> tuple[Tensor, ...]:
        """Return the states after a step, for an input of shape (batch, input_size) or (input_size)."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for number, state in enumerate(hx or ()):
            if state.dim() not in (1, 2):
                label = f"hx[{number}]" if count > 1 else "hidden"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.dim()}D instead")
        is_batched = input.dim() == 2
        batch = input if is_batched else input.unsqueeze(0)
        if hx is None:
            states = [zeros((batch.size(0), self.hidden_size), dtype=input.dtype, device=input.device)] * count
        else:
            states = list(hx) if is_batched else [state.unsqueeze(0) for state in hx]
        after = cell(kind, batch, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return after if is_batched else tuple([state.squeeze(0) for state in after])


class RNNCell(RNNCellBase):
    """``tanh(w_ih @ x + b_ih + w_hh @ h + b_hh)``, or ``relu`` of that with ``nonlinearity="relu"``.

    ``cell(input, hx=None)`` takes an input of shape (batch, input_size) and a hidden state of shape (batch,
    hidden_size), 0 by default, or both without ``batch``, and returns the next hidden state.

    Example:
        >>> import numgrad
        >>> numgrad.nn.RNNCell(3, 4)(numgrad.ones(2, 3)).shape
        torch.Size([2, 4])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """A step of an LSTM; see :class:`LSTM`.

    ``cell(input, hx=None)`` takes an input of shape (batch, input_size) and a pair of the hidden state and the cell
    state, of shape (batch, hidden_size), 0 by default, or all without ``batch``, and returns the next pair.

    Example:
        >>> import numgrad
        >>> hidden, cell = numgrad.nn.LSTMCell(3, 4)(numgrad.ones(2, 3))
        >>> hidden.shape, cell.shape
        (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        hidden, cells = self._step("lstm", input, hx, 2)
        return hidden, cells


class GRUCell(RNNCellBase):
    """A step of a GRU; see :class:`GRU`.  Arguments are those of :class:`RNNCell`.

    Example:
        >>> import numgrad
        >>> numgrad.nn.GRUCell(3, 4)(numgrad.ones(2, 3)).shape
        torch.Size([2, 4])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru", input, None if hx is None else (hx,))[0]
