"""One step of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, tensor_of

__all__ = ["parts"]

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {},
    "SGD with momentum": {"momentum": 0.9},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {},
    "Rprop": {},
    "Adafactor": {},
    "Muon": {},
}


def _step(name: str, options: dict[str, Any], count: int, shape: tuple[int, int]) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        parameters = [tensor_of(module, Input(shape), seed) for seed in range(count)]
        for seed, parameter in enumerate(parameters):
            parameter.grad = tensor_of(module, Input(shape, grad=False), seed + count)
        return getattr(module.optim, name.split()[0])(parameters, lr=1e-3, **options).step

    return make


def _iterations(count: int, shape: tuple[int, int]) -> Callable[[Any], Program]:
    """Five short iterations of L-BFGS with ten steps remembered, the losses and their gradients included."""

    def make(module: Any) -> Program:
        parameters = [tensor_of(module, Input(shape), seed) for seed in range(count)]
        optimizer = module.optim.LBFGS(parameters, lr=1e-6, max_iter=5, history_size=10, tolerance_change=0)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = sum((parameter**4).sum() for parameter in parameters)
            loss.backward()
            return loss

        return lambda: optimizer.step(closure)

    return make


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Few small parameters, and a million elements in twenty."""
    for count, shape in ((4, (10, 10)), (20, (250, 200))):
        cases = [Case(name, _step(name, options, count, shape)) for name, options in OPTIMIZERS.items()]
        cases.append(Case("LBFGS, five iterations", _iterations(count, shape)))
        size = shape[0] * shape[1]
        yield Part(f"One step of an optimizer, {count} parameters of {size:,} elements", cases, 0.8)
