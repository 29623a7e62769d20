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
}


def _step(name: str, options: dict[str, Any], count: int, size: int) -> Callable[[Any], Program]:
    def make(module: Any) -> Program:
        parameters = [tensor_of(module, Input((size,)), seed) for seed in range(count)]
        for seed, parameter in enumerate(parameters):
            parameter.grad = tensor_of(module, Input((size,), grad=False), seed + count)
        return getattr(module.optim, name.split()[0])(parameters, lr=1e-3, **options).step

    return make


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Few small parameters, and a million elements in twenty."""
    for count, size in ((4, 100), (20, 50_000)):
        cases = [Case(name, _step(name, options, count, size)) for name, options in OPTIMIZERS.items()]
        yield Part(f"One step of an optimizer, {count} parameters of {size:,} elements", cases, 0.8)
