"""Layers of recurrent networks, step by step: a product of matrices and a kernel for each."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from numgrad_kernels.cuda import recurrence

from ...core.layout import Layout, layout_of
from ..plan import Plan
from ..rows import DeviceRow
from .launching import blocks_for, launch
from .memory import empty_row, optional
from .products import product

__all__ = ["recurrence_backward_launcher", "recurrence_launcher"]

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))

#: What does a step, what goes back through it, and the parts of that, by the kind of network.
_STEPS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "lstm": (recurrence.lstm_step, recurrence.lstm_slopes, {}),
    "gru": (recurrence.gru_step, recurrence.gru_slopes, {}),
    "rnn_tanh": (recurrence.tanh_step, recurrence.plain_slopes, {"of_gate": recurrence.of_tanh}),
    "rnn_relu": (recurrence.relu_step, recurrence.plain_slopes, {"of_gate": recurrence.of_relu}),
}


@dataclass
class _Matrix:
    """What a product is given for a tensor: a part of a row."""

    _layout: Layout
    _storage: DeviceRow
    _offset: int = 0


def _multiplier(left: Layout, right: Layout, turned: tuple[bool, bool] = (False, False)) -> Callable[..., DeviceRow]:
    """What multiplies two matrices of these layouts."""
    p = Plan(left.type.backend, left.type.device.index)
    p.results = (product(p, p.operand(left), p.operand(right), turned),)
    return p


def _order(sizes: Any, backwards: bool) -> Iterator[tuple[int, int, int, int]]:
    """For each step in the order in which they are done: its examples, where its rows begin, and the same of the step
    done before it, which has none for the first."""
    counts = sizes.tolist()
    steps = [*zip(counts, itertools.accumulate(counts, initial=0), strict=False)]
    if backwards:
        steps.reverse()
    return ((*own, *before) for own, before in zip(steps, [(0, 0), *steps], strict=False))


def recurrence_launcher(
    type: Any, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool
) -> Callable[..., None] | None:
    """What does all steps; see the CPU's."""
    dtype, step = type.numpy, _STEPS[kind][0]
    if dtype not in _KINDS:
        return None
    weights = layout_of(type, (gates, size))

    @functools.cache
    def multiply(count: int) -> tuple[Any, Any]:
        hidden = layout_of(type, (count, size))
        return hidden, _multiplier(hidden, weights, (False, True))

    def run(sizes: Any, weight: Any, bias: Any, gate_rows: Any, beside: Any, end: Any, out: Any) -> None:
        for count, row, *_ in _order(sizes, backwards):
            hidden, product = multiply(count)
            shares = product(_Matrix(hidden, end), _Matrix(weights, weight))
            launch(
                step, dtype, gate_rows, row, shares, *optional(bias, dtype), beside, end, out, examples, size, count,
                blocks=blocks_for(count * size),
            )

    return run


def recurrence_backward_launcher(
    type: Any, kind: str, steps: int, examples: int, rows: int, size: int, gates: int, backwards: bool
) -> Callable[..., tuple[DeviceRow, DeviceRow, DeviceRow]]:
    """What goes back through all steps; see the CPU's."""
    dtype, (_, slopes_of, parts) = type.numpy, _STEPS[kind]
    weights = layout_of(type, (gates, size))

    @functools.cache
    def multiply(count: int) -> tuple[Any, Any]:
        slopes = layout_of(type, (count, gates))
        return slopes, _multiplier(slopes, weights)

    def run(
        sizes: Any, weight: Any, state: Any, gate_rows: Any, beside: Any, out: Any, grad: Any, grads: Any
    ) -> tuple[DeviceRow, DeviceRow, DeviceRow]:
        device = grads.device
        slopes, previous = empty_row(rows * gates, dtype, device), empty_row(rows * size, dtype, device)
        shares = empty_row(rows * gates, dtype, device) if kind == "gru" else slopes
        for count, row, had, ahead in reversed([*_order(sizes, backwards)]):
            layout, product = multiply(count)
            launch(
                slopes_of, dtype, gate_rows, row, beside, ahead, had, state, out, grad, grads, slopes, shares, previous,
                examples, size, count, blocks=blocks_for(count * size), **parts,
            )
            products = product(_Matrix(layout, shares, row * gates), _Matrix(weights, weight))
            launch(
                recurrence.carry, dtype, products, int(kind == "gru"), count * size, grads,
                blocks=blocks_for(count * size),
            )
        return slopes, shares, previous

    return run
