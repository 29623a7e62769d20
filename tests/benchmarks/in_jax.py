"""The programs of ``parts/compiled.py`` and ``parts/fused.py`` in JAX.

``compiling.py`` starts this file with the Python that JAX is in:

    python in_jax.py NAME INPUTS.npz

It prints the time of its first results, and the results. Then it reads numbers of calls from its input, and
prints the seconds that each took, until the input ends.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from parts.solver import DIFFERENCE, STAGES, summed

_began = time.perf_counter()
import jax  # noqa: E402 - its import is timed
import jax.numpy as jnp  # noqa: E402
from jax import nn  # noqa: E402

_imported = time.perf_counter()

#: State that a program keeps between calls: parameters and the state of the optimizer.
State = Any

#: From the parameters and the arguments: the first state, and the function of it that gives the next and the results.
Program = Callable[[list[Any], list[Any]], tuple[State, Callable[[State], tuple[State, Any]]]]


def zeros_like(parameters: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, parameters)


def sgd(lr: float, momentum: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the initial state and the update function."""

    def update(parameters: Any, memory: Any, gradients: Any) -> Any:
        memory = jax.tree.map(lambda old, grad: momentum * old + grad, memory, gradients) if momentum else gradients
        return jax.tree.map(lambda value, change: value - lr * change, parameters, memory), memory if momentum else ()

    return (zeros_like if momentum else lambda parameters: ()), update


def adamw(lr: float = 1e-3, decay: float = 1e-2) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the initial state and the update function."""

    def begin(parameters: Any) -> Any:
        return zeros_like(parameters), zeros_like(parameters), jnp.float32(0)

    def update(parameters: Any, memory: Any, gradients: Any) -> Any:
        first, second, count = memory
        count = count + 1
        first = jax.tree.map(lambda old, grad: 0.9 * old + 0.1 * grad, first, gradients)
        second = jax.tree.map(lambda old, grad: 0.999 * old + 0.001 * grad * grad, second, gradients)
        one, two = 1 - 0.9**count, 1 - 0.999**count

        def changed(value: Any, mean: Any, square: Any) -> Any:
            return value * (1 - lr * decay) - lr * (mean / one) / (jnp.sqrt(square / two) + 1e-8)

        return jax.tree.map(changed, parameters, first, second), (first, second, count)

    return begin, update


def trained(loss: Callable[..., Any], optimizer: tuple[Callable[..., Any], Callable[..., Any]]) -> Program:
    """Steps of training; each overwrites the state, as those of the other libraries do."""
    begin, update = optimizer

    def make(parameters: list[Any], arguments: list[Any]) -> Any:
        def step(state: State, *arguments: Any) -> Any:
            parameters, memory = state
            value, gradients = jax.value_and_grad(loss)(parameters, *arguments)
            return update(parameters, memory, gradients), (value,)

        compiled = jax.jit(step, donate_argnums=0)
        return (parameters, begin(parameters)), lambda state: compiled(state, *arguments)

    return make


def pure(function: Callable[..., Any]) -> Program:
    """A function of the parameters and the arguments that gives all results."""

    def make(parameters: list[Any], arguments: list[Any]) -> Any:
        compiled = jax.jit(function)
        return (), lambda state: (state, compiled(parameters, *arguments))

    return make


def linear(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight.T + bias


def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias


def cross_entropy(scores: Any, y: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(scores), y[:, None], 1).mean()


def chain(parameters: Any, *operands: Any) -> Any:
    def loss(x: Any, weight: Any, bias: Any) -> Any:
        y = x
        for _ in range(10):
            y = jnp.tanh(y * weight + bias)
        return y.sum()

    value, gradients = jax.value_and_grad(loss, (0, 1, 2))(*operands)
    return value, *gradients


def softmax_and_layer_norm(parameters: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    y, backward = jax.vjp(lambda x, weight, bias: layer_norm(nn.softmax(x), weight, bias), x, weight, bias)
    return y, *backward(gradient)


def solver_step(parameters: Any, states: Any, target: Any) -> Any:
    def loss(parameters: Any) -> Any:
        def slope(state: Any) -> Any:
            return linear(jnp.tanh(linear(state, *parameters[:2])), *parameters[2:])

        slopes = [slope(states)]
        for _, weights in STAGES[1:]:
            reached = states + summed(slopes, weights, 2.0)
            slopes.append(slope(reached))
        scale = (jnp.maximum(jnp.abs(states), jnp.abs(reached)) + 1) * 1e-5
        error = jnp.sqrt(((summed(slopes, DIFFERENCE, 2.0) / scale) ** 2).mean())
        return jnp.abs(reached - target).mean(), error

    (value, error), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    return value, error, *gradients


def perceptron(parameters: Any, x: Any, y: Any) -> Any:
    """The loss of layers whose weights and biases alternate among the parameters."""
    for place in range(0, len(parameters) - 2, 2):
        x = nn.relu(linear(x, *parameters[place : place + 2]))
    return cross_entropy(linear(x, *parameters[-2:]), y)


def transformer_block(x: Any, parameters: Any, heads: int = 4) -> Any:
    norm1, norm2, project, join, widen, narrow = zip(parameters[::2], parameters[1::2], strict=True)
    batch, places, width = x.shape
    q, k, v = linear(layer_norm(x, *norm1), *project).reshape(batch, places, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(width // heads))
    scores = jnp.where(np.tri(places, dtype=bool), scores, -jnp.inf)
    mixed = (nn.softmax(scores) @ v).swapaxes(1, 2).reshape(batch, places, width)
    x = x + linear(mixed, *join)
    return x + linear(nn.gelu(linear(layer_norm(x, *norm2), *widen), approximate=False), *narrow)


def language_model(parameters: Any, text: Any, y: Any) -> Any:
    x = parameters[0][text] + parameters[1][: text.shape[1]]
    for place in (2, 14):
        x = transformer_block(x, parameters[place : place + 12])
    scores = linear(layer_norm(x, *parameters[26:28]), *parameters[28:])
    return cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))


def convolutional(parameters: Any, x: Any, y: Any) -> Any:
    for weight, bias in (parameters[:2], parameters[2:4]):
        x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = nn.relu(x + bias[:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return perceptron(parameters[4:], x.reshape(x.shape[0], -1), y)


def differentiated(loss: Callable[..., Any]) -> Program:
    """A sum and its gradients for all arguments."""

    def function(parameters: Any, *arguments: Any) -> Any:
        value, gradients = jax.value_and_grad(loss, tuple(range(len(arguments))))(*arguments)
        return value, *gradients

    return pure(function)


def pointwise(operations: int) -> Program:
    def loss(y: Any) -> Any:
        for _ in range(operations // 4):
            y = jnp.tanh((y * 1.5 + 0.25) * y)
        return y.sum()

    return differentiated(loss)


def softmax_formula(parameters: Any, x: Any, gradient: Any) -> Any:
    def function(x: Any) -> Any:
        powers = jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))
        return powers / powers.sum(-1, keepdims=True)

    y, backward = jax.vjp(function, x)
    return y, *backward(gradient)


def layer_norm_formula(parameters: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    y, backward = jax.vjp(layer_norm, x, weight, bias)
    return y, *backward(gradient)


def adam_formula(parameters: Any, value: Any, mean: Any, square: Any, gradient: Any) -> Any:
    mean = mean * 0.9 + gradient * (1 - 0.9)
    square = square * 0.999 + gradient * gradient * (1 - 0.999)
    change = mean / (1 - 0.9**10) / (jnp.sqrt(square / (1 - 0.999**10)) + 1e-8)
    return value - change * 1e-3, mean, square


def lotka_volterra(x: Any, y: Any, step: float = 0.1) -> Any:
    def slopes(x: Any, y: Any) -> Any:
        return x * (1.1 - y * 0.4), y * (x * 0.1 - 0.4)

    for _ in range(10):
        k1, l1 = slopes(x, y)
        k2, l2 = slopes(x + k1 * (step / 2), y + l1 * (step / 2))
        k3, l3 = slopes(x + k2 * (step / 2), y + l2 * (step / 2))
        k4, l4 = slopes(x + k3 * step, y + l3 * step)
        x = x + (k1 + (k2 + k3) * 2 + k4) * (step / 6)
        y = y + (l1 + (l2 + l3) * 2 + l4) * (step / 6)
    return (x + y).sum()


def logistic_map(x: Any, r: Any) -> Any:
    for _ in range(30):
        x = r * x * (1 - x)
    return x.sum()


PROGRAMS: dict[str, Program] = {
    "chain": pure(chain),
    "sgd": trained(perceptron, sgd(0.01, 0)),
    "adamw": trained(perceptron, adamw()),
    "gpt": trained(language_model, adamw()),
    "gpt-64": trained(language_model, adamw()),
    "norm": pure(softmax_and_layer_norm),
    "solver": pure(solver_step),
    "convnet": trained(convolutional, sgd(0.01, 0.9)),
    "pointwise-8": pointwise(8),
    "pointwise-20": pointwise(20),
    "softmax": pure(softmax_formula),
    "layer-norm": pure(layer_norm_formula),
    "adam-formula": pure(adam_formula),
    "rk4": differentiated(lotka_volterra),
    "logistic": differentiated(logistic_map),
}


def main(name: str, path: str) -> None:
    """Print the first three results, then time as many calls as requested."""
    start = time.perf_counter()
    with np.load(path) as file:
        inputs = {kind: [jnp.asarray(file[key]) for key in file.files if key.startswith(kind)] for kind in ("p", "a")}
    state, program = PROGRAMS[name](inputs["p"], inputs["a"])
    seconds, outputs = [], []
    for _ in range(3):
        state, values = jax.block_until_ready(program(state))
        seconds.append(time.perf_counter() - start)
        outputs.append(values)
    results = [[float(np.abs(value).mean()) for value in values] for values in outputs]
    print(json.dumps({"import": _imported - _began, "seconds": seconds, "results": results}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            state, _ = jax.block_until_ready(program(state))
        print((time.perf_counter() - start) / int(line), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
