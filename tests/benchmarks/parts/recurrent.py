"""Layers of recurrent networks over sequences, and single steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timing import Case, Input, Part, Program, placed, tensor_of

__all__ = ["parts"]


def _layer(name: str, kind: str, steps: int, batch: int, size: int, **options: Any) -> Case:
    """``kind`` of this size, input and hidden states alike, forward and backward."""

    def make(module: Any) -> Program:
        layer = placed(getattr(module.nn, kind)(size, size, **options))
        x = tensor_of(module, Input((steps, batch, size)), 0)

        def program() -> None:
            layer(x)[0].sum().backward()
            x.grad = None
            layer.zero_grad()

        return program

    return Case(name, make)


def _cell(kind: str, batch: int, size: int) -> Case:
    """Sixteen single steps, forward and backward."""

    def make(module: Any) -> Program:
        cell = placed(getattr(module.nn, kind)(size, size))
        x = tensor_of(module, Input((batch, size)), 0)

        def program() -> None:
            state = None
            for _ in range(16):
                state = cell(x, state)
            (state[0] if isinstance(state, tuple) else state).sum().backward()
            x.grad = None
            cell.zero_grad()

        return program

    return Case(f"16 steps of {kind}, {batch} x {size}", make)


def parts(rows: int, columns: int) -> Iterator[Part]:
    """From a layer limited by matrix products to one limited by calls."""
    cases = [
        _layer("LSTM, 64 steps of 32 x 128", "LSTM", 64, 32, 128),
        _layer("GRU, 64 steps of 32 x 128", "GRU", 64, 32, 128),
        _layer("RNN, 64 steps of 32 x 128", "RNN", 64, 32, 128),
        _layer("LSTM, 2 layers, both ways, 32 x 16 x 64", "LSTM", 32, 16, 64, num_layers=2, bidirectional=True),
        _layer("GRU, 100 steps of 1 x 32", "GRU", 100, 1, 32),
        _layer("LSTM, 20 steps of 8 x 16", "LSTM", 20, 8, 16),
        _cell("LSTMCell", 32, 64),
        _cell("GRUCell", 32, 64),
    ]
    yield Part("Recurrent networks, forward and backward", cases, 1.0)
