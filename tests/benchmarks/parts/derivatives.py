"""Derivatives without ``backward``: forward mode, transforms of functions, recomputation, checking."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, integers, tensor_of

__all__ = ["parts"]


def _number(module: Any, *shape: int, seed: int = 0, dtype: Any = None) -> Any:
    value = tensor_of(module, Input(shape, grad=False), seed)
    return value if dtype is None else value.to(dtype)


def _network(module: Any, *sizes: int) -> Any:
    module.manual_seed(0)
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [module.nn.Linear(inputs, outputs), module.nn.Tanh()]
    return module.nn.Sequential(*layers[:-1])


def tangent(size: int) -> Callable[[Any], Program]:
    """The tangent of 25 pointwise operations."""

    def make(module: Any) -> Program:
        forward_ad = importlib.import_module(f"{module.__name__}.autograd.forward_ad")
        x, direction = _number(module, size), _number(module, size, seed=1)

        def program() -> Any:
            with forward_ad.dual_level():
                y = forward_ad.make_dual(x, direction)
                for _ in range(5):
                    y = (y * y + x).tanh().exp() * 0.1
                return forward_ad.unpack_dual(y).tangent

        return program

    return make


def hessian_product(module: Any) -> Program:
    """A product with the Hessian of a network's output, forward over backward."""
    func, model, x = module.func, _network(module, 32, 64, 1), _number(module, 16, 32)
    direction = _number(module, 16, 32, seed=1)
    gradient = func.grad(lambda x: model(x).sum())
    return lambda: func.jvp(gradient, (x,), (direction,))[1]


def jacobian(way: str) -> Callable[[Any], Program]:
    """The Jacobian of a network of 20 inputs and outputs."""

    def make(module: Any) -> Program:
        model, x = _network(module, 20, 40, 20), _number(module, 20)
        whole = getattr(module.func, way)(model)
        return lambda: whole(x)

    return make


def of_each_example(module: Any) -> Program:
    """The gradients of 64 examples, separately."""
    func, model = module.func, _network(module, 32, 64, 10)
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    x, y = _number(module, 64, 32), module.from_numpy(integers((64,), 10))

    def loss(weights: Any, x: Any, y: Any) -> Any:
        out = func.functional_call(model, weights, (x.unsqueeze(0),))
        return module.nn.functional.cross_entropy(out, y.unsqueeze(0))

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(weights, x, y)


def recomputed(module: Any) -> Program:
    """Forward and backward through a network of 16 layers in four checkpoints."""
    checkpoint = importlib.import_module(f"{module.__name__}.utils.checkpoint").checkpoint_sequential
    model, x = _network(module, *[128] * 17), _number(module, 256, 128)

    def program() -> None:
        checkpoint(model, 4, x, use_reentrant=False).sum().backward()
        model.zero_grad()

    return program


def checked(module: Any) -> Program:
    """``gradcheck`` of a layer."""
    x = _number(module, 4, 5, dtype=module.float64).requires_grad_()
    weight = _number(module, 5, 3, seed=1, dtype=module.float64).requires_grad_()
    return lambda: module.autograd.gradcheck(lambda x, w: (x @ w).tanh(), (x, weight))


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Return the cases for ``autograd.forward_ad``, ``func``, ``utils.checkpoint`` and ``gradcheck``."""
    yield Part("Derivatives by forward mode, transforms and recomputation", [
        Case("a tangent through 25 operations, 10 elements", tangent(10)),
        Case("a tangent through 25 operations, 100,000 elements", tangent(100_000)),
        Case("Hessian times vector, jvp of grad", hessian_product),
        Case("Jacobian 20 x 20 of a network, jacrev", jacobian("jacrev")),
        Case("Jacobian 20 x 20 of a network, jacfwd", jacobian("jacfwd")),
        Case("gradients of 64 examples, vmap of grad", of_each_example),
        Case("16 layers in 4 checkpoints", recomputed),
        Case("gradcheck of a layer", checked),
    ], 1.0)
