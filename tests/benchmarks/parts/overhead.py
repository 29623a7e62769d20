"""Small operations of every kind, one at a time: the overhead of a call."""

from __future__ import annotations

import random
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import numpy as np
from timing import Case, Input, Part, Program, integers, tensor_of

from .operations import LISTED, OTHERS

__all__ = ["OPERANDS", "drawn", "overhead", "repeated"]

#: The operands of the operations, by their names in the code.
OPERANDS: dict[str, Any] = {
    "x": Input((8, 8), 0.1, 0.9), "v": Input((8,), 0.1, 0.9), "column": Input((8, 1)), "cube": Input((2, 4, 4)),
    "pairs": Input((8, 2)), "large": Input((8, 8), 1.1, 3),
    "y": Input((8, 8), 0.1, 0.9, grad=False), "z": Input((8, 8), 0.1, 0.9, grad=False),
    "row": Input((8,), 0.1, 0.9, grad=False), "side": Input((8, 1), grad=False), "u": Input((8,), grad=False),
    "part": Input((4, 8), grad=False), "w": Input((16, 8), grad=False), "b": Input((16,), grad=False),
    "block": Input((2, 4, 4), grad=False), "number": Input((), grad=False),
    "i": np.array([6, 1, 3, 4]), "k": integers((8, 8), 8), "labels": integers((8,), 8), "words": integers((6,), 8),
    "mask": integers((8, 8), 2).astype(bool),
}  # fmt: skip

#: Number of times that a program repeats an operation.
CALLS = {"forward": 50, "backward": 20}


def _names(module: Any) -> dict[str, Any]:
    tensors = {name: tensor_of(module, value, seed) for seed, (name, value) in enumerate(OPERANDS.items())}
    return {"m": module, "F": module.nn.functional, **tensors}


def repeated(code: str, names: dict[str, Any], loop: str) -> Program:
    """The program that runs ``code`` in a loop; its last statement is an expression, whose last value is the result.

    The loop belongs to the program, so that no call of a function and no ``no_grad`` is counted with the operation.
    """
    *statements, result = code.split("; ")
    body = "\n".join([loop, *[f"    {line}" for line in (*statements, f"out = {result}")], "return out"])
    exec(f"def program():\n{indent(body, '    ')}", names)
    return names["program"]


def _forward(code: str) -> Case:
    """The operation under ``no_grad``."""

    def make(module: Any) -> Program:
        looped = repeated(code, _names(module), f"for _ in range({CALLS['forward']}):")

        def program() -> Any:
            with module.no_grad():
                return looped()

        return program

    return Case(code, make, CALLS["forward"])


def _backward(code: str, leaf: str) -> Case:
    """The operation and the gradient of a leaf, from gradients of all outputs that have one."""

    def make(module: Any) -> Program:
        names = _names(module)
        outputs = repeated(code, names, "if True:")()
        several = isinstance(outputs, tuple | list)
        wanted = [output for output in outputs if output.requires_grad] if several else [outputs]
        names["ones"] = [module.ones_like(output) for output in wanted]
        *statements, result = code.split("; ")
        given = f"({result})[:{len(wanted)}]" if several else result
        gradient = f"m.autograd.grad({given}, {leaf}, ones)[0]"
        return repeated("; ".join([*statements, gradient]), names, f"for _ in range({CALLS['backward']}):")

    return Case(code, make, CALLS["backward"])


def _tables(title: str, chosen: list[tuple[str, str | None]]) -> Iterator[Part]:
    forward = [_forward(code) for code, _ in chosen]
    backward = [_backward(code, leaf) for code, leaf in chosen if leaf is not None]
    yield Part(f"{title}, under no_grad", forward, 0.8, 1.5, threads=1, brief=True)
    yield Part(f"{title}, forward and backward", backward, 0.6, 1.5, threads=1, brief=True)


def _with_leaf(operations: dict[str | None, list[str]]) -> list[tuple[str, str | None]]:
    return [(code, leaf) for leaf, codes in operations.items() for code in codes]


def overhead(rows: int, columns: int) -> Iterator[Part]:
    """More than a hundred operations on 8 x 8 elements or fewer."""
    yield from _tables("One small operation, one thread", _with_leaf(LISTED))


def drawn(rows: int, columns: int, seed: int = 0) -> Iterator[Part]:
    """Twenty operations that are not in that list."""
    chosen = random.Random(seed).sample(_with_leaf(OTHERS), 20)
    yield from _tables(f"One of 20 small operations drawn with seed {seed}, one thread", chosen)
