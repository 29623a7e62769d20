"""Small tensors, for which recording takes most time: chains of 30 operations, and expressions of scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, tensor_of

__all__ = ["scalar", "small"]

Step = Callable[[Any, Any, Any], Any]

CHAINS: dict[str, Step] = {
    "tanh(z * y + y)": lambda m, z, y: (z * y + y).tanh(),
    "sigmoid(z * 1.5 - y)": lambda m, z, y: (z * 1.5 - y).sigmoid(),
    "relu(z / y + z)": lambda m, z, y: (z / y + z).relu() * 0.5,
    "exp(-(z ** 2))": lambda m, z, y: (-(z**2)).exp(),
}


def _chain(step: Step, size: int, recording: bool) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        x = tensor_of(module, Input((size,), 0.1, 0.9), 0)
        y = tensor_of(module, Input((size,), 0.4, 0.6, grad=False), 1)

        def forward() -> Any:
            z = x
            for _ in range(10):
                z = step(module, z, y)
            return z

        def backward() -> None:
            forward().sum().backward()
            x.grad = None

        def silent() -> None:
            with module.no_grad():
                forward()

        return backward if recording else silent

    return make


def small(rows: int, columns: int) -> Iterator[Part]:
    """Chains on 1 to 1,000 elements, recorded and not."""
    for words, recording, limit in (("forward and backward", True, 0.7), ("under no_grad", False, 1.1)):
        cases = [
            Case(f"10 x {name}, {size} elements", _chain(step, size, recording))
            for size in (1, 8, 97, 1000)
            for name, step in CHAINS.items()
        ]
        yield Part(f"Chains of 30 small operations, {words}", cases, limit)


def _neuron(module: Any) -> Program:
    weights = [tensor_of(module, Input(()), seed) for seed in range(9)]
    inputs = [tensor_of(module, Input((), grad=False), seed) for seed in range(8)]

    def program() -> None:
        total = weights[8]
        for weight, value in zip(weights, inputs):  # noqa: B905 - the last weight has no partner
            total = total + weight * value
        out = (total * 2).exp()
        out = (out - 1) / (out + 1)
        loss = (out - 0.5) ** 2 + sum(weight * weight for weight in weights) * 0.01
        loss.backward()
        for weight in weights:
            weight.grad = None

    return program


def _layers(module: Any) -> Program:
    weights = [tensor_of(module, Input(()), seed) for seed in range(12)]
    one, other = (tensor_of(module, Input((), grad=False), seed) for seed in (20, 21))

    def program() -> None:
        hidden = [(weights[n] * one + weights[n + 1] * other + weights[n + 2]).tanh() for n in (0, 3, 6)]
        out = hidden[0] * weights[9] + hidden[1] * weights[10] + hidden[2] * weights[11]
        loss = (out - 1.0) ** 2 + (out * 0.1).relu()
        loss.backward()
        for weight in weights:
            weight.grad = None

    return program


def _expression(module: Any) -> Program:
    a, b = (tensor_of(module, Input((), 0.5, 2), seed) for seed in (0, 1))

    def program() -> None:
        c = a + b
        d = a * b + b**3
        for _ in range(4):
            c = c + c * 0.1 + (-a)
            d = d * 0.2 + (b + a).relu()
            c = c - d
        e = (c - d) ** 2 / 2.0 + 10.0 / (d + 30.0)
        e.backward()
        a.grad = b.grad = None

    return program


def scalar(rows: int, columns: int) -> Iterator[Part]:
    """Expressions of 0-d tensors, like those with which scalar autograd is taught."""
    cases = [
        Case("a neuron of eight inputs, with a penalty", _neuron),
        Case("two layers of scalars", _layers),
        Case("an expression of two variables", _expression),
    ]
    yield Part("Graphs of about 40 scalars, forward and backward", cases, 0.7)
