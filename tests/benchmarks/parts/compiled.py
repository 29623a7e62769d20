"""Programs that are compiled as a whole: each is a function that computes gradients, or trains, when it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from timing import Input, Step, placed, tensor_of

from .images import convolutional
from .solver import one_step, summed
from .steps import language_model, perceptron

__all__ = ["COMPILED", "Compiled", "layers", "means"]


@dataclass(frozen=True)
class Compiled:
    """A line of the table.

    Attributes:
        name: a short name, for the command line.
        limit, of: the greatest time of the compiled program, as a share of that of PyTorch, numgrad or "by hand".
        threads: the number of threads; None for the number that the command sets.
        by_hand: the same program as a function of NumPy arrays.
    """

    name: str
    title: str
    make: Callable[[Any], Step]
    limit: float
    of: str = "PyTorch"
    threads: int | None = None
    by_hand: Callable[..., tuple[Any, ...]] | None = None


def means(result: Any) -> list[float]:
    """Return the mean magnitude of each tensor of a result, to compare results of several libraries."""
    tensors = result if isinstance(result, tuple) else (result,)
    return [float(np.abs(tensor.detach().numpy()).mean()) for tensor in tensors]


def chain(module: Any, size: int = 8) -> Step:
    """Thirty pointwise operations, and the gradients of the three operands."""

    def program(x: Any, weight: Any, bias: Any) -> Any:
        y = x
        for _ in range(10):
            y = (y * weight + bias).tanh()
        loss = y.sum()
        return (loss, *module.autograd.grad(loss, (x, weight, bias)))

    return Step(program, tuple(tensor_of(module, Input((size,)), seed) for seed in range(3)))


def softmax_and_layer_norm(module: Any, rows: int = 2048, columns: int = 512) -> Step:
    """Both over rows, and the gradients for a gradient of the result."""

    def program(x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
        y = module.nn.functional.layer_norm(x.softmax(-1), (columns,), weight, bias)
        return (y, *module.autograd.grad(y, (x, weight, bias), gradient))

    inputs = Input((rows, columns)), Input((columns,)), Input((columns,)), Input((rows, columns), grad=False)
    return Step(program, tuple(tensor_of(module, value, seed) for seed, value in enumerate(inputs)))


def solver_step(module: Any) -> Step:
    """A step of Dormand's and Prince's method for 20 states that a network moves, its error, and the gradients."""
    nn = module.nn
    module.manual_seed(0)
    model = placed(nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)))
    parameters = list(model.parameters())

    def program(states: Any, target: Any) -> Any:
        reached, _, error = one_step(lambda time, state: model(state), 0, states, model(states), 2.0, 1e-5, summed)
        loss = (reached - target).abs().mean()
        return (loss, error, *module.autograd.grad(loss, parameters))

    inputs = tuple(tensor_of(module, Input((20, 2), -2, 2, grad=False), seed) for seed in range(2))
    return Step(program, inputs, parameters)


def layers(module: Any, times: int) -> Step:
    """Ten layers with 20 parameters, repeated, on a row of four numbers."""
    model = module.nn.Sequential(*[module.nn.Linear(4, 4) for _ in range(10)])

    def program(x: Any) -> Any:
        for _ in range(times):
            x = model(x)
        return x

    return Step(program, (tensor_of(module, Input((1, 4), grad=False), 0),), list(model.parameters()))


COMPILED = [
    Compiled("chain", "30 pointwise operations on 8 elements", chain, 0.03),
    Compiled("sgd", "SGD, MLP 64-128-10, batch 64", lambda m: perceptron(m, 64, (64, 128, 10)), 0.3),
    Compiled(
        "adamw", "AdamW, MLP 784-256-256-10, batch 128",
        lambda m: perceptron(m, 128, (784, 256, 256, 10), "AdamW", lr=1e-3), 0.6,
    ),
    Compiled("gpt", "GPT of width 64, 8 x 32 letters", lambda m: language_model(m, places=32), 0.7),
    Compiled("gpt-64", "GPT of width 64, 8 x 64 letters", language_model, 0.9),
    Compiled("norm", "softmax and layer_norm, 2048 x 512", softmax_and_layer_norm, 0.85),
    Compiled("solver", "a step of an ODE solver, one thread", solver_step, 0.3, threads=1),
    Compiled("convnet", "ConvNet, 64 x 1 x 28 x 28", convolutional, 0.9, of="numgrad"),
]  # fmt: skip
